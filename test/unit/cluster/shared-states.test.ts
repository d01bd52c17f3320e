import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { type Cluster, ClusterError, type Records } from "bowline/cluster";
import type { SealKey } from "bowline/server";
import { createMemoryState, FakeClock } from "bowline/testing";
import { until } from "../../support/census.js";
import { gate } from "../../support/gate.js";
import { openShop, SharedShop } from "../../support/shared-shop.js";
import { proves } from "../../support/verifies.js";

const REFUSED = "Invalid params: /requestState is not valid";
const UNKNOWN = "The outcome of this request is unknown: the process that ran it is gone. It is not run again";
const AWAY = "A requestState cannot be accepted: the state of the cluster is not available (cluster)";

/** Time after which a waiting call reads the record again. */
const LOOK_MS = 5_000;

/** Lets work go on that waits for nothing outside of this process. */
const turns = async (count = 20) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
};

/** Resolves when calls have looked at the record of a running round so many times. */
const looks = (clock: FakeClock, count: number) =>
  until("a call waits", () => clock.delays.filter((ms) => ms === LOOK_MS).length >= count);

/** Lets time pass in steps. */
const pass = async (clock: FakeClock, seconds: number) => {
  for (let second = 0; second < seconds; second++) {
    clock.advance(1_000);
    await turns();
  }
};

/** Id of a state, which is in its sealed text. */
const idOf = ({ requestState }: Record<string, unknown>) => String(requestState).split(".")[1];

proves(
  "cluster:round:once",
  {},
  "a state that is presented to another node while its round runs waits for the outcome",
  async (t) => {
    const { clock, shop } = openShop(t);
    const again = await shop.begin();
    const one = shop.send(0, again);
    await shop.charged.opened;
    const others = [shop.send(1, again), shop.send(0, again)];
    await looks(clock, 2);
    shop.release.open();
    const texts = [];
    for (const exchange of [one, ...others]) texts.push(await shop.read(exchange));
    deepEqual(texts, Array(3).fill("bought in run 1"));
    deepEqual(shop.counts, { runs: 1, charges: 1 });
  },
);

proves("cluster:round:once", {}, "of many presentations to both nodes at once, one runs", async (t) => {
  const { shop } = openShop(t);
  shop.release.open();
  const again = await shop.begin();
  const all = Array.from({ length: 20 }, (_, at) => shop.send(at % 2, again));
  for (const exchange of all) equal(await shop.read(exchange), "bought in run 1");
  deepEqual(shop.counts, { runs: 1, charges: 1 });
});

proves(
  "cluster:round:once",
  {},
  "the outcome is kept for all nodes for a while, and the state is refused then",
  async (t) => {
    const { clock, shop } = openShop(t, { limits: { stateOutcomeMs: 5_000 } });
    shop.release.open();
    const again = await shop.begin();
    equal(await shop.read(shop.send(0, again)), "bought in run 1");
    clock.advance(4_999);
    equal(await shop.read(shop.send(1, again)), "bought in run 1");
    clock.advance(1);
    for (const node of [0, 1]) equal(await shop.read(shop.send(node, again)), REFUSED);
    deepEqual(shop.counts, { runs: 1, charges: 1 });
    deepEqual(shop.reported, ["state_used", "state_used"]);
  },
);

for (const limits of [{ stateOutcomeMs: 0 }, { maxOutcomeChars: 10 }])
  test(`an outcome that is not to be kept is not stored (${Object.keys(limits)})`, async (t) => {
    const { nodes, shop } = openShop(t, { limits });
    shop.release.open();
    const again = await shop.begin();
    equal(await shop.read(shop.send(0, again)), "bought in run 1");
    equal(await nodes[1].records.get(`outcome/${idOf(again)}`), undefined);
    equal(await shop.read(shop.send(1, again)), REFUSED);
    deepEqual(shop.counts, { runs: 1, charges: 1 });
  });

proves("cluster:round:steps", {}, "a round that failed runs again on another node, and its steps do not", async (t) => {
  const { shop } = openShop(t);
  shop.fails = true;
  const again = await shop.begin();
  equal(await shop.read(shop.send(0, again)), "out of stock");
  shop.fails = false;
  shop.release.open();
  equal(await shop.read(shop.send(1, again)), "bought in run 2");
  deepEqual(shop.counts, { runs: 2, charges: 1 });
});

test("a refused answer does not use the state up", async (t) => {
  const { shop } = openShop(t);
  shop.release.open();
  const again = await shop.begin();
  match(await shop.read(shop.send(0, { ...again, inputResponses: { "ask-1": { action: "perhaps" } } })), /must be/);
  equal(await shop.read(shop.send(1, again)), "bought in run 1");
});

proves(
  "cluster:round:steps",
  {},
  "a round whose client went away runs again on another node when its step has ended",
  async (t) => {
    const { clock, shop } = openShop(t);
    const paid = gate();
    shop.charge = () => paid.opened;
    const again = await shop.begin();
    const lost = shop.send(0, again);
    await shop.charging.opened;
    lost.disconnect();
    shop.release.open();
    const retried = shop.send(1, again);
    await looks(clock, 1);
    deepEqual([shop.counts, retried.status], [{ runs: 1, charges: 1 }, undefined], "the step is awaited");
    paid.open();
    equal(await shop.read(retried), "bought in run 2");
    deepEqual(shop.counts, { runs: 2, charges: 1 });
  },
);

