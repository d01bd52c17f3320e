import { deepEqual, equal } from "node:assert/strict";
import { describe, it } from "node:test";
import { Recording } from "bowline/testing";
import { compareFrames, compareRuns, counterpartOf, hasSameResult } from "#src/page/model/compare.js";
import type { Run } from "#src/page/model/run.js";
import { RECORDED_WIRES } from "../../support/recorded-wires.js";
import { named, record, runOf, useHarbour } from "./recorded.js";

const recorded = (name: string): Promise<Run> =>
  record(RECORDED_WIRES.find((wire) => wire.name === name) as (typeof RECORDED_WIRES)[number], useHarbour);

describe("a comparison of calls", () => {
  it("aligns both ways of asking by what they mean", async () => {
    const [a, b] = await Promise.all([recorded("modern-http"), recorded("legacy-http")]);
    const [left, right] = [a, b].map((run) => ({ run, span: named(run, "cast-off") }));
    if (left === undefined || right === undefined) throw new Error("no call");
    const rows = compareFrames(left, right);
    deepEqual(
      rows.map(({ a: one, b: other, isSame }) => [one?.kind, other?.kind, isSame]),
      [
        ["request", "request", true],
        ["asks", "asks", true],
        ["request", "answer", true],
        ["result", "result", true],
      ],
    );
    equal(hasSameResult(left, right), true);
  });

  it("shows what only one side has", () => {
    const of = (...texts: readonly string[]) => {
      const recording = new Recording();
      const connection = recording.connection({ wire: "memory", role: "client" });
      connection.frame(
        ">",
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"moor","_meta":{"progressToken":1}}}',
      );
      for (const text of texts)
        connection.frame(
          "<",
          JSON.stringify({
            jsonrpc: "2.0",
            method: "notifications/progress",
            params: { progressToken: 1, progress: 1, message: text },
          }),
        );
      connection.frame("<", '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}');
      const run = runOf(recording);
      return { run, span: named(run, "moor") };
    };
    const rows = compareFrames(of("one"), of("one", "two"));
    deepEqual(
      rows.map(({ a, b, isSame }) => [a?.kind, b?.kind, isSame]),
      [
        ["request", "request", true],
        ["progress", "progress", true],
        [undefined, "progress", undefined],
        ["result", "result", true],
      ],
    );
  });
});

describe("a comparison of runs", () => {
  it("finds equal calls in both eras and on all wires", async () => {
    const [first, ...others] = await Promise.all(RECORDED_WIRES.map(({ name }) => recorded(name)));
    for (const other of others)
      deepEqual(
        compareRuns(first as Run, other).map(({ label, difference }) => [label, difference]),
        ["tools/list", "call moor", "call cast-off", "call run-aground", "call sound-the-horn"].map((label) => [
          label,
          "same",
        ]),
      );
  });

  it("tells which calls differ, and how", () => {
    const of = (...calls: readonly (readonly [string, object])[]) => {
      const recording = new Recording();
      const connection = recording.connection({ wire: "memory", role: "client" });
      for (const [id, [name, result]] of calls.entries()) {
        connection.frame(">", JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name } }));
        connection.frame("<", JSON.stringify({ jsonrpc: "2.0", id, result }));
      }
      return runOf(recording);
    };
    const text = (own: string, isError = false) => ({ content: [{ type: "text", text: own }], isError });
    const rows = compareRuns(
      of(["a", text("1")], ["b", text("1")], ["c", text("1")], ["d", text("1")]),
      of(["a", text("1")], ["b", text("2")], ["c", text("1", true)], ["e", text("1")]),
    );
    deepEqual(
      rows.map(({ label, difference }) => [label, difference]),
      [
        ["call a", "same"],
        ["call b", "result differs"],
        ["call c", "state differs"],
        ["call d", "only here"],
        ["call e", "only there"],
      ],
    );
  });

  it("finds the same call of the other connection, with the same arguments if there is one", () => {
    const recording = new Recording();
    const connections = [1, 2].map(() => recording.connection({ wire: "memory", role: "client" }));
    for (const [id, ship] of ["Maria", "Anna"].entries())
      for (const connection of connections)
        connection.frame(
          ">",
          JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "moor", arguments: { ship } } }),
        );
    const run = runOf(recording);
    const [first, , second] = run.spans;
    if (first === undefined || second === undefined) throw new Error("no calls");
    for (const span of [first, second]) {
      const found = counterpartOf(run, span, run);
      deepEqual([found?.c, (found?.lines[0] ?? 0) - (span.lines[0] ?? 0)], [2, 1]);
    }
    equal(counterpartOf(run, { ...first, name: "none" }, run), undefined);
  });
});
