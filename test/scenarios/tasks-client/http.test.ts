import { deepEqual, equal, rejects } from "node:assert/strict";
import { until } from "../../support/census.js";
import { answerAll, scripted } from "../../support/http-script.js";
import { asking, state, TaskBench } from "../../support/scripted-tasks.js";
import { proves } from "../../support/verifies.js";

proves("tasks-ext:http:mcp-name-client", { wire: "modern-http" }, "names the task in each request", async (t) => {
  const encoded = (text: string) => `=?base64?${Buffer.from(text).toString("base64")}?=`;
  for (const [id, name] of [
    ["task-1", "task-1"],
    ["Aufgabe-ä-1", encoded("Aufgabe-ä-1")],
  ] as const) {
    const bench = new TaskBench();
    const { script, connectTo } = await scripted(
      t,
      answerAll((received) => {
        const task = received.rpcMethod === "tools/call" ? { ...state(id, "working"), resultType: "task" } : {};
        const polled = received.rpcMethod === "tasks/get" ? asking(id, "name") : {};
        received.result({ resultType: "complete", ...polled, ...task });
      }),
    );
    const client = await connectTo({ era: "modern", ...bench.options(), onElicit: () => ({ action: "decline" }) });
    const end = new AbortController();
    const called = client.callTool("work", {}, { signal: end.signal });
    await bench.pass(1111);
    await until("the answer is sent", () => script.all("tasks/update").length === 1);
    end.abort(new Error("stop"));
    await rejects(called, /stop/);
    await until("the task is cancelled", () => script.all("tasks/cancel").length === 1);
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const [request] = script.all(method);
      deepEqual([request?.headers["mcp-method"], request?.headers["mcp-name"]], [method, name]);
      equal(request?.message.params.taskId, id);
    }
  }
});
