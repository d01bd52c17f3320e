import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, it } from "node:test";
import { Recording } from "bowline/testing";
import { framesOf } from "#src/page/model/frames.js";
import { filtered, stateOf, waitsOf } from "#src/page/model/run.js";
import { labelOf } from "#src/page/model/text.js";
import { RECORDED_WIRES } from "../../support/recorded-wires.js";
import { named, record, runOf, useHarbour } from "./recorded.js";

for (const wire of RECORDED_WIRES)
  describe(`a run over ${wire.name}`, () => {
    it("has its calls, with what was said in each", async () => {
      const run = await record(wire, useHarbour);
      const calls = run.spans.filter(({ lane }) => lane === "calls");
      deepEqual(
        calls.map((span) => [labelOf(span), stateOf(span)]),
        [
          ["tools/list", "ok"],
          ["call moor", "ok"],
          ["call cast-off", "ok"],
          ["call run-aground", "error"],
          ["call sound-the-horn", "cancelled"],
        ],
      );
      deepEqual(
        framesOf(run, named(run, "moor")).map(({ d, text }) => `${d} ${text}`),
        [
          "> tools/call  moor",
          "< progress 1 of 3  line 1 of Maria",
          "< progress 2 of 3  line 2 of Maria",
          "< progress 3 of 3  line 3 of Maria",
          "< result: Maria is moored",
        ],
      );
      const kinds = framesOf(run, named(run, "cast-off")).map(({ kind }) => kind);
      const asked =
        wire.era === "modern" ? ["request", "asks", "request", "result"] : ["request", "asks", "answer", "result"];
      deepEqual(kinds, asked);
      equal(framesOf(run, named(run, "run-aground")).at(-1)?.text, "failed: the keel touches the ground");
      ok(framesOf(run, named(run, "sound-the-horn")).some(({ kind }) => kind === "cancel" || kind === "end"));
    });

    it("names the server and the version of the protocol", async () => {
      const [connection] = (await record(wire, useHarbour)).connections;
      deepEqual([connection?.server, connection?.serverVersion], ["harbour", "1.0.0"]);
      equal(connection?.version, wire.era === "modern" ? "2026-07-28" : "2025-11-25");
    });

    it("folds what repeats on each message", async () => {
      const run = await record(wire, useHarbour);
      const [request] = framesOf(run, named(run, "moor"));
      deepEqual(request?.body, { name: "moor", arguments: { ship: "Maria" } });
      const { id, _meta, method } = (request?.envelope ?? {}) as { id?: unknown; _meta?: unknown; method?: unknown };
      ok(id !== undefined && _meta !== undefined && method === "tools/call");
      equal(request?.http?.status, wire.isHttp ? 200 : undefined);
    });

    it("has a period in which the user is asked", async () => {
      const span = named(await record(wire, useHarbour), "cast-off");
      const [wait, ...more] = waitsOf(span);
      ok(wait !== undefined && wait.from > span.from && wait.to > wait.from && wait.to <= span.to);
      equal(more.length, 0);
    });
  });

describe("an open question", () => {
  const asked = (recording: Recording) => {
    const connection = recording.connection({ wire: "memory", role: "client" });
    connection.frame(">", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cast-off"}}');
    connection.frame("<", '{"jsonrpc":"2.0","id":9,"method":"elicitation/create","params":{"message":"Sure?"}}');
    recording.add({ k: "ask", c: 1, n: 1, method: "elicitation/create", params: { message: "Sure?" } });
    return connection;
  };

  it("belongs to its call, which waits for the user", () => {
    const recording = new Recording();
    asked(recording);
    const run = runOf(recording);
    const span = named(run, "cast-off");
    equal(stateOf(span), "asked");
    deepEqual(
      run.questionsIn(span).map(({ n, params }) => [n, params.message]),
      [[1, "Sure?"]],
    );
  });

  it("is closed by its answer, and by the end of the connection", () => {
    const answered = new Recording();
    asked(answered);
    answered.add({ k: "answer", c: 1, n: 1, result: { action: "accept" } });
    const closed = new Recording();
    asked(closed).close();
    for (const recording of [answered, closed])
      deepEqual(
        runOf(recording).questions.map(({ isOpen }) => isOpen),
        [false],
      );
  });
});

it("a filter chooses by words, states and lanes", async () => {
  const [wire] = RECORDED_WIRES;
  const run = await record(wire as (typeof RECORDED_WIRES)[number], useHarbour);
  const names = (filter: string) => filtered(run.spans, filter).map(labelOf);
  deepEqual(names("CALL off"), ["call cast-off"]);
  deepEqual(names("state:cancelled"), ["call sound-the-horn"]);
  deepEqual(names("lane:calls aground state:error"), ["call run-aground"]);
  equal(names(" ").length, run.spans.length);
  deepEqual(names("nothing"), []);
});