test("a waiting call ends with its own cancellation, and leaves nothing behind", async (t) => {
  const { clock, shop } = openShop(t);
  const again = await shop.begin();
  const one = shop.send(0, again);
  await shop.charged.opened;
  const timers: number[] = [];
  for (const count of [1, 2]) {
    const waiting = shop.send(1, again);
    await looks(clock, count);
    equal(shop.servers[1]?.stats().running, 1);
    waiting.disconnect();
    await until("the call has ended", () => shop.servers[1]?.stats().running === 0);
    timers.push(clock.pending);
  }
  equal(timers[0], timers[1]);
  shop.release.open();
  equal(await shop.read(one), "bought in run 1");
});

test("after a gap, a waiting call reads the record again", async (t) => {
  const { clock, state, nodes, shop } = openShop(t);
  const again = await shop.begin();
  const one = shop.send(0, again);
  await shop.charged.opened;
  const waiting = shop.send(1, again);
  await looks(clock, 1);
  state.cut(nodes[1]);
  shop.release.open();
  equal(await shop.read(one), "bought in run 1");
  state.mend(nodes[1]);
  equal(await shop.read(waiting), "bought in run 1");
});

proves(
  "cluster:round:node-death",
  {},
  "when the node of a round is gone, the outcome is unknown and the round does not run again",
  async (t) => {
    const { clock, state, nodes, shop } = openShop(t);
    const again = await shop.begin();
    shop.send(0, again);
    await shop.charged.opened;
    const waiting = shop.send(1, again);
    await looks(clock, 1);
    state.cut(nodes[0]);
    await pass(clock, 15);
    equal(await shop.read(waiting), UNKNOWN);
    equal(JSON.parse(waiting.body()).error.code, -32603);
    const late = shop.send(1, again);
    equal(await shop.read(late), UNKNOWN);
    deepEqual([shop.counts, shop.reported], [{ runs: 1, charges: 1 }, ["outcome_unknown", "outcome_unknown"]]);
  },
);

test("a round that ends after its node was thought gone gives its outcome to the next retry", async (t) => {
  const { clock, state, nodes, shop } = openShop(t);
  const again = await shop.begin(1);
  const one = shop.send(0, again);
  await shop.charged.opened;
  state.cut(nodes[0]);
  clock.advance(15_000);
  await turns();
  equal(await shop.read(shop.send(1, again)), UNKNOWN);
  state.mend(nodes[0]);
  shop.release.open();
  equal(await shop.read(one), "bought in run 1");
  equal(await shop.read(shop.send(1, again)), "bought in run 1");
  deepEqual(shop.counts, { runs: 1, charges: 1 });
});

proves(
  "cluster:round:node-death",
  {},
  "a node takes its lease again after the engine was away, and no node counts as gone until then",
  async (t) => {
    const { clock, state, nodes, shop } = openShop(t);
    const again = await shop.begin();
    const one = shop.send(0, again);
    await shop.charged.opened;
    for (const node of nodes) state.cut(node);
    clock.advance(15_000);
    await turns();
    for (const node of nodes) state.mend(node);
    const waiting = shop.send(1, again);
    await looks(clock, 1);
    await pass(clock, 20);
    equal(waiting.status, undefined, "the round is running");
    shop.release.open();
    for (const exchange of [one, waiting]) equal(await shop.read(exchange), "bought in run 1");
  },
);

proves(
  "cluster:round:engine-away",
  {},
  "while the engine is away, a state is refused at once with 503, and nothing runs",
  async (t) => {
    const { state, nodes, shop } = openShop(t);
    shop.release.open();
    const again = await shop.begin();
    state.cut(nodes[0]);
    const refused = shop.send(0, again);
    equal(await shop.read(refused), AWAY);
    deepEqual([refused.status, refused.headers["retry-after"]], [503, "1"]);
    deepEqual([shop.counts.runs, shop.reported], [0, ["cluster_unavailable"]]);
    state.mend(nodes[0]);
    equal(await shop.read(shop.send(0, again)), "bought in run 1");
  },
);

test("a call without a state needs no engine", async (t) => {
  const { state, nodes, shop } = openShop(t);
  state.cut(nodes[0]);
  equal(typeof (await shop.begin()).requestState, "string");
});

proves(
  "cluster:round:engine-away",
  {},
  "a round that ends while the engine is away answers its client, and stores the outcome later",
  async (t) => {
    const { clock, state, nodes, shop } = openShop(t);
    const again = await shop.begin();
    const one = shop.send(0, again);
    await shop.charged.opened;
    state.cut(nodes[0]);
    shop.release.open();
    equal(await shop.read(one), "bought in run 1");
    deepEqual(shop.reported, ["cluster_unavailable"]);
    const waiting = shop.send(1, again);
    await looks(clock, 1);
    state.mend(nodes[0]);
    clock.advance(100);
    equal(await shop.read(waiting), "bought in run 1");
    deepEqual(shop.counts, { runs: 1, charges: 1 });
  },
);

