import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { FakeClock } from "bowline/testing";
import { withEngine } from "../lib/engines.mjs";
import { answersTo, callModern } from "../lib/modern-calls.mjs";
import { Node, nodeClusters } from "../lib/nodes.mjs";
import { round } from "../lib/stats.mjs";

/** Number of idle sessions, and of seconds, over which the cost of doing nothing is measured. */
const idleSessions = 100;
const idleSeconds = 240;
const warmUpSeconds = 30;
const tasks = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/**
 * Counts the commands that nodes send to an engine: `{ engine: { operation: { before, all } } }`, until the response is
 * complete and in all. Time stands still meanwhile, so that commands that repeat in time are not counted. `idle` has
 * those, per second.
 */
export async function measureRoundTrips(run) {
  const result = {};
  for (const name of Object.keys(nodeClusters)) {
    const measured = await withEngine(run, name, async (url) => {
      run.progress.step(name);
      return { operations: await countOperations(name, url), idle: await idleTrips(name, url) };
    });
    if (measured !== undefined) result[name] = measured;
  }
  return result;
}

/** Counts the commands of each operation on one engine. */
export async function countOperations(name, url) {
  const plain = await inWorld(name, url, {}, sessionTrips);
  const modern = await inWorld(name, url, {}, modernTrips);
  const logged = await inWorld(name, url, { resumable: true }, loggedTrips);
  const tasks = await inWorld(name, url, { tasks: true }, taskTrips);
  return { ...plain, ...modern, ...logged, ...tasks };
}

/** Starts two nodes, and makes each serve a session, so that everything is loaded. */
async function inWorld(engine, url, { resumable = false, tasks = false }, use) {
  const clock = new FakeClock();
  const space = `bench_${randomUUID().slice(0, 8)}`;
  const nodes = [];
  try {
    for (let count = 0; count < 2; count++)
      nodes.push(await Node.start({ engine, url, space, clock, resumable, tasks }));
    for (const node of nodes) await (await node.open()).call(node, "echo");
    await settle(nodes);
    return await use(nodes, clock);
  } finally {
    for (const node of nodes) await node.close();
  }
}

const sentBy = (nodes) => nodes.reduce((sum, node) => sum + node.sent, 0);

/** Resolves when everything has a reply and nothing has been sent for a moment. */
async function settle(nodes, ms = 40) {
  for (let before = -1; before !== sentBy(nodes) || nodes.some(({ isWaiting }) => isWaiting); ) {
    before = sentBy(nodes);
    await sleep(ms);
  }
}

/** Counts the commands of some nodes until the work ends, and in all. */
async function countOf(nodes, work) {
  await settle(nodes);
  const start = sentBy(nodes);
  await work();
  const before = sentBy(nodes) - start;
  await settle(nodes);
  return { before, all: sentBy(nodes) - start };
}

async function sessionTrips(nodes) {
  const [a, b] = nodes;
  const count = (work) => countOf(nodes, work);
  let session;
  const trips = {};
  trips.handshake = await count(async () => {
    session = await a.open();
  });
  trips["call, warm"] = await count(() => session.call(a, "echo"));
  trips["call, first at another node"] = await count(() => session.call(b, "echo"));
  trips["call with a question, answered at the same node"] = await count(() => session.ask(a, a));
  trips["call with a question, answered at another node"] = await count(() => session.ask(a, b));
  trips["subscription to a resource"] = await count(() => session.request(a, "resources/subscribe", { uri: "r://1" }));
  trips["change of a resource"] = await count(() => a.server.changes.resourceUpdated("r://1"));
  trips["change of a list"] = await count(() => a.server.tool("new", {}, () => "new"));
  trips["stream for messages outside calls"] = await count(() => session.listen(a));
  trips["the same, taken over by another node"] = await count(() => session.listen(b));
  const held = await session.hold(a);
  trips["cancellation at another node"] = await count(async () => {
    await session.cancel(b, held.id);
    await held.rest();
  });
  trips["end of a session (DELETE)"] = await count(() => session.end(b));
  return trips;
}

