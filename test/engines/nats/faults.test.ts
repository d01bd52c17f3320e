import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { after, before, type TestContext, test } from "node:test";
import type { Lease } from "#src/cluster/cluster.js";
import type { NatsClient } from "#src/nats/client.js";
import { type NatsCluster, natsCluster } from "#src/nats/nats-cluster.js";
import { listen } from "../../contract/bus.js";
import { dataOf, LOG, openOf, write } from "../../contract/logs.js";
import { collect, failureOf, until } from "../../contract/world.js";
import { type NatsServer, startNats, type Tampering, tampered } from "../../support/engines/nats.js";
import { gate } from "../../support/gate.js";
import { clientOf, newPrefix } from "./world.js";

let server: NatsServer;
before(async () => {
  server = await startNats();
});
after(() => server.end());

/** Starts a node whose connection has faults, and one without. */
async function open(t: TestContext, tampering: Tampering, heartbeatMs = 100) {
  const prefix = newPrefix();
  const start = async (client: ReturnType<typeof clientOf>) => {
    const node = natsCluster({ client, prefix, timeoutMs: 1_000, heartbeatMs });
    t.after(() => node.close());
    await until(() => node.available, "a node starts");
    return node;
  };
  const [a, b] = [await start(tampered(clientOf(server.url), tampering)), await start(clientOf(server.url))];
  return { a, b };
}

/** Loses the replies of the next requests to subjects that contain a part. */
function losing() {
  let part: string | undefined;
  let times = 0;
  return {
    losesReply: (subject: string) => part !== undefined && subject.includes(part) && times-- > 0,
    lose(next: string, count = 1) {
      part = next;
      times = count;
    },
  };
}

/** Repeats an operation until the connection is back. */
async function insist<T>(run: () => T | Promise<T>): Promise<T> {
  const results: T[] = [];
  await until(async () => (await failureOf(async () => results.push(await run()))) === undefined, "it succeeds");
  return results[0] as T;
}

test("an append whose reply is lost is stored once, also if another stream of the log is written before it is repeated", async (t) => {
  const faults = losing();
  const { a, b } = await open(t, faults);
  await a.logs.create("l", LOG);
  const [writer, other] = [await a.logs.claim("l", "s"), await b.logs.claim("l", "other")];
  await write(writer, ["0"]);
  for (const seq of [1, 2]) {
    faults.lose(".entries.");
    equal(await failureOf(() => writer.append(seq, String(seq))), "unknown_outcome");
    await other.append(seq - 1, "x");
    await insist(() => writer.append(seq, String(seq)));
  }
  await writer.append(3, "3");
  deepEqual(await dataOf(b, "l", "s"), ["0", "1", "2", "3"]);
});

test("a writer whose append has an unknown outcome is fenced by a claim", async (t) => {
  const faults = losing();
  const { a, b } = await open(t, faults);
  await a.logs.create("l", LOG);
  const writer = await a.logs.claim("l", "s");
  faults.lose(".entries.");
  equal(await failureOf(() => writer.append(0, "0")), "unknown_outcome");
  const next = await b.logs.claim("l", "s");
  await until(() => a.available, "the connection is back");
  equal(await failureOf(() => writer.append(0, "0")), "fenced");
  await write(next, ["1"]);
  deepEqual(await dataOf(b, "l", "s"), ["0", "1"]);
});

test("a stream whose end was not noted has ended for the next writer", async (t) => {
  const faults = losing();
  const { a, b } = await open(t, faults);
  await a.logs.create("l", LOG);
  const writer = await a.logs.claim("l", "s");
  faults.lose(".stream.");
  equal(await failureOf(() => writer.append(0, "bye", { last: true })), "unknown_outcome");
  const next = await b.logs.claim("l", "s");
  equal(await failureOf(() => next.append(0, "late")), "refused");
  deepEqual(await openOf(b, b.node), []);
  deepEqual(await dataOf(b, "l", "s"), ["bye"]);
});