type Put = Cluster["records"]["put"];

/** A node whose first `put` is replaced. */
function withFirstPut(node: Cluster, first: Put): Cluster {
  let puts = 0;
  const put: Put = (...args) => (++puts === 1 ? first(...args) : node.records.put(...args));
  const records = { put, get: (key: string) => node.records.get(key) };
  const { bus, leases } = node;
  return { bus, leases, records, connectChanges: node.connectChanges.bind(node) } as unknown as Cluster;
}

for (const isLate of [false, true])
  test(`a claim that the engine stores ${isLate ? "late" : "without an answer"} does not hold the state`, async (t) => {
    const clock = new FakeClock();
    const state = createMemoryState({ clock });
    const [node, other] = [state.node(), state.node()];
    t.after(() => Promise.all([node.close(), other.close()]));
    let store = async () => {};
    const unsure = withFirstPut(node, async (...args) => {
      store = async () => void (await node.records.put(...args));
      if (!isLate) await store();
      throw new ClusterError("unknown_outcome", "the connection was lost");
    });
    const shop = new SharedShop(t, [unsure, other], { clock });
    shop.release.open();
    const again = await shop.begin();
    equal(await shop.read(shop.send(0, again)), AWAY);
    const mark = async () => (await other.records.get(`round/${idOf(again)}`))?.value;
    await until("the claim is given up", async () => (await mark()) === '{"v":1}');
    if (isLate) await store();
    equal(await shop.read(shop.send(1, again)), "bought in run 1");
    deepEqual(shop.counts, { runs: 1, charges: 1 });
  });

test("outcomes and steps are sealed in the engine", async (t) => {
  const { nodes, shop } = openShop(t);
  shop.fails = true;
  shop.charge = () => "secret";
  const again = await shop.begin();
  await shop.read(shop.send(0, again));
  const mark = async () => (await nodes[1].records.get(`round/${idOf(again)}`))?.value ?? "";
  await until("the round is free", async () => !(await mark()).includes("owner"));
  match(await mark(), /^\{"v":1,"steps":"k\.[\w-]+\.[\w-]+"\}$/);
  shop.fails = false;
  shop.release.open();
  await shop.read(shop.send(0, again));
  const outcome = await nodes[1].records.get(`outcome/${idOf(again)}`);
  match(outcome?.value ?? "", /^k\.[\w-]+\.[\w-]+$/);
});

test("a server that closes releases its lease after its last round", async (t) => {
  const { nodes, shop } = openShop(t);
  const again = await shop.begin();
  const one = shop.send(0, again);
  await shop.charged.opened;
  const { owner } = JSON.parse((await nodes[1].records.get(`round/${idOf(again)}`))?.value ?? "");
  const isHeld = async () => {
    const lease = await nodes[1].leases.acquire(`states/${owner}`, 1_000);
    await lease?.release();
    return lease === undefined;
  };
  const closing = shop.servers[0]?.close();
  equal(await shop.read(one), "The server is shutting down");
  equal(await isHeld(), true, "the handler runs on");
  shop.release.open();
  await closing;
  await until("the lease is released", async () => !(await isHeld()));
  equal(await shop.read(shop.send(1, again)), "bought in run 2", "an aborted round may run again");
  equal(shop.counts.charges, 1);
});

test("an outcome that the engine refuses is not kept, and its state stays used", async (t) => {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const nodes = [state.node(), state.node()];
  for (const node of nodes) t.after(() => node.close());
  const records = nodes[0]?.records as Records;
  const put = records.put.bind(records);
  records.put = (key, ...rest) => {
    if (key.startsWith("outcome/")) throw new ClusterError("refused", `${key} is too long for the engine`);
    return put(key, ...rest);
  };
  const shop = new SharedShop(t, nodes, { clock });
  shop.release.open();
  const again = await shop.begin();
  equal(await shop.read(shop.send(0, again)), "bought in run 1");
  equal(await shop.read(shop.send(1, again)), REFUSED);
  deepEqual([shop.counts.runs, shop.reported], [1, ["cluster_refused", "state_used"]]);
});

test("an outcome that was sealed with a key of another node is not given out", async (t) => {
  const state = createMemoryState();
  const [old, added] = [1, 2].map((fill) => ({ id: `k${fill}`, secret: new Uint8Array(32).fill(fill) }));
  const open = (...stateKeys: SealKey[]) => {
    const node = state.node();
    t.after(() => node.close());
    const shop = new SharedShop(t, [node], { stateKeys });
    shop.release.open();
    return shop;
  };
  const [before, after] = [open(old as SealKey), open(added as SealKey, old as SealKey)];
  const again = await before.begin();
  equal(await after.read(after.send(0, again)), "bought in run 1");
  equal(await before.read(before.send(0, again)), REFUSED);
  deepEqual([before.counts.runs, before.reported], [0, ["state_used"]]);
});
