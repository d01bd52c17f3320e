import { equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Engine } from "#src/nats/engine.js";
import { Mirror } from "#src/nats/mirror.js";
import { Names } from "#src/nats/names.js";
import { FakeClock } from "../../support/fake-clock.js";
import { clientOf, fakeLine } from "./line.js";

const START = "2027-01-15T08:00:00Z";

/** Opens a mirror without a server. `arrive` delivers a document with a life of a second. */
async function open(t: TestContext, clock = new FakeClock(), refusals: object[] = []) {
  const names = new Names("p");
  const line = fakeLine((path) => {
    if (path.startsWith("STREAM.MSG.GET.")) return { message: { subject: "clock", seq: 1, time: START } };
    if (path.startsWith("CONSUMER.CREATE.")) return refusals.shift() ?? {};
    return path === names.plainSubject("clock", "") ? { seq: 1 } : {};
  });
  const engine: Engine = new Engine({
    client: clientOf(line),
    names,
    clock,
    timeoutMs: 1_000,
    prepare: (opened) => mirror.open(opened),
    onUp: () => {},
  });
  t.after(() => engine.close());
  const mirror = new Mirror(engine, 1_000, () => {});
  await engine.tried("start");
  let count = 0;
  const arrive = (ttl = 1_000) => {
    count++;
    const nanoseconds = `${Date.parse(START) + clock.now()}000000`;
    line.deliver({
      subject: names.listedSubject("record", `${count}`),
      reply: `$JS.ACK.p_documents.c.1.${count}.${count}.${nanoseconds}.0`,
      header: () => JSON.stringify({ ttl, index: [["record all", count]] }),
    });
  };
  return { clock, mirror, arrive };
}

test("a process that lists nothing forgets documents that are over at its heartbeats", async (t) => {
  const { clock, mirror, arrive } = await open(t);
  for (let count = 0; count < 5_000; count++) arrive();
  equal(mirror.size, 5_000);
  mirror.check();
  equal(mirror.size, 5_000);
  clock.advance(1_001);
  // The work of one heartbeat has a bound.
  for (const left of [3_000, 1_000, 0]) {
    mirror.check();
    equal(mirror.size, left);
  }
});

test("documents that are over become fewer while others arrive", async (t) => {
  const { clock, mirror, arrive } = await open(t);
  for (let count = 0; count < 1_000; count++) arrive();
  clock.advance(1_001);
  for (let count = 0; count < 500; count++) arrive(60_000);
  equal(mirror.size, 500);
  equal(mirror.look("record all", undefined, 1_000).length, 500);
});

test("a consumer waits for a stream that another process creates at the same moment", async (t) => {
  const clock = new FakeClock();
  const refusals = [1, 2].map(() => ({ error: { err_code: 10012, description: "invalid stream" } }));
  const opening = open(t, clock, refusals);
  // The first timer is the limit of time for opening the connection.
  for (const timers of [2, 3]) {
    await clock.started(timers);
    clock.advance(50);
  }
  const { mirror, arrive } = await opening;
  arrive();
  equal(mirror.size, 1);
});
