import { floor, on, peers, sessionless, sessionlessOn } from "../adapters/peers.mjs";
import { wires } from "../workload/wires.mjs";
import { measure } from "./rounds.mjs";
import { clientSubject, rawSubject, withSubjects } from "./subjects.mjs";

/** Calls, their concurrency, and the length of a window as a share of the run's. */
const whole = [
  ["echo", 1, 1],
  ["echo", 16, 1],
  ["echo", 128, 1],
  ["list", 1, 0.5],
  ["list", 16, 0.5],
  ["read1k", 1, 0.5],
  ["read1m", 1, 0.5],
  ["progress", 1, 0.5],
  ["progress", 16, 0.5],
];
const targeted = [
  ["echo", 16, 1],
  ["echo", 128, 1],
  ["list", 16, 1],
  ["progress", 16, 1],
];

function planOf(run, keep = () => true) {
  return (run.narrow ? targeted : whole)
    .filter(([call, concurrency]) => keep(call, concurrency))
    .map(([call, concurrency, share]) => ({ call, concurrency, ms: run.windowMs * share }));
}

/** Peers of the targets. With `--short` and `--targets`, the other peers are measured with `echo` only. */
const inTargets = ["bare", "bowline", "official-v2"];

function limited(run, subject) {
  return run.narrow && !inTargets.includes(subject.name) ? { ...subject, can: ["echo"] } : subject;
}

/** Measures every server of a wire under generated load; in one process, every SDK's own client with its server. */
export async function measureCalls(run, wire) {
  const subject = wires[wire].transport === "memory" ? clientSubject : rawSubject;
  const starts = [
    ...on(wire).map((peer) => () => subject(peer, wire)),
    ...sessionlessOn(wire).map((peer) => () => subject(peer, wire, { name: sessionless(peer), sessions: false })),
  ];
  const keep = (call) => call !== "progress" || !wires[wire].json; // a JSON body carries no progress
  return withSubjects(starts, (subjects) => {
    const all = subjects.map((one) => limited(run, one));
    return measure(run, all, planOf(run, keep), floor);
  });
}

/**
 * Measures every SDK's own client with its own server and, over HTTP, with plain Node's server. With the latter, only
 * the client differs. The CPU time is the client's.
 */
export async function measureClients(run, wire) {
  const http = wires[wire].transport === "http";
  const starts = [];
  for (const peer of on(wire).filter((name) => peers[name].client)) {
    starts.push(() => withServer(peer, wire, peer, http));
    if (http && !run.narrow) starts.push(() => withServer(peer, wire, floor, http));
  }
  if (http) starts.unshift(() => withServer(floor, wire, floor, http));
  const keep = (call, concurrency) =>
    call === "echo"
      ? concurrency < 128 || !run.narrow
      : concurrency === 1 && !(call === "progress" && wires[wire].json);
  return withSubjects(starts, (subjects) => measure(run, subjects, planOf(run, keep), http ? floor : undefined));
}

async function withServer(peer, wire, serverPeer, http) {
  const server = http ? await rawSubject(serverPeer, wire) : undefined;
  try {
    return await clientSubject(peer, wire, { name: peer === serverPeer ? peer : `${peer} -> ${serverPeer}`, server });
  } catch (error) {
    await server?.stop();
    throw error;
  }
}