async function modernTrips(nodes) {
  const [a, b] = nodes;
  const count = (work) => countOf(nodes, work);
  // The first round of a node acquires a lease.
  for (const node of nodes) await callModern(node, "ask", answersTo(await callModern(node, "ask")));
  let answers;
  const trips = {};
  trips["2026-07-28: call"] = await count(() => callModern(a, "echo"));
  trips["2026-07-28: call that returns a question"] = await count(async () => {
    answers = answersTo(await callModern(a, "ask"));
  });
  trips["2026-07-28: request with the answer and its state"] = await count(() => callModern(b, "ask", answers));
  trips["2026-07-28: the same request again, at another node"] = await count(() => callModern(a, "ask", answers));
  return trips;
}

async function loggedTrips(nodes) {
  const [a, b] = nodes;
  const count = (work) => countOf(nodes, work);
  let session;
  const trips = {};
  trips["resumable: handshake"] = await count(async () => {
    session = await a.open();
  });
  trips["resumable: call, warm"] = await count(() => session.call(a, "echo"));
  trips["resumable: call with a message of progress"] = await count(() => session.call(a, "report"));
  await session.call(b, "echo");
  const held = await session.hold(a);
  const { id } = await held.next();
  held.cut();
  trips["resumable: resumed at another node"] = await countOf([b], async () => {
    const resumed = await session.resume(b, id);
    await resumed.next();
    a.release();
    await resumed.rest();
  });
  trips["resumable: stream for messages outside calls"] = await count(() => session.listen(a));
  trips["resumable: the same, taken over by another node"] = await count(() => session.listen(b));
  trips["resumable: end of a session (DELETE)"] = await count(() => session.end(b));
  return trips;
}

/** Number of tasks over which the commands of one are counted, so that those that come now and then are in the mean. */
const someTasks = 100;
const tasksAtOnce = 20;

async function taskTrips(nodes) {
  const [a] = nodes;
  const trips = {};
  const mean = async (count, run) => {
    const { before, all } = await countOf(nodes, run);
    return { before: Math.round(before / count), all: Math.round(all / count) };
  };
  const inTurn = (name) => async () => {
    for (let count = 0; count < someTasks; count++) {
      await callModern(a, name, {}, tasks);
      await settle(nodes, 5);
    }
  };
  await inTurn("task")();
  trips["task, from its creation to its end"] = await mean(someTasks, inTurn("task"));
  trips["task with a step"] = await mean(someTasks, inTurn("step"));
  trips["task, one of 20 at once"] = await mean(tasksAtOnce, () =>
    Promise.all(Array.from({ length: tasksAtOnce }, () => callModern(a, "task", {}, tasks))),
  );
  return trips;
}

/** Counts commands per second: of a node without sessions, of an idle session, and of one whose client listens. */
async function idleTrips(engine, url) {
  const perSecond = (prepare) =>
    inWorld(engine, url, {}, async (nodes, clock) => {
      for (let count = 0; count < idleSessions; count++) await prepare(nodes[0]);
      await elapse(nodes, clock, warmUpSeconds);
      const start = sentBy(nodes);
      await elapse(nodes, clock, idleSeconds);
      return (sentBy(nodes) - start) / idleSeconds;
    });
  const none = await perSecond(() => {});
  const idle = await perSecond((node) => node.open());
  const listening = await perSecond(async (node) => (await node.open()).listen(node));
  const ofSession = (all) => round((all - none) / idleSessions);
  return { node: round(none / 2), idleSession: ofSession(idle), listeningSession: ofSession(listening) };
}

/** Lets seconds pass, and lets the nodes finish their work of each. */
async function elapse(nodes, clock, seconds) {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1000);
    await settle(nodes, 5);
  }
}
