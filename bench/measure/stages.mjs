import { rawSubject, withSubjects } from "./subjects.mjs";

/** Where a frame belongs, by the file it is in; the first that fits. What is left is node's own. */
const STAGES = [
  ["system calls and native code", ({ url, functionName }) => url === "" && functionName !== "(garbage collector)"],
  ["garbage collector", ({ functionName }) => functionName === "(garbage collector)"],
  ["node: HTTP messages", ({ url }) => /^node:(_http|http|internal\/http)/.test(url)],
  ["node: sockets, streams, events, turns", ({ url }) => url.startsWith("node:")],
  ["the exchange: guard, body, reply", ({ url }) => /dist\/(node|http)\/|server\/(http-front|http-server)/.test(url)],
  [
    "reading: JSON, envelope, headers",
    ({ url }) => /jsonrpc\/parse|modern\/(envelope|check-headers|session)/.test(url),
  ],
  ["writing: JSON, stamp", ({ url }) => /jsonrpc\/format|modern\/(encode|server-exchange)/.test(url)],
  [
    "the tool: arguments checked, handler",
    ({ url }) => /server\/tool|server\/content|dist\/schema|zod|workload|adapters/.test(url),
  ],
  ["dispatch: era, route, context", ({ url }) => url.includes("/dist/")],
];

/** Stages are told apart by files: as bundlers do, this takes the package's single files, not the bundled ones. */
const SINGLE_FILES = { NODE_OPTIONS: "--conditions=module" };

const load = { concurrency: 16, ms: 60_000 };
const WARM_UP = 20_000;
const CALLS = 40_000;

/** The time of one modern `tools/call` by stage, in microseconds of the server's own: `{ peer: { stage: us } }`. */
export async function measureStages(run) {
  const starts = ["bare", "bowline"].map((peer) => () => rawSubject(peer, "http modern", { env: SINGLE_FILES }));
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

function byStage({ nodes, samples, timeDeltas }, calls) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const totals = Object.fromEntries(STAGES.map(([stage]) => [stage, 0]));
  samples.forEach((id, index) => {
    const frame = frames.get(id);
    const stage = frame.functionName === "(idle)" ? undefined : STAGES.find(([, fits]) => fits(frame))?.[0];
    if (stage !== undefined) totals[stage] += timeDeltas[index];
  });
  return Object.fromEntries(Object.entries(totals).map(([stage, us]) => [stage, Math.round((us / calls) * 10) / 10]));
}
