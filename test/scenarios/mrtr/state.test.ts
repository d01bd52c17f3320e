import { deepEqual, equal, match, notEqual, ok, throws } from "node:assert/strict";
import type { TestContext } from "node:test";
import { RpcError } from "bowline";
import { acceptState, memoryCluster } from "bowline/cluster";
import { DefinitionError, inputRequired, McpServer, type SealKey } from "bowline/server";
import { createChannelPair, createMemoryState, FakeClock, type RecordedMessage } from "bowline/testing";
import type { Clock } from "#src/call/clock.js";
import { modernWires, type World } from "../../support/each-wire.js";
import { withoutRoom } from "../../support/full-cluster.js";
import { eachHost, resultOf } from "../../support/modern-hosts.js";
import { modernRequest } from "../../support/modern-request.js";
import { replaceParts } from "../../support/nodes-world.js";
import { enveloped, type Message, type RawClient, rawClient } from "../../support/raw-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const wire = { wire: "modern-memory" };
const able = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
const secret = (fill: number) => new Uint8Array(32).fill(fill);
const keys = (...fills: number[]): SealKey[] => fills.map((fill) => ({ id: `k${fill}`, secret: secret(fill) }));

let ran = 0;

/** Two tools and a prompt that hand out a state and, with one, say what was in it. */
function harbour(options = {}) {
  const input = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } } as const;
  const server = new McpServer(me, options);
  for (const name of ["first", "second"]) {
    server.tool(name, { input }, (_, ctx) => {
      ran++;
      return ctx.requestState === undefined
        ? (inputRequired({ state: { treasure: "doubloons" } }) as never)
        : JSON.stringify(ctx.requestState);
    });
  }
  return server.prompt("first", {}, (_, ctx) => {
    return ctx.requestState === undefined ? (inputRequired({ state: { a: 1 } }) as never) : "said";
  });
}

const call = (more: Message = {}, name = "first", meta: Message = able): Message =>
  enveloped("call", "tools/call", { name, arguments: { a: 1, b: 2 }, ...more }, meta);

async function issue(client: RawClient): Promise<string> {
  return (await client.ask(call())).result?.requestState as string;
}

const REFUSED = { code: -32602, message: "Invalid params: /requestState is not valid" };

async function assertRefused(client: RawClient, message: Message): Promise<void> {
  const before = ran;
  deepEqual((await client.ask(message)).error, REFUSED);
  equal(ran, before);
}

function assertServed(answer: Pick<RecordedMessage, "result">): void {
  deepEqual(answer.result?.content, [{ type: "text", text: '{"treasure":"doubloons"}' }]);
}

/** A raw client of a server in memory, as whom it says it is. */
async function memory(t: TestContext, server: McpServer, principal?: string): Promise<RawClient> {
  const world = {
    era: "modern",
    transport: "memory",
    channel: async () => {
      const [ours, theirs] = createChannelPair();
      await server.accept(theirs, principal === undefined ? {} : { principal });
      t.after(() => server.close());
      return ours;
    },
  };
  return rawClient(world as unknown as World, server, t);
}

verifies("mrtr:server:state-integrity", modernWires, async (world: World, t) => {
  const server = harbour({ stateKeys: keys(1) });
  const client = await rawClient(world, server, t);
  const state = await issue(client);
  const other = await issue(client);
  assertServed(await client.ask(call({ requestState: state })));
  const [id, iv, sealed] = state.split(".") as [string, string, string];
  const [, iv2, sealed2] = other.split(".") as [string, string, string];
  const altered = [
    "",
    state.slice(0, -1),
    `${state}A`,
    `${state}=`,
    `${state}.`,
    state.toUpperCase(),
    ` ${state}`,
    `${id}.${iv2}.${sealed}`,
    `${id}.${iv}.${sealed2}`,
    `k2.${iv}.${sealed}`,
    `v2.${state}`,
    `${id}.${iv}`,
    JSON.stringify({ treasure: "doubloons" }),
  ];
  for (let at = 0; at < state.length; at++) {
    altered.push(`${state.slice(0, at)}${state[at] === "A" ? "B" : "A"}${state.slice(at + 1)}`);
  }
  for (const requestState of altered) await assertRefused(client, call({ requestState }));
  const foreign = await rawClient(world, harbour({ stateKeys: [{ id: "k1", secret: secret(9) }] }), t);
  await assertRefused(foreign, call({ requestState: state }));
});

