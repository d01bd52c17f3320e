import { deepEqual, match } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

type Stages = Readonly<Record<string, number>>;

const { byStage } = await loadScript<{ byStage(profile: object, calls: number): Stages }>("bench/measure/stages.mjs");
const { toMarkdown } = await loadScript<{ toMarkdown(document: object): string }>("bench/report/markdown.mjs");

/** Returns the stages in which a frame is counted. */
function stageOf(url: string, functionName = "run"): readonly string[] {
  const frame = { url, functionName, lineNumber: 0, columnNumber: 0 };
  const profile = { nodes: [{ id: 1, callFrame: frame }], samples: [1, 1], timeDeltas: [60, 40] };
  return Object.entries(byStage(profile, 10)).flatMap(([stage, us]) => (us === 10 ? [stage] : []));
}

const source = (path: string) => stageOf(`file:///project/src/${path}.ts`);

test("the time of a legacy call is told by the same stages as that of a modern one", () => {
  const reading = ["reading: JSON, envelope, headers"];
  deepEqual(source("era/modern/server/headers"), reading);
  deepEqual(source("protocol/jsonrpc/parse"), reading);
  const writing = ["writing: JSON, stamp"];
  deepEqual(source("era/modern/server/reply"), writing);
  deepEqual(source("era/legacy/server/reply"), writing);
  const sessions = ["sessions: table, expiry, streams"];
  for (const name of ["session-table", "http-session", "session", "stream", "streams", "sse"]) {
    deepEqual(source(`era/legacy/server/${name}`), sessions, name);
  }
  deepEqual(source("era/legacy/server/calls"), ["dispatch: era, route, context"]);
});

test("the time in which a server is idle, or its profiler starts, is in no stage", () => {
  deepEqual(stageOf("", "(idle)"), []);
  deepEqual(stageOf("", "dispatch"), []);
  deepEqual(stageOf("", "writev"), ["system calls and native code"]);
});

test("the report has a table of the stages of each wire that was profiled", () => {
  const run = { versions: {}, windows: { all: 0, noisy: 0, again: 0 } };
  const stages = {
    "http modern": { bare: { reading: 1.5, writing: 2 }, bowline: { reading: 3, writing: 4 } },
    "http legacy json": { bare: { reading: 5, writing: 6 }, bowline: { reading: 7, writing: 8.5 } },
  };
  const text = toMarkdown({ run, targets: [], stages });
  match(text, /\| http modern, echo at 16, µs \| bare \| bowline \|\n.*\n\| reading \| 1\.5 \| 3 \|/);
  match(text, /\| http legacy json, echo at 16, µs \| bare \| bowline \|\n.*\n\| reading \| 5 \| 7 \|/);
  match(text, /\| all \| 11 \| 15\.5 \|/);
});
