import { execFile, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { floor, on, peers, programOf } from "../adapters/peers.mjs";
import { keepTrack } from "../lib/child.mjs";
import { cpuMsOf } from "../lib/cpu.mjs";
import { quiet } from "../lib/noise.mjs";
import { ratio, spread } from "../lib/stats.mjs";
import { bodyOf, calls, initialize, initialized } from "../workload/requests.mjs";
import { wires } from "../workload/wires.mjs";

const folder = fileURLToPath(new URL("..", import.meta.url));

/** Programs with a zod schema, which include the start of zod, and programs with a schema as plain JSON. */
const programs = { stdio: "", "stdio-json-schema": ", JSON Schema" };

/**
 * Measures the cold start (from the start of a process to the response of its first call) and the import alone, in
 * milliseconds, elapsed and of CPU time: `{ cold: { wire: { peer } }, import: { server, client } }`. `of` and `cpuOf`
 * compare Bowline with each of the others. `cpuBeyond` compares what both need beyond the floor, which for a program with zod is
 * Node and zod.
 */
export async function measureStart(run) {
  const result = { cold: {}, import: {} };
  for (const wire of ["stdio legacy", "stdio modern"]) {
    for (const [kind, remark] of Object.entries(programs)) {
      const able = on(wire).filter((peer) => isChosen(run, peer) && programOf(peer, kind) !== undefined);
      const once = (peer) => coldStart(programOf(peer, kind), wires[wire]);
      result.cold[`${wire}${remark}`] = await inRounds(run, able, once);
    }
  }
  for (const side of ["server", "client"]) {
    const able = Object.keys(peers).filter((peer) => isChosen(run, peer) && peers[peer].imports?.[side] !== undefined);
    result.import[side] = await inRounds(run, able, (peer) => importTime(peers[peer].imports[side]));
  }
  return result;
}

const isChosen = (run, peer) => !run.narrow || ["bare", "bowline", "official-v2"].includes(peer);

/** Runs peers in turns. The first round warms the file system's cache and does not count. */
async function inRounds(run, chosen, once) {
  const series = Object.fromEntries(chosen.map((peer) => [peer, []]));
  const rounds = run.narrow ? run.rounds : run.rounds * 2;
  for (let round = -1; round < rounds; round++) {
    for (const peer of chosen) {
      run.progress.step(`${peer}, round ${Math.max(0, round) + 1} of ${rounds}`);
      await quiet(run.patience);
      const sample = await once(peer);
      if (round >= 0) series[peer].push(sample);
    }
  }
  const of = (key) => (peer) => series[peer].map((sample) => sample[key]);
  const result = {};
  for (const peer of chosen) result[peer] = { ms: spread(of("ms")(peer)), cpuMs: spread(of("cpuMs")(peer)) };
  const others = chosen.filter((name) => name !== "bowline" && name !== floor);
  const compared = (values) => Object.fromEntries(others.map((peer) => [peer, ratio(values("bowline"), values(peer))]));
  Object.assign(result.bowline, { of: compared(of("ms")), cpuOf: compared(of("cpuMs")) });
  if (chosen.includes(floor)) {
    const beyond = (peer) => series[peer].map(({ cpuMs }, round) => cpuMs - series[floor][round].cpuMs);
    result.bowline.cpuBeyond = compared(beyond);
  }
  return result;
}

function coldStart(program, wire) {
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const child = keepTrack(spawn(process.execPath, [program], { cwd: folder, stdio: ["pipe", "pipe", "ignore"] }));
    const write = (text) => child.stdin.write(`${text}\n`);
    const end = (settle, value) => {
      clearTimeout(guard);
      child.once("exit", () => settle(value));
      child.kill("SIGKILL");
    };
    const guard = setTimeout(() => end(reject, new Error(`${program} gave no answer in 15 seconds`)), 15_000);
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (chunk) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop();
      for (const { id, result } of lines.map((line) => JSON.parse(line))) {
        if (id === 2 && result?.content)
          return end(resolve, { ms: performance.now() - begun, cpuMs: cpuMsOf(child.pid) });
        if (id === 2) return end(reject, new Error(`${program} gave a wrong answer`));
        if (id === 1) write(`${initialized}\n${bodyOf(wire, calls.echo, 2)}`);
      }
    });
    write(wire.modern ? bodyOf(wire, calls.echo, 2) : bodyOf(wire, initialize(), 1));
  });
}

const execute = promisify(execFile);

async function importTime(modules) {
  const imports = modules.map((name) => `await import(${JSON.stringify(name)});`).join("");
  const code = `const t = performance.now(); const c = process.cpuUsage(); ${imports}
    const { user, system } = process.cpuUsage(c);
    console.log(JSON.stringify({ ms: performance.now() - t, cpuMs: (user + system) / 1000 })); process.exit(0)`;
  const { stdout } = await execute(process.execPath, ["--input-type=module", "-e", code], { cwd: folder });
  return JSON.parse(stdout);
}