verifies("mrtr:server:state-default-protected", modernWires, async (world: World, t) => {
  const client = await rawClient(world, harbour(), t);
  const state = await issue(client);
  for (const revealed of ["doubloons", "treasure", btoa("doubloons").slice(0, 10)])
    equal(state.includes(revealed), false);
  equal(atob(state.split(".")[2]?.replaceAll("-", "+").replaceAll("_", "/") ?? "").includes("doubloons"), false);
  await assertRefused(client, call({ requestState: JSON.stringify({ authored: 1 }) }));
  await assertRefused(await rawClient(world, harbour(), t), call({ requestState: state }));
});

proves("mrtr:server:state-principal", wire, "a state is good for whom it was made", async (t) => {
  const server = harbour();
  const callers = ["app:alice", "app:bob", undefined];
  for (const issuedTo of callers) {
    const state = await issue(await memory(t, server, issuedTo));
    for (const principal of callers) {
      const client = await memory(t, server, principal);
      if (principal === issuedTo) assertServed(await client.ask(call({ requestState: state })));
      else await assertRefused(client, call({ requestState: state }));
    }
  }
});

proves("mrtr:server:state-ttl", wire, "a state lives for a while", async (t) => {
  const clock = new FakeClock();
  const client = await memory(t, harbour({ clock, limits: { stateTtlMs: 1000 } }));
  const state = await issue(client);
  clock.advance(1000);
  assertServed(await client.ask(call({ requestState: state })));
  clock.advance(1);
  await assertRefused(client, call({ requestState: state }));
  const fresh = await issue(client);
  clock.advance(999);
  assertServed(await client.ask(call({ requestState: fresh })));

  for (const stateTtlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    throws(() => harbour({ limits: { stateTtlMs } }), DefinitionError);
  }
});

/** A clock whose time of day differs from that of another one. */
const skewed = (clock: FakeClock, ms: number): Clock => ({
  now: () => clock.now(),
  schedule: (callback, delay) => clock.schedule(callback, delay),
  cancel: (timer) => clock.cancel(timer as never),
  timeOfDay: () => clock.timeOfDay() + ms,
});

const MINUTE = 60_000;

proves(
  ["mrtr:server:state-ttl", "cluster:clocks"],
  wire,
  "the clocks of two processes may differ by a minute, and no more",
  async (t) => {
    for (const shared of [{ stateKeys: keys(1) }, { stateCodec: { encode: btoa, decode: atob } }]) {
      const clock = new FakeClock();
      const at = (ms: number) =>
        memory(t, harbour({ ...shared, clock: skewed(clock, ms), limits: { stateTtlMs: 30_000 } }));
      const [here, ahead, behind, far, late] = [
        await at(0),
        await at(MINUTE),
        await at(-MINUTE),
        await at(MINUTE + 1),
        await at(-MINUTE - 30_001),
      ];
      for (const [issuer, taker] of [
        [here, ahead],
        [ahead, here],
        [here, behind],
        [behind, here],
      ] as const)
        assertServed(await taker.ask(call({ requestState: await issue(issuer) })));
      for (const issuer of [far, late]) await assertRefused(here, call({ requestState: await issue(issuer) }));
      const state = await issue(here);
      clock.advance(30_000 + MINUTE);
      assertServed(await here.ask(call({ requestState: state })));
      clock.advance(1);
      await assertRefused(here, call({ requestState: state }));
    }
  },
);

