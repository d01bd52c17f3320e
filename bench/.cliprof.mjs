import { Session } from "node:inspector/promises";
import { connect } from "bowline/client";
import { endChildren } from "./lib/child.mjs";
import { rawSubject } from "./measure/subjects.mjs";

process.on("exit", endChildren);
const wire = process.argv[2] ?? "http modern";
const s = await rawSubject("bowline", wire);
const c = await connect(
  `http://127.0.0.1:${s.port}/mcp`,
  wire === "http modern" ? { version: "2026-07-28" } : { era: "legacy" },
);
const N = 16000;
const run = async () => {
  for (let i = 0; i < N / 16; i++)
    await Promise.all(Array.from({ length: 16 }, () => c.callTool("echo", { text: "hello" })));
};
await run();
const p = new Session();
p.connect();
await p.post("Profiler.enable");
await p.post("Profiler.setSamplingInterval", { interval: 100 });
await p.post("Profiler.start");
const t = process.cpuUsage();
await run();
await run();
const x = process.cpuUsage(t);
const { profile } = await p.post("Profiler.stop");
const self = new Map();
const byId = new Map(profile.nodes.map((n) => [n.id, n]));
let total = 0;
profile.samples.forEach((id, i) => {
  const n = byId.get(id);
  const f = n.callFrame;
  const k = `${f.functionName || "(anon)"} ${f.url.replace(/.*\//, "")}:${f.lineNumber}`;
  const d = profile.timeDeltas[i];
  self.set(k, (self.get(k) ?? 0) + d);
  if (f.functionName !== "(idle)") total += d;
});
console.log(wire, "cpu/call", ((x.user + x.system) / 2 / N).toFixed(1));
for (const [k, v] of [...self].sort((a, b) => b[1] - a[1]).slice(0, +(process.argv[3] ?? 40)))
  console.log((v / 2 / N).toFixed(2), k);
process.exit(0);
