import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../../support/fake-clock.js";
import { sessionWorld } from "../../../../support/http-transports.js";

const isResponse = ({ message }: { readonly message: { readonly id?: unknown } }) => message?.id === "q";

/** Resolves when the transport has paused as often for the time that the server asked for. */
async function paused(clock: FakeClock, times: number): Promise<void> {
  while (clock.delays.filter((ms) => ms === 2_000).length < times) await clock.started(clock.delays.length + 1);
}

test("a response is posted again when a busy server asks for it", async (t) => {
  const clock = new FakeClock();
  const { script, link, told } = await sessionWorld(t, { clock });
  const sent = link.respond("q", "{}");
  (await script.next(isResponse)).json("", 503, { "retry-after": "2" });
  await paused(clock, 1);
  clock.advance(1_999);
  equal(script.all("POST").filter(isResponse).length, 1);
  clock.advance(1);
  (await script.next(isResponse)).status(202);
  await sent;
  equal(clock.pending, 0);
  deepEqual(told.problems, []);
});

test("a response is given up after some refusals, and with the connection", async (t) => {
  const clock = new FakeClock();
  const { script, link, told } = await sessionWorld(t, { clock, limits: { maxResends: 1 } });
  const sent = link.respond("q", "{}");
  (await script.next(isResponse)).json("", 503, { "retry-after": "2" });
  await paused(clock, 1);
  clock.advance(2_000);
  (await script.next(isResponse)).json("", 503, { "retry-after": "2" });
  await sent;
  equal(told.problems.length, 1);

  const later = link.respond("q", "{}");
  (await script.next(isResponse)).json("", 503, { "retry-after": "2" });
  await paused(clock, 2);
  void link.close();
  await later;
  equal(told.problems.length, 1);
});

test("a response that the server may have taken is not repeated", async (t) => {
  const { script, link, told } = await sessionWorld(t, { clock: new FakeClock() });
  const sent = link.respond("q", "{}");
  (await script.next(isResponse)).json("", 502);
  await sent;
  equal(script.all("POST").filter(isResponse).length, 1);
  equal(told.problems.length, 1);
});