proves("cluster:clocks", wire, "no round runs again on a clock that is behind", async (t) => {
  for (const accepts of [false, true]) {
    const clock = new FakeClock();
    const state = createMemoryState({ clock });
    const node = (ms: number) => {
      const cluster = state.node();
      const own = skewed(clock, ms);
      const limits = { stateTtlMs: 30_000, stateOutcomeMs: 1 };
      const accept = accepts ? { acceptState: acceptState(cluster, own) } : {};
      return memory(t, harbour({ cluster, stateKeys: keys(1), clock: own, limits, ...accept }));
    };
    const [ahead, behind] = [await node(MINUTE), await node(0)];
    for (const issuer of [ahead, behind]) {
      const requestState = await issue(issuer);
      assertServed(await ahead.ask(call({ requestState })));
      const ranBefore = ran;
      for (let passed = 0; passed <= 5 * MINUTE; passed += 10_000) {
        await behind.ask(call({ requestState }));
        equal(ran, ranBefore, `after ${passed} ms`);
        clock.advance(10_000);
      }
    }
  }
});

verifies("mrtr:server:state-request-binding", modernWires, async (world: World, t) => {
  const client = await rawClient(world, harbour(), t);
  const requestState = await issue(client);
  await assertRefused(client, call({ requestState }, "second"));
  await assertRefused(client, call({ requestState, arguments: { a: 1, b: 3 } }));
  await assertRefused(client, call({ requestState, arguments: {} }));
  await assertRefused(client, enveloped(1, "prompts/get", { name: "first", requestState }, able));
  assertServed(await client.ask(call({ requestState, arguments: { b: 2, a: 1 } })));
  assertServed(await client.ask(call({ requestState }, "first", { ...able, "com.example/trace": 7 })));
});

proves("mrtr:server:state-opaque-error", wire, "the reason is told here and nowhere else", async (t) => {
  const clock = new FakeClock();
  const reasons: string[] = [];
  const server = harbour({
    clock,
    limits: { stateTtlMs: 1000 },
    onError: (error: Error) => reasons.push(error.message),
  });
  const alice = await memory(t, server, "alice");
  const state = await issue(alice);
  await assertRefused(alice, call({ requestState: `${state.slice(0, -2)}zz` }));
  await assertRefused(await memory(t, server, "bob"), call({ requestState: state }));
  await assertRefused(alice, call({ requestState: state }, "second"));
  await assertRefused(alice, call({ requestState: `x${state}` }));
  clock.advance(2000);
  await assertRefused(alice, call({ requestState: state }));
  equal(reasons.length, 5);
  match(reasons[0] ?? "", /changed/);
  match(reasons[3] ?? "", /key/);
  match(reasons[4] ?? "", /expired/);
});

verifies(
  "mrtr:server:state-principal",
  "no state is opened for a caller that the gate cannot identify",
  eachHost,
  async ({ serve }) => {
    let isDown = false;
    const gate = () => {
      if (isDown) throw new Error("the key store is down");
      return { principal: "alice", auth: {} };
    };
    const send = await serve(harbour({ onError: () => {}, http: { gate } }));
    const ask = (more: object = {}) =>
      send(modernRequest("tools/call", { params: { name: "first", arguments: {}, ...more }, meta: able }));
    const { requestState } = await resultOf(await ask());
    const before = ran;
    isDown = true;
    equal((await ask({ requestState })).status, 500);
    equal(ran, before);
    isDown = false;
    assertServed({ result: await resultOf(await ask({ requestState })) });
  },
);

proves("mrtr:server:state-key-rotation", wire, "the first key seals, all open", async (t) => {
  const state = await issue(await memory(t, harbour({ stateKeys: keys(1) })));
  const rotated = await memory(t, harbour({ stateKeys: keys(2, 1) }));
  assertServed(await rotated.ask(call({ requestState: state })));
  const renewed = await issue(rotated);
  ok(renewed.startsWith("k2."));
  const dropped = await memory(t, harbour({ stateKeys: keys(2) }));
  await assertRefused(dropped, call({ requestState: state }));
  assertServed(await dropped.ask(call({ requestState: renewed })));
  for (const stateKeys of [
    [],
    [{ id: "short", secret: new Uint8Array(16) }],
    [...keys(1), ...keys(1)],
    [...keys(1), { id: "other", secret: secret(1) }],
    [{ id: "a.b", secret: secret(1) }],
  ]) {
    throws(() => harbour({ stateKeys }), DefinitionError);
  }
});