test("a stream that ends while a follower reads it is followed to its end", async (t) => {
  const prefix = newPrefix();
  const [held, headRead, release] = [gate(), gate(), gate()];
  let isHolding = false;
  const plain = clientOf(server.url);
  // Holds the document of a stream back until the last message of its log was read.
  const slow: NatsClient = {
    async open(...args) {
      const line = await plain.open(...args);
      return {
        ...line,
        async request(subject, body, headers) {
          const isDocument = isHolding && body.includes(".documents.listed.stream.");
          if (isDocument) held.open();
          if (isDocument) await release.opened;
          const reply = await line.request(subject, body, headers);
          if (isHolding && body.includes(`"last_by_subj":"${prefix}.entries.`)) headRead.open();
          return reply;
        },
      };
    },
  };
  const nodes = [slow, plain].map((client) => natsCluster({ client, prefix }));
  t.after(() => Promise.all(nodes.map((node) => node.close())));
  const [a, b] = nodes as [NatsCluster, NatsCluster];
  await Promise.all([a.ready, b.ready]);
  await b.logs.create("l", LOG);
  const [writer, other] = [await b.logs.claim("l", "s"), await b.logs.claim("l", "other")];
  await write(writer, ["0"]);
  const followed = collect(a.logs.follow("l", "s", undefined, new AbortController().signal));
  await followed.reaches(1);
  isHolding = true;
  await other.append(0, "x");
  await Promise.all([headRead.opened, held.opened]);
  await writer.append(1, "bye", { last: true });
  isHolding = false;
  release.open();
  await followed.end;
  deepEqual(
    followed.items.map(({ data }) => data),
    ["0", "bye"],
  );
});

test("a put whose reply is lost has an unknown outcome, and a get tells it", async (t) => {
  const faults = losing();
  const { a } = await open(t, faults);
  const version = await a.records.put("k", "1");
  faults.lose(".record.");
  equal(await failureOf(() => a.records.put("k", "2", { ifVersion: version ?? null })), "unknown_outcome");
  equal((await insist(() => a.records.get("k")))?.value, "2");
});

test("a lease whose reply is lost is acquired by the next attempt of the process", async (t) => {
  const faults = losing();
  const { a, b } = await open(t, faults);
  faults.lose(".lease.");
  equal(await failureOf(() => a.leases.acquire("l", 60_000)), "unknown_outcome");
  equal(await b.leases.acquire("l", 60_000), undefined);
  const lease = (await insist(() => a.leases.acquire("l", 60_000))) as Lease | undefined;
  notEqual(lease, undefined);
  equal(await b.leases.acquire("l", 60_000), undefined);
});

test("a lost message is a gap, which the next message or heartbeat shows", async (t) => {
  let lost = 0;
  const { a, b } = await open(t, {
    loses: (message) => message.subject.endsWith(".bus") && message.text().endsWith("\nlost") && lost++ >= 0,
  });
  let gaps = 0;
  a.bus.onGap(() => gaps++);
  const inbox = await listen(a, "t");
  await b.bus.publish("t", "1");
  await b.bus.publish("t", "lost");
  await until(() => gaps === 1, "the heartbeat shows the gap");
  await b.bus.publish("t", "lost");
  await b.bus.publish("t", "2");
  await until(() => inbox.texts.length === 2, "the next message arrives");
  deepEqual([inbox.texts, gaps, lost], [["1", "2"], 2, 2]);
});

test("an index is complete after the server lost the notice of a record", async (t) => {
  let isLosing = false;
  const { a, b } = await open(t, { loses: ({ subject }) => isLosing && subject.includes(".record.") });
  const index = [{ index: "all", score: 1 }];
  await b.records.put("one", "1", { index });
  equal(await a.records.count("all"), 1);
  isLosing = true;
  await b.records.put("two", "2", { index });
  isLosing = false;
  await b.records.put("three", "3", { index });
  equal(await insist(() => a.records.count("all")), 3);
});

test("operations fail fast while the server answers nothing, and resume", async (t) => {
  const { a } = await open(t, {});
  await a.records.put("k", "1");
  let gaps = 0;
  a.bus.onGap(() => gaps++);
  server.freeze();
  t.after(() => server.thaw());
  await until(async () => {
    const start = performance.now();
    const failure = await failureOf(() => a.records.get("k"));
    ok(performance.now() - start < 10_000);
    return failure === "unavailable";
  }, "the process is stopped");
  await until(() => !a.available, "the loss is noticed");
  server.thaw();
  equal((await insist(() => a.records.get("k")))?.value, "1");
  await until(() => gaps > 0, "the gap is told");
});

test("a new record and a new job are one request, also after the end of an earlier life", async (t) => {
  const requests: string[] = [];
  // A heartbeat sends requests as well.
  const { a } = await open(t, { losesReply: (subject) => requests.push(subject) < 0 }, 60_000);
  const sentBy = async (work: () => unknown) => {
    requests.length = 0;
    await work();
    return requests.length;
  };
  equal(await sentBy(() => a.records.put("k", "v", { ifVersion: null })), 1);
  equal(await a.records.put("k", "w", { ifVersion: null }), undefined);
  equal(await sentBy(() => a.queue.add("j", "")), 1);
  equal(await a.queue.add("j", ""), false);
  await a.records.delete("k");
  ok(await a.records.put("k", "x", { ifVersion: null }));
  equal((await a.records.get("k"))?.value, "x");
});
