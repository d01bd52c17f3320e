import { deepEqual, equal, ok } from "node:assert/strict";
import { after, test } from "node:test";
import { arrival, listen } from "#src/testing/contract/bus.js";
import { LOG, write } from "#src/testing/contract/logs.js";
import { failureOf, until } from "#src/testing/contract/world.js";
import { contract } from "../../contract/contract.js";
import { MessageHost } from "../../support/engines/message-world.js";

const host = new MessageHost();
after(() => host.close());

contract("messages", () => host.open());

test("messages: the end of a process frees its leases and jobs at once", async () => {
  const world = host.open();
  const [a, b] = [await world.node(), await world.node()];
  ok(await a.leases.acquire("l", 60_000));
  equal(await b.leases.acquire("l", 60_000), undefined);
  world.order("end", a);
  ok(await b.leases.acquire("l", 60_000));
});

test("messages: a host that does not answer is away until it does", async () => {
  const world = host.open();
  const [a, b] = [await world.node(), await world.node()];
  world.crash(a);
  const outcomes = Promise.all([failureOf(() => a.records.get("k")), failureOf(() => a.records.put("k", "v"))]);
  await world.elapse(5_050);
  deepEqual(await outcomes, ["unavailable", "unknown_outcome"]);
  equal(a.available, false);
  equal(await failureOf(() => a.records.get("k")), "unavailable");
  equal(b.available, true);
  world.storeOf(a).receive([["value", 1]]);
  equal(a.available, true);
  await world.close(a);
});

test("messages: a job whose take had no answer comes again", async () => {
  const world = host.open();
  const a = await world.node();
  await a.queue.add("j", "text");
  const store = world.storeOf(a);
  const receive = store.receive.bind(store);
  store.receive = () => {};
  const jobs = a.queue.take(new AbortController().signal, { leaseMs: 600_000 })[Symbol.asyncIterator]();
  let isTaken = false;
  const taken = jobs.next().finally(() => {
    isTaken = true;
  });
  await world.elapse(5_050);
  store.receive = receive;
  store.receive([["value", 0]]);
  await until(async () => {
    await world.elapse(200);
    return isTaken;
  }, "the job comes again");
  const { id, attempt } = (await taken).value;
  deepEqual({ id, attempt }, { id: "j", attempt: 2 });
  await world.close(a);
});

test("messages: operations beyond a limit are refused", async () => {
  const world = host.open();
  const node = await world.node();
  const all = Array.from({ length: 10_001 }, (_, at) => failureOf(() => node.records.put(String(at), "")));
  deepEqual(
    (await Promise.all(all)).filter((failure) => failure !== undefined),
    ["unavailable"],
  );
});

test("messages: a process that does not read loses messages, and is told of the gap", async () => {
  const world = host.open();
  const [slow, sender] = [await world.node(), await world.node()];
  let gaps = 0;
  slow.bus.onGap(() => gaps++);
  const inbox = await listen(slow, "t");
  world.order("hold", slow);
  await sender.bus.publish("t", "first");
  await arrival(inbox, "first");
  for (let sent = 0; sent < 11_000; sent += 1_000)
    await Promise.all(Array.from({ length: 1_000 }, () => sender.bus.publish("t", "more")));
  world.order("read", slow);
  await until(() => gaps > 0, "the gap is told");
  ok(inbox.texts.length < 10_000, `${inbox.texts.length} messages came`);
  await sender.bus.publish("t", "last");
  await arrival(inbox, "last");
});

test("messages: a follower that does not read receives a page at most", async () => {
  const world = host.open();
  const [a, b] = [await world.node(), await world.node()];
  await a.logs.create("l", { ...LOG, maxEntries: 1_000 });
  const writer = await a.logs.claim("l", "s");
  const follower = b.logs.follow("l", "s", undefined, new AbortController().signal)[Symbol.asyncIterator]();
  const first = follower.next();
  await write(writer, ["0"]);
  equal((await first).value?.data, "0");
  await b.records.get("all messages of the host before this one have come");
  await write(writer, Array.from({ length: 1_200 }, String), 1);
  let taken = 0;
  const failure = await failureOf(async () => {
    while (!(await follower.next()).done) taken++;
  });
  equal(failure, "missed");
  ok(taken <= 100, `${taken} entries came in advance`);
});

test("messages: a process that was stopped loses its leases to others, and is told of a gap", async () => {
  const world = host.open();
  const [a, b] = [await world.node(), await world.node()];
  let gaps = 0;
  a.bus.onGap(() => gaps++);
  const lease = await a.leases.acquire("l", 10_000);
  await world.elapse(20_000);
  deepEqual([gaps, lease?.lost.aborted], [0, false]);
  await world.stop(60_000);
  ok(await b.leases.acquire("l", 10_000));
  await world.elapse(10_000);
  deepEqual([gaps, lease?.lost.aborted], [1, true]);
});

test("messages: a process that was busy before it could ask takes its host for present", async () => {
  const world = host.open();
  const a = await world.node();
  const failure = failureOf(() => a.records.get("k"));
  // The clock goes on before the operation is sent.
  world.clock.advance(5_050);
  equal(await failure, "unavailable");
  equal(a.available, true);
  ok(await a.records.put("k", "v"));
});