proves("mrtr:server:state-single-use", wire, "a server may take each state once", async (t) => {
  const used = new Set<string>();
  const acceptState = (id: string, untilMs: number) => {
    ok(untilMs > Date.now());
    return !used.has(id) && used.add(id) !== undefined;
  };
  const client = await memory(t, harbour({ acceptState }));
  const state = await issue(client);
  assertServed(await client.ask(call({ requestState: state })));
  await assertRefused(client, call({ requestState: state }));
  const again = await issue(client);
  notEqual(again, state);
  assertServed(await client.ask(call({ requestState: again })));
  const lenient = await memory(t, harbour());
  const replayed = await issue(lenient);
  for (let use = 0; use < 2; use++) assertServed(await lenient.ask(call({ requestState: replayed })));
});

for (const failure of ["unavailable", "unknown_outcome"] as const)
  proves(
    "cluster:round:engine-away",
    wire,
    `a state that cannot be looked up is not refused for good (${failure})`,
    async (t) => {
      const cluster = memoryCluster();
      let isAway = false;
      const full = replaceParts(
        cluster,
        withoutRoom(cluster, () => (isAway ? failure : undefined)),
      );
      const client = await memory(t, harbour({ acceptState: acceptState(full), onError: () => {} }));
      const state = await issue(client);
      isAway = true;
      const before = ran;
      const { error } = await client.ask(call({ requestState: state }));
      deepEqual(
        [error?.code, error?.data, ran],
        [-32005, { limit: "cluster", retryAfterMs: 1_000, refused: true }, before],
      );
      isAway = false;
      assertServed(await client.ask(call({ requestState: state })));
    },
  );

proves("mrtr:server:state-single-use", wire, "so that no round starts twice, also after a failure", async (t) => {
  const runsWith = async (options: object) => {
    let runs = 0;
    const server = new McpServer(me, { onError: () => {}, ...options }).tool(
      "first",
      { input: { type: "object" } },
      (_, ctx) => {
        if (ctx.requestState === undefined) return inputRequired({ state: 1 });
        runs++;
        throw new RpcError(-32001, "failed");
      },
    );
    const client = await memory(t, server);
    const requestState = await issue(client);
    for (let use = 0; use < 2; use++) await client.ask(call({ requestState }));
    return runs;
  };
  const used = new Set<string>();
  equal(await runsWith({}), 2);
  equal(await runsWith({ acceptState: (id: string) => !used.has(id) && used.add(id) !== undefined }), 1);
});

proves("mrtr:server:state-ttl", wire, "each round has the whole time", async (t) => {
  const clock = new FakeClock();
  const sure = { type: "object", properties: {} } as const;
  const server = new McpServer(me, { clock, limits: { stateTtlMs: 1000 } }).tool("first", {}, async (_, ctx) => {
    const actions = [];
    for (const question of ["one", "two", "three"]) actions.push((await ctx.elicit(question, sure)).action);
    return actions.join();
  });
  const client = await memory(t, server);
  const ask = async (more: Message) => (await client.ask(call({ arguments: {}, ...more }))).result ?? {};
  let asked = await ask({});
  const first = asked.requestState;
  for (let round = 0; round < 3; round++) {
    equal(asked.resultType, "input_required");
    clock.advance(900);
    const [key = ""] = Object.keys(asked.inputRequests as object);
    asked = await ask({ requestState: asked.requestState, inputResponses: { [key]: { action: "decline" } } });
  }
  deepEqual(asked.content, [{ type: "text", text: "decline,decline,decline" }]);
  deepEqual((await client.ask(call({ arguments: {}, requestState: first }))).error, REFUSED);
});
