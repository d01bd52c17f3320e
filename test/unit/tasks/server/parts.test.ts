import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { memoryCluster } from "bowline/cluster";
import { tasks } from "bowline/tasks/server";
import { AbortSwitch } from "#src/call/abort-switch.js";
import { NO_JOURNAL } from "#src/journal/journal.js";
import { TaskMessages, TaskWatchers } from "#src/tasks/server/changes.js";
import { OwnerSlots } from "#src/tasks/server/limits.js";
import { ownerOf } from "#src/tasks/server/owner.js";
import { ended, type TaskRecord } from "#src/tasks/server/record.js";
import { StatusMessages } from "#src/tasks/server/run.js";
import { TaskStore } from "#src/tasks/server/store.js";
import { RunningTasks } from "#src/tasks/server/workers.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { gate } from "../../../support/gate.js";
import { replaceParts } from "../../../support/nodes-world.js";
import { TaskNodes } from "../../../support/task-nodes.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

function record(id: string, more: Partial<TaskRecord> = {}): TaskRecord {
  return {
    format: 1,
    id,
    server: "node",
    owner: "",
    tool: "t",
    caller: { version: "2026-07-28", capabilities: {} },
    idempotencyKey: "k",
    createdAt: 1_800_000_000_000,
    updatedAt: 1_800_000_000_000,
    ttlMs: 60_000,
    stage: "queued",
    round: 1,
    fence: 0,
    losses: 0,
    journal: NO_JOURNAL,
    questions: {},
    mark: "first",
    ...more,
  };
}

const watching = (clock = new FakeClock()) => ({ clock, lookMs: 10_000, onQueued: () => {} });

test("owners differ for each principal and realm, whatever the name of the principal", async () => {
  const owners = [
    [undefined],
    [""],
    ["ann"],
    ["ann", "r"],
    [undefined, "r"],
    ['["r","ann"]'],
    ['["r",null]'],
    ['["ann"]'],
    ["null"],
  ] as const;
  const digests = await Promise.all(owners.map(([principal, realm]) => ownerOf(principal, realm)));
  equal(new Set(digests).size, owners.length);
});

test("a task that has ended keeps no data of its caller but the name", () => {
  const auth = { scopes: ["read"], claims: { email: "ann@example.com" } };
  const caller = { principal: "ann", realm: "r", auth, info: { name: "c", version: "1" } };
  const before = record("a", { caller: { ...record("a").caller, ...caller } });
  const after = JSON.parse(JSON.stringify(ended(before, "completed", { result: {} }))) as TaskRecord;
  deepEqual(after.caller, { version: "2026-07-28", capabilities: {}, principal: "ann", realm: "r" });
});

test("a text that is not an id of a task is not looked up", async (t) => {
  const keys: string[] = [];
  const { client } = new TaskNodes(t).node((server) => server.tool("t", { task: "optional" }, () => "done"), {
    wrap: ({ records }) => ({
      records: replaceParts(records, {
        get: (key) => {
          keys.push(key);
          return records.get(key);
        },
      }),
    }),
  });
  for (const taskId of ["unknown", "x".repeat(36), crypto.randomUUID()]) await rejects(client.get(taskId), /-32602/);
  equal(keys.length, 1, "the one that has the form of an id");
});

test("limits with which no task could run are refused", () => {
  for (const limits of [{ maxRunning: 0 }, { maxRunningPerPrincipal: 0 }])
    throws(() => tasks({ limits }), /tasks: limits\.maxRunning\w* must be 1 or more, got 0; use work: false/);
  for (const leaseMs of [0, Number.POSITIVE_INFINITY])
    throws(() => tasks({ limits: { leaseMs } }), /tasks: limits\.leaseMs must be above 0 and finite, got/);
});

