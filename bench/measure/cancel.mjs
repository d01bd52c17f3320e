import { on, peers } from "../adapters/peers.mjs";
import { quantile, round } from "../lib/stats.mjs";
import { HttpConnection } from "../load/http-connection.mjs";
import { clock } from "../workload/app.mjs";
import { bodies, cancellation, headersOf, slowCall } from "../workload/requests.mjs";
import { wires } from "../workload/wires.mjs";
import { clientSubject, rawSubject, withSubjects } from "./subjects.mjs";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const megabyte = 1_048_576;

/** How many calls are cancelled before what is left is counted: by then everything is compiled and every table has grown. */
const warmUp = (count) => Math.min(count, 2000);

/**
 * Time from a cancellation to the handler's signal, in milliseconds, and what cancelled calls leave behind:
 * `{ raw: { wire: { peer } }, clients: { wire: { peer } } }`. `raw` cancels by hand, which is the server's side alone;
 * `clients` by the abort of the SDK's own client, which is both.
 */
export async function measureCancel(run) {
  const samples = run.short ? 30 : 150;
  const count = run.short ? 1000 : 10_000;
  const chosen = (wire) => (run.short ? on(wire).filter((peer) => peer === "bowline") : on(wire));
  const result = { raw: {}, clients: {} };
  for (const wire of run.short ? ["http modern", "http legacy sse", "in-process modern"] : Object.keys(wires)) {
    for (const peer of chosen(wire).filter((name) => !run.short && peers[name].cancels[wire] !== undefined)) {
      run.progress.step(`${peer}, ${wire}, by hand`);
      result.raw[wire] ??= {};
      result.raw[wire][peer] = await byHand(peer, wire, samples, count);
    }
    for (const peer of chosen(wire).filter((name) => peers[name].client)) {
      run.progress.step(`${peer}, ${wire}, by its own client`);
      result.clients[wire] ??= {};
      result.clients[wire][peer] = await byClient(peer, wire, samples, count);
    }
  }
  return { ...result, worst: worstOf(result) };
}

/** The worst that any wire and side of a peer shows: `{ peer: { heapMb, handles, files, untold } }`. */
function worstOf(trees) {
  const worst = {};
  for (const [peer, { left, handlers, signals }] of Object.values(trees)
    .flatMap(Object.values)
    .flatMap(Object.entries)) {
    worst[peer] ??= { heapMb: 0, handles: 0, files: 0, untold: 0 };
    const own = worst[peer];
    for (const side of Object.values(left)) {
      for (const key of ["heapMb", "handles", "files"]) own[key] = Math.max(own[key], side[key] ?? 0);
    }
    if (signals !== undefined) own.untold = Math.max(own.untold, handlers - signals);
  }
  return worst;
}

function byHand(peer, wire, samples, count) {
  return withSubjects([() => rawSubject(peer, wire)], async ([subject]) => {
    const { first, cancel } = await cancelling(subject, peer, wire);
    const sent = {};
    for (let index = 0; index < samples + 20; index++) {
      sent[`tag${index}`] = await cancel(`tag${index}`, first, 5);
      await sleep(wires[wire].transport === "stdio" ? 2 : 5);
    }
    await sleep(50);
    const latency = latencyOf(sent, await subject.child.ask("cancelTimes"), 20);
    const many = (calls) => atOnce(40, calls, () => cancel("", undefined, wires[wire].transport === "stdio" ? 3 : 25));
    await many(warmUp(count));
    return { ...latency, ...(await leftBy(count, () => many(count), { server: subject.child })) };
  });
}

