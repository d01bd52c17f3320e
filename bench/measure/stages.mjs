import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { fileURLToPath } from "node:url";
import { rawSubject, withSubjects } from "./subjects.mjs";

/** Stage of a frame, by its source file. The first match counts. All other files are Node's own. */
const STAGES = [
  ["system calls and native code", ({ url, functionName }) => url === "" && functionName !== "(garbage collector)"],
  ["garbage collector", ({ functionName }) => functionName === "(garbage collector)"],
  ["node: HTTP messages", ({ url }) => /^node:(_http|http|internal\/http)/.test(url)],
  ["node: sockets, streams, events, turns", ({ url }) => url.startsWith("node:")],
  ["the exchange: guard, body, reply", ({ url }) => /src\/(node|http)\/|server\/(server|transports\/http)\./.test(url)],
  [
    "reading: JSON, envelope, headers",
    ({ url }) => /jsonrpc\/parse|protocol\/shapes|modern\/(envelope|server\/(headers|decode|session))/.test(url),
  ],
  ["writing: JSON, stamp", ({ url }) => /jsonrpc\/format|(modern|legacy)\/server\/(encode|reply)/.test(url)],
  [
    "sessions: table, expiry, streams",
    ({ url }) => /legacy\/server\/(session|http-session|stream|sse|event-id)/.test(url),
  ],
  [
    "the tool: arguments checked, handler",
    ({ url }) => /server\/definitions\/|src\/schema|zod|workload|adapters/.test(url),
  ],
  ["dispatch: era, route, context", ({ url }) => url.includes("/src/")],
];

const load = { concurrency: 16, ms: 60_000 };
const WARM_UP = 20_000;
const CALLS = 40_000;

/** Returns the server's time of one `tools/call` on a wire by stage, in microseconds: `{ peer: { stage: us } }`. */
export async function measureStages(run, wire) {
  const starts = ["bare", "bowline"].map((peer) => () => rawSubject(peer, wire));
  return withSubjects(starts, async (subjects) => {
    const result = {};
    for (const subject of subjects) {
      run.progress.step(`${subject.name}: profile`);
      await subject.run("echo", { ...load, most: WARM_UP });
      await subject.child.ask("startProfile");
      const { calls } = await subject.run("echo", { ...load, most: CALLS });
      result[subject.name] = byStage(await subject.child.ask("stopProfile"), calls);
    }
    return result;
  });
}

/** Returns the microseconds of a call in each stage, from a profile of the inspector. */
export function byStage({ nodes, samples, timeDeltas }, calls) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, inSource(callFrame)]));
  const totals = Object.fromEntries(STAGES.map(([stage]) => [stage, 0]));
  samples.forEach((id, index) => {
    const frame = frames.get(id);
    const stage = isOutside(frame) ? undefined : STAGES.find(([, fits]) => fits(frame))?.[0];
    if (stage !== undefined) totals[stage] += timeDeltas[index];
  });
  return Object.fromEntries(Object.entries(totals).map(([stage, us]) => [stage, Math.round((us / calls) * 10) / 10]));
}

/** True for a server that waits, and for the native call by which the profiler starts. That takes a tenth of a second. */
const isOutside = ({ url, functionName }) => url === "" && ["(idle)", "dispatch"].includes(functionName);

const maps = new Map();

/** Returns the frame with the address of its source file, if the file that ran has a source map. */
function inSource(frame) {
  const { url, lineNumber, columnNumber } = frame;
  if (!maps.has(url)) maps.set(url, readMap(url));
  const { originalSource } = maps.get(url)?.findEntry(lineNumber, columnNumber) ?? {};
  return originalSource === undefined ? frame : { ...frame, url: new URL(originalSource, url).href };
}

function readMap(url) {
  const path = url.startsWith("file:") ? `${fileURLToPath(url)}.map` : "";
  return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, "utf8"))) : undefined;
}