test("status messages: at most one per interval, of the others the latest", async () => {
  const clock = new FakeClock();
  const stored: (string | undefined)[] = [];
  const task = {
    change: async (change: (record: TaskRecord) => TaskRecord) => void stored.push(change(record("a")).message),
  };
  const messages = new StatusMessages(task, clock, 1_000, () => {});
  for (const text of ["1", "2", "3"]) messages.show(text);
  deepEqual(stored, ["1"]);
  clock.advance(1_000);
  deepEqual(stored, ["1", "3"]);
  clock.advance(5_000);
  equal(clock.pending, 0, "no timer stays without messages");
  messages.show("a\nb".padEnd(5_000, "x"));
  equal(stored.at(-1)?.startsWith("a b"), true);
  equal((stored.at(-1)?.length ?? 0) < 1_100, true);
  messages.show("last");
  messages.stop();
  messages.show("later");
  clock.advance(5_000);
  equal(stored.length, 3);
  equal(clock.pending, 0);
});

test("status messages: errors are told", async () => {
  const errors: unknown[] = [];
  const task = { change: () => Promise.reject(new Error("no")) };
  new StatusMessages(task, new FakeClock(), 1_000, (error) => errors.push(error)).show("x");
  await turn();
  equal(errors.length, 1);
});

test("slots: the jobs of a principal without a slot come back one after the other", () => {
  const clock = new FakeClock();
  const slots = new OwnerSlots({ each: 2, anonymous: 9 }, clock);
  const [a, b] = [{ owner: "a" }, { owner: "b" }];
  equal(slots.enter(a), undefined);
  equal(slots.enter(a), undefined);
  deepEqual([slots.enter(a), slots.enter(a), slots.enter(a)], [200, 220, 240]);
  equal(slots.enter(b), undefined);
  slots.leave(a);
  equal(slots.enter(a), undefined);
  clock.advance(1_000);
  equal(slots.enter(a), 200);
});

test("slots: callers without a principal leave some to the others, however many they are", () => {
  const slots = new OwnerSlots({ each: 2, anonymous: 3 }, new FakeClock());
  const nameless = (owner: string) => ({ owner, anonymous: true as const });
  for (const owner of ["a", "b", "c"]) equal(slots.enter(nameless(owner)), undefined);
  equal(slots.enter(nameless("d")), 200);
  equal(slots.enterNow(nameless("e")), false);
  equal(slots.enter({ owner: "ada" }), undefined);
  slots.leave(nameless("a"));
  equal(slots.enterNow(nameless("e")), true);
});

test("running tasks: expire, stop and become idle", async () => {
  const clock = new FakeClock();
  const running = new RunningTasks(clock);
  const call = () => ({ end: new AbortSwitch() }) as never as { end: AbortSwitch };
  const [short, endless, long] = [call(), call(), call()];
  const leave = [
    running.begin(record("short"), short as never, false),
    running.begin(record("endless", { ttlMs: null }), endless as never, true),
    running.begin(record("long", { ttlMs: 40 * 86_400_000 }), long as never, false),
  ];
  equal(clock.pending, 1, "the clock cannot wait for more than 24 days");
  clock.advance(60_000);
  deepEqual([short.end.aborted, endless.end.aborted, long.end.aborted], [true, false, false]);
  running.stop();
  equal((endless.end.reason as { code: string }).code, "task_handed_over");
  equal(long.end.aborted, false);
  const late = call();
  leave.push(running.begin(record("late"), late as never, true));
  equal(late.end.aborted, true);
  let isIdle = false;
  const idle = running.idle().then(() => {
    isIdle = true;
  });
  await turn();
  equal(isIdle, false);
  for (const end of leave) end();
  await idle;
  equal(clock.pending, 0);
});