/** `cancel(tag, line, settleMs)`: begins a slow call, lets it settle, cancels it and gives when. */
async function cancelling(subject, peer, wireName) {
  const wire = wires[wireName];
  if (wire.transport === "stdio") {
    const cancel = async (tag, _, settleMs) => {
      const { id, text } = bodies(wire, slowCall(tag))();
      subject.load.write(text);
      await sleep(settleMs);
      const at = clock();
      subject.load.write(cancellation(id));
      return at;
    };
    return { cancel };
  }
  const first = await subject.load.first();
  const facts = { ...peers[peer].facts, session: first.session };
  const notify = { method: "notifications/cancelled" };
  const cancel = async (tag, line, settleMs) => {
    const call = slowCall(tag);
    const { id, text } = bodies(wire, call)();
    const own = await new HttpConnection(subject.port).open();
    own.request("POST", headersOf(wire, call, facts), text).catch(() => undefined);
    await sleep(settleMs);
    const other = peers[peer].cancels[wireName] === "close" ? undefined : await lineFor(line, subject.port);
    const at = clock();
    if (other !== undefined) await other.request("POST", headersOf(wire, notify, facts), cancellation(id));
    own.close();
    if (other !== line?.connection) other?.close();
    return at;
  };
  return { first, cancel };
}

async function lineFor(line, port) {
  if (line === undefined) return new HttpConnection(port).open();
  if (line.connection.dead) await line.connection.open();
  return line.connection;
}

async function byClient(peer, wire, samples, most) {
  const { transport } = wires[wire];
  const server = transport === "http" ? await rawSubject(peer, wire) : undefined;
  return withSubjects([() => clientSubject(peer, wire, { server })], async ([{ child }]) => {
    // A pair that leaves a socket per cancelled call would run out of them.
    const count = transport === "http" && peer !== "bowline" ? Math.min(most, 2000) : most;
    const settleMs = transport === "http" ? 25 : 3;
    const cancel = (calls, concurrency, tagged) => child.ask("cancel", { count: calls, concurrency, settleMs, tagged });
    const sent = await cancel(samples + 20, 1, true);
    await sleep(50);
    // The server of a client on stdio is its own child, out of reach.
    const times = transport === "stdio" ? {} : await (server?.child ?? child).ask("cancelTimes");
    await cancel(warmUp(count), 40, false);
    const sides = server === undefined ? { client: child } : { client: child, server: server.child };
    const left = await leftBy(count, () => cancel(count, 40, false), sides);
    return {
      ...latencyOf(sent, times, 20),
      ...left,
      ...(transport === "stdio" && { handlers: undefined, signals: undefined }),
    };
  });
}

/** The first calls warm up. A call whose handler never learned of its end is missing from the samples. */
function latencyOf(sent, seen, skipped) {
  const tags = Object.keys(sent)
    .slice(skipped)
    .filter((tag) => seen[tag] !== undefined);
  const values = tags.map((tag) => seen[tag] - sent[tag]);
  if (values.length === 0) return {};
  return { samples: values.length, p50Ms: round(quantile(values, 0.5)), p99Ms: round(quantile(values, 0.99)) };
}

/** What is left of `count` cancelled calls on each side: heap, handles, and open files, sockets among them. */
async function leftBy(count, work, sides) {
  const before = await settledOf(sides);
  await work();
  const after = await settledOf(sides, before);
  const left = {};
  for (const side of Object.keys(sides)) {
    left[side] = {
      heapMb: round((after[side].heap - before[side].heap) / megabyte),
      handles: after[side].handles - before[side].handles,
      files: after[side].files - before[side].files,
    };
  }
  const host = sides.server === undefined ? "client" : "server";
  const since = (key) => after[host][key] - before[host][key];
  return { calls: count, handlers: since("started"), signals: since("cancelled"), left };
}

/** Idle sockets are closed after some seconds: what is left counts once they had the time. */
async function settledOf(sides, before) {
  let now;
  for (let tries = 0; tries < 6; tries++) {
    await sleep(before === undefined ? 300 : 1000);
    now = {};
    for (const side of Object.keys(sides)) now[side] = await sides[side].ask("settled");
    if (before === undefined) return now;
    if (Object.keys(sides).every((side) => isBack(now[side], before[side]))) return now;
  }
  return now;
}

const isBack = (now, before) => (now.files ?? 0) <= (before.files ?? 0) && now.handles <= before.handles;

async function atOnce(concurrency, count, once) {
  let begun = 0;
  const worker = async () => {
    while (begun++ < count) await once();
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}
