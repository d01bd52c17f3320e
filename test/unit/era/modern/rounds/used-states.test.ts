import { deepEqual, equal, throws } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { McpServer, type ServerOptions } from "bowline/server";
import { AbortSwitch } from "#src/call/abort-switch.js";
import type { Call } from "#src/era/server-era.js";
import { SERVER_LIMITS } from "#src/era/server-limits.js";
import { UsedStates } from "#src/server/state/used-states.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { takeCensus } from "../../../../support/census.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { gate } from "../../../../support/gate.js";
import { modernRequest } from "../../../../support/modern-request.js";

const able = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
const accept = { "ask-1": { action: "accept", content: {} } };

/** A tool that asks once, charges in a step, and waits for `release`. */
function createShop(t: TestContext, options: ServerOptions = {}) {
  const charged = gate();
  const release = gate();
  const counts = { runs: 0, charges: 0 };
  const reasons: unknown[] = [];
  const onError = (error: unknown) => void reasons.push((error as { code?: string }).code);
  const server = new McpServer({ name: "shop", version: "1" }, { onError, ...options });
  t.after(() => server.close());
  server.tool("buy", {}, async (_, ctx) => {
    await ctx.elicit("Sure?", { type: "object", properties: {} });
    counts.runs++;
    await ctx.step("charge", () => {
      counts.charges++;
    });
    charged.open();
    await release.opened;
    return `bought in run ${counts.runs}`;
  });
  const send = (id: number, more: Record<string, unknown> = {}) => {
    const params = { name: "buy", arguments: {}, ...more };
    const exchange = createArrayExchange(modernRequest("tools/call", { id, params, meta: able }) as never);
    server.handle(exchange);
    return exchange;
  };
  const begin = async (): Promise<string> => {
    const first = send(1);
    await first.done;
    return JSON.parse(first.body()).result.requestState;
  };
  const read = async (exchange: ReturnType<typeof send>) => {
    await exchange.done;
    const { id, result, error } = JSON.parse(exchange.body());
    return [id, result?.content[0].text ?? error.message];
  };
  return { send, begin, read, charged, release, counts, reasons, server };
}

test("a state that is presented while its round runs joins it", async (t) => {
  const { send, begin, read, charged, release, counts } = createShop(t);
  const again = { requestState: await begin(), inputResponses: accept };
  const [one, other] = [send(2, again), send(3, again)];
  await charged.opened;
  release.open();
  deepEqual(
    [await read(one), await read(other)],
    [
      [2, "bought in run 1"],
      [3, "bought in run 1"],
    ],
  );
  deepEqual(counts, { runs: 1, charges: 1 });
});

test("a state that is presented again gets its outcome for a while, and is refused then", async (t) => {
  const clock = new FakeClock();
  const { send, begin, read, release, counts, reasons } = createShop(t, { clock, limits: { stateOutcomeMs: 5000 } });
  release.open();
  const again = { requestState: await begin(), inputResponses: accept };
  deepEqual(await read(send(2, again)), [2, "bought in run 1"]);
  clock.advance(4999);
  deepEqual(await read(send(3, again)), [3, "bought in run 1"]);
  clock.advance(1);
  deepEqual(await read(send(4, again)), [4, "Invalid params: /requestState is not valid"]);
  deepEqual(counts, { runs: 1, charges: 1 });
  deepEqual(reasons, ["state_used"]);
});

test("a round whose client went away can be run again, and none of its steps is", async (t) => {
  const { send, begin, read, charged, release, counts } = createShop(t);
  const again = { requestState: await begin(), inputResponses: accept };
  const lost = send(2, again);
  await charged.opened;
  const joined = send(3, again);
  lost.disconnect();
  release.open();
  deepEqual(await read(joined), [3, "bought in run 2"]);
  deepEqual(counts, { runs: 2, charges: 1 });
});