test("store: changes of several writers all count", async () => {
  const store = new TaskStore(memoryCluster(), new FakeClock());
  await store.add(record("a"));
  const known = await store.read("a");
  const add = () =>
    store.change("a", (task) => ({ ...task, losses: task.losses + 1 }), known === undefined ? {} : { known });
  await Promise.all([add(), add(), add()]);
  const after = await store.read("a");
  equal(after?.record.losses, 3);
  equal((after?.record.updatedAt ?? 0) >= (known?.record.updatedAt ?? 0) + 3, true, "the time moves with each change");
  await rejects(store.add(record("a")), { code: "cluster_refused" });
  equal(await store.change("b", (task) => task), undefined);
});

test("store: a change with a mark is carried out once", async () => {
  const store = new TaskStore(memoryCluster(), new FakeClock());
  const known = await store.add(record("a"));
  const change = (task: TaskRecord) => ({ ...task, losses: task.losses + 1 });
  await store.change("a", change, { known, mark: "m" });
  await store.change("a", change, { known, mark: "m" });
  equal((await store.read("a"))?.record.losses, 1);
});

test("store: a writer gives up if others are always faster", async () => {
  const cluster = memoryCluster();
  const { records } = cluster;
  const busy = { records: replaceParts(records, { put: async () => undefined }) };
  await new TaskStore(cluster, new FakeClock()).add(record("a"));
  await rejects(
    new TaskStore(busy, new FakeClock()).change("a", (task) => task),
    { code: "cluster_unavailable", message: /changed by others each of 100 times/ },
  );
});

test("store: counts live and kept tasks of an owner, and forgets them at their end", async () => {
  const clock = new FakeClock();
  const store = new TaskStore(memoryCluster({ clock }), clock);
  const owner = await ownerOf("ada");
  await store.add(record("a", { owner, listedFor: owner }));
  await store.add(record("b", { owner, listedFor: owner, createdAt: 1_800_000_000_001 }));
  await store.add(record("c", { ttlMs: null }));
  const count = async () => ({ all: (await store.countLive()).named, ...(await store.count(owner)) });
  deepEqual(await count(), { all: 3, live: 2, ended: 0 });
  await store.change("a", (task) => ({ ...task, stage: "completed" }));
  deepEqual(await count(), { all: 2, live: 1, ended: 1 });
  const listed = await store.list(owner, undefined, 1);
  deepEqual([listed.map(({ id }) => id), (await store.list(owner, listed[0], 5)).map(({ id }) => id)], [["a"], ["b"]]);
  const live: string[] = [];
  for await (const { id } of store.live(1)) live.push(id);
  deepEqual(live, ["c", "b"]);
  clock.advance(60_001);
  deepEqual(await count(), { all: 1, live: 0, ended: 0 });
  equal(await store.read("a"), undefined);
});

test("watchers: a state is told once, and the latest after a slow client has read", async () => {
  const clock = new FakeClock();
  const store = new TaskStore(memoryCluster(), clock);
  const { record: first } = await store.add(record("a"));
  let reads = 0;
  const counted = {
    read: (id: string) => {
      reads++;
      return store.read(id);
    },
  };
  const errors: unknown[] = [];
  const watchers = new TaskWatchers({
    ...watching(clock),
    store: counted,
    onFailure: (_id, error) => errors.push(error),
  });
  const told: number[] = [];
  let slow: Promise<void> | undefined;
  const stop = watchers.watch(new Map([["a", first.updatedAt]]), ({ losses }) => {
    told.push(losses);
    return slow;
  });
  const change = () => store.change("a", (task) => ({ ...task, losses: task.losses + 1 }));
  await turn();
  deepEqual(told, [], "the client knows this state");
  await change();
  watchers.changed("a");
  watchers.changed("a");
  watchers.changed("a");
  watchers.changed("unknown");
  await turn();
  deepEqual(told, [1]);
  equal(reads <= 3, true, "one read for changes that come together");
  const room = gate();
  slow = room.opened;
  await change();
  watchers.changed("a");
  await turn();
  for (let more = 0; more < 3; more++) {
    await change();
    watchers.changedAll();
    await turn();
  }
  deepEqual(told, [1, 2]);
  slow = undefined;
  room.open();
  await turn();
  await turn();
  deepEqual(told, [1, 2, 5]);
  stop();
  equal(watchers.size, 0);
  await change();
  watchers.changed("a");
  await turn();
  equal(told.length, 3);
  deepEqual(errors, []);
});

