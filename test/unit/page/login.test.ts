import { deepEqual, equal } from "node:assert/strict";
import { describe, it } from "node:test";
import { Recording } from "bowline/testing";
import { loginOf } from "#src/page/model/login.js";
import { tasksOf } from "#src/page/model/tasks.js";
import { runOf } from "./recorded.js";

describe("the way of a login", () => {
  it("has each address in its order, with its place in time", () => {
    const recording = new Recording();
    for (const [step, status, us] of [
      ["challenge", 401, 10],
      ["server metadata", 404, 20],
      ["server metadata", 200, 30],
      ["token", 400, 40],
    ] as const)
      recording.add({ k: "auth", step, url: "https://login.example.com/x", status, us });
    recording.add({ k: "auth", step: "browser", url: "https://login.example.com/y", error: "closed" });
    const steps = loginOf(runOf(recording).events);
    deepEqual(
      steps.map(({ state, told }) => [state, told]),
      [
        ["ok", "401"],
        ["next", "404"],
        ["ok", "200"],
        ["failed", "400"],
        ["failed", "closed"],
      ],
    );
    for (const { left, width } of steps) equal(left >= 0 && width >= 0 && left + width <= 1.000001, true);
    deepEqual(loginOf(runOf(new Recording()).events), []);
  });
});

describe("tasks", () => {
  it("have the status of their last message, and the tool that began them", () => {
    const recording = new Recording();
    const connection = recording.connection({ wire: "memory", role: "client" });
    const say = (d: ">" | "<", message: object) => connection.frame(d, JSON.stringify({ jsonrpc: "2.0", ...message }));
    say(">", { id: 1, method: "tools/call", params: { name: "survey" } });
    say("<", { id: 1, result: { resultType: "task", taskId: "7f3a", status: "working" } });
    say(">", { id: 2, method: "tasks/get", params: { taskId: "7f3a" } });
    say("<", { id: 2, result: { taskId: "7f3a", status: "working", statusMessage: "half" } });
    say("<", { method: "notifications/tasks", params: { taskId: "7f3a", status: "completed" } });
    say("<", { id: 9, result: { task: { taskId: "old", status: "input_required" } } });
    deepEqual(
      tasksOf(runOf(recording)).map(({ id, status, tool, message, isEnded }) => [id, status, tool, message, isEnded]),
      [
        ["7f3a", "completed", "survey", "half", true],
        ["old", "input_required", undefined, undefined, false],
      ],
    );
  });
});