test("a cancelled call does not run the round that it waited for", async (t) => {
  const { send, begin, charged, release, counts, server } = createShop(t);
  const again = { requestState: await begin(), inputResponses: accept };
  const lost = send(2, again);
  await charged.opened;
  const joined = send(3, again);
  while (Number(server.stats().running) < 2) await new Promise(setImmediate);
  await new Promise(setImmediate);
  lost.disconnect();
  joined.disconnect();
  release.open();
  while (Number(server.stats().running) > 0) await new Promise(setImmediate);
  deepEqual(counts, { runs: 1, charges: 1 });
});

test("an outcome that is not to be kept goes to the calls that wait for it alone", async () => {
  const used = new UsedStates(new FakeClock(), { ...SERVER_LIMITS, stateOutcomeMs: 0 }, 0);
  const release = gate();
  const call = { end: new AbortSwitch() } as Call;
  const run = async () => {
    await release.opened;
    return { content: [] };
  };
  const calls = [used.use("a").once(call, run), used.use("a").once(call, () => ({ content: ["again"] }))];
  release.open();
  deepEqual(await Promise.all(calls), [{ content: [] }, { content: [] }]);
  throws(() => used.use("a"), { code: "state_used" });
});

test("the oldest outcomes are forgotten when all of them are too long, and their states stay used", async (t) => {
  const { send, begin, read, release, counts } = createShop(t, { limits: { maxOutcomeChars: 120 } });
  release.open();
  const states = [await begin(), await begin(), await begin()];
  const again = states.map((requestState) => ({ requestState, inputResponses: accept }));
  for (const [at, more] of again.entries())
    deepEqual(await read(send(10 + at, more)), [10 + at, `bought in run ${at + 1}`]);
  const texts = [];
  for (const [at, more] of again.entries()) texts.push((await read(send(20 + at, more)))[1]);
  deepEqual(texts, ["Invalid params: /requestState is not valid", "bought in run 2", "bought in run 3"]);
  deepEqual(counts, { runs: 3, charges: 3 });
});

test("a refused answer does not use the state up", async (t) => {
  const { send, begin, read, release } = createShop(t);
  release.open();
  const requestState = await begin();
  const [, refused] = await read(send(2, { requestState, inputResponses: { "ask-1": { action: "perhaps" } } }));
  equal(/inputResponses/.test(refused), true);
  deepEqual(await read(send(3, { requestState, inputResponses: accept })), [3, "bought in run 1"]);
});

test("at the bound the state that was used first is forgotten, and none that runs", async (t) => {
  const { send, begin, read, charged, release, counts } = createShop(t, { limits: { maxUsedStates: 2 } });
  const states = [await begin(), await begin(), await begin()];
  const [first, ...others] = states.map((requestState) => ({ requestState, inputResponses: accept }));
  const running = send(10, first);
  await charged.opened;
  const rest = others.map((more, at) => send(11 + at, more));
  while (counts.runs < 3) await new Promise(setImmediate);
  release.open();
  for (const exchange of [running, ...rest]) await read(exchange);
  await read(send(20, first));
  equal(counts.runs, 3);
});

test("a state that had to make room is kept nowhere, nor is its outcome", async () => {
  const used = new UsedStates(new FakeClock(), { ...SERVER_LIMITS, maxUsedStates: 2 }, 0);
  const call = { end: { aborted: false } } as Call;
  const rounds: WeakRef<object>[] = [];
  const outcomes: WeakRef<object>[] = [];
  const present = async (id: string) => {
    const round = used.use(id);
    rounds.push(new WeakRef(round));
    outcomes.push(new WeakRef(await round.once(call, () => ({ content: [] }))));
  };
  for (let n = 0; n < 50; n++) await present(`state ${n}`);
  await takeCensus();
  const alive = (refs: readonly WeakRef<object>[]) => refs.filter((ref) => ref.deref() !== undefined).length;
  deepEqual([alive(rounds), alive(outcomes)], [2, 2]);
});

test("nothing is kept of states beyond the bound", () => {
  const clock = new FakeClock();
  const used = new UsedStates(clock, { ...SERVER_LIMITS, maxUsedStates: 0 }, 0);
  for (let at = 0; at < 10; at++) used.use(String(at));
  equal(clock.pending, 0);
});