test("watchers: a failed read is reported, and the next change is told", async () => {
  const store = new TaskStore(memoryCluster(), new FakeClock());
  await store.add(record("a"));
  let fails = true;
  const errors: unknown[] = [];
  const read = async (id: string) => {
    if (fails) throw new Error("away");
    return store.read(id);
  };
  const onFailure = (_id: string, error: unknown) => errors.push(error);
  const watchers = new TaskWatchers({ ...watching(), store: { read }, onFailure });
  const told: string[] = [];
  watchers.watch(new Map([["a", 0]]), ({ id }) => void told.push(id));
  await turn();
  equal(errors.length, 1);
  fails = false;
  watchers.changed("a");
  await turn();
  deepEqual(told, ["a"]);
});

test("watchers: a task that needs its job is read again, by one timer for all, while it is watched", async () => {
  const clock = new FakeClock();
  const store = new TaskStore(memoryCluster({ clock }), clock);
  await store.add(record("a"));
  await store.add(record("b"));
  await store.add(record("c", { stage: "waiting" }));
  const queued: string[] = [];
  const onFailure = (_id: string, error: unknown) => queued.push(String(error));
  const watchers = new TaskWatchers({
    ...watching(clock),
    store,
    onFailure,
    onQueued: ({ id }) => void queued.push(id),
  });
  const pending = clock.pending;
  const known = (...ids: string[]) => new Map(ids.map((id) => [id, Number.POSITIVE_INFINITY]));
  const stops = [watchers.watch(known("a", "c"), () => {}), watchers.watch(known("a", "b"), () => {})];
  await turn();
  equal(clock.pending, pending + 1);
  deepEqual(queued.splice(0).toSorted(), ["a", "a", "b"]);
  clock.advance(10_000);
  await turn();
  deepEqual(queued.splice(0).toSorted(), ["a", "b"]);
  await store.change("b", (task) => ({ ...task, stage: "running" }));
  clock.advance(10_000);
  await turn();
  deepEqual(queued.splice(0), ["a"]);
  for (const stop of stops) stop();
  equal(clock.pending, pending);
});

test("messages: one of another form is reported", async (t) => {
  const cluster = memoryCluster();
  t.after(() => cluster.close());
  const [reports, heard]: unknown[][] = [[], []];
  const messages = new TaskMessages({
    bus: cluster.bus,
    hear: (message) => void heard?.push(message.id),
    onMissed: () => {},
    report: (error) => void reports?.push(error),
    retry: (_key, error) => void reports?.push(error),
  });
  await messages.join();
  for (const text of ["null", "no JSON", '{"id":"a","stage":"queued"}']) await cluster.bus.publish("tasks", text);
  while (heard?.length === 0) await turn();
  deepEqual([heard, reports?.length], [["a"], 2]);
  messages.stop();
});

test("a server that is closed while it starts reports nothing", async (t) => {
  const [subscribing, away] = [gate(), gate()];
  const { server, cluster, errors } = new TaskNodes(t).node(
    (server) => server.tool("t", { task: "optional" }, () => "done"),
    {
      wrap: ({ bus }) => ({
        bus: replaceParts(bus, {
          subscribe: async (topic, listener) => {
            subscribing.open();
            await away.opened;
            return bus.subscribe(topic, listener);
          },
        }),
      }),
    },
  );
  await subscribing.opened;
  const closed = server.close().then(() => cluster.close());
  for (let turns = 0; turns < 10; turns++) await turn();
  away.open();
  await closed;
  await turn();
  deepEqual(errors.map(String), []);
});
