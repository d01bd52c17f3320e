import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import {
  type Client,
  type ClientOptions,
  connect,
  InputRequiredError,
  McpError,
  ProtocolError,
  RpcError,
} from "bowline/client";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { until } from "../../support/census.js";
import { modernHttp, modernWires, type World } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { settled } from "../../support/http-transports.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const wire = { wire: "modern-memory" };
const done = { resultType: "complete", content: [{ type: "text", text: "done" }] };
const form = (message: string) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties: {} } },
});
const roots = { method: "roots/list" };
const sampling = { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } };
const decline = { action: "decline" as const };
const sure = { type: "object", properties: { sure: { type: "boolean" } } } as const;

type Round = { readonly inputRequests?: object; readonly requestState?: string };

/** A server that answers the n-th request for a tool with the n-th round, and then with a result. */
function asking(...rounds: Round[]): ServerScript {
  let next = 0;
  return new ServerScript().modern().on("tools/call", () => {
    const round = rounds[next++];
    return { result: round === undefined ? done : { resultType: "input_required", ...round } };
  });
}

async function dial(t: TestContext, script: ServerScript, options: ClientOptions = {}): Promise<Client> {
  const client = await connect({ channel: script.channel }, { era: "modern", onElicit: () => decline, ...options });
  t.after(() => client.close());
  return client;
}

proves("mrtr:client:construct-inputs", wire, "one retry, when all questions are answered", async (t) => {
  const slow = gate();
  const script = asking({ inputRequests: { a: form("a"), b: roots, c: form("c") }, requestState: "s" });
  const client = await dial(t, script, {
    roots: [],
    onElicit: async ({ message }) => {
      if (message === "c") await slow.opened;
      return { action: "accept", content: { message } };
    },
  });
  const call = client.callTool("t");
  await script.next("tools/call");
  await settled();
  equal(script.all("tools/call").length, 1);
  slow.open();
  equal((await call).text, "done");
  deepEqual(script.all("tools/call")[1]?.params?.inputResponses, {
    a: { action: "accept", content: { message: "a" } },
    b: { roots: [] },
    c: { action: "accept", content: { message: "c" } },
  });
  equal(script.all("tools/call").length, 2);
});

proves(["mrtr:client:echo-state", "mrtr:client:fresh-id"], wire, "the state comes back as it was", async (t) => {
  const states = ['{"a": 1}', "\\u0041\n\t\"'", "\ud800lone", "x".repeat(200_000), ""];
  const script = asking(...states.map((requestState) => ({ requestState, inputRequests: { k: form("k") } })));
  const client = await dial(t, script);
  await client.callTool("t", {}, { id: "mine" });
  const sent = script.all("tools/call");
  deepEqual(
    sent.map(({ params }) => params?.requestState),
    [undefined, ...states],
  );
  equal(sent[0]?.id, "mine");
  equal(new Set(sent.map(({ id }) => id)).size, sent.length);
});

proves("mrtr:client:fresh-id", wire, "each leg has an id of its own, also without a chosen one", async (t) => {
  const round = { requestState: "s", inputRequests: { k: form("k") } };
  const script = asking(round, round, round);
  await (await dial(t, script)).callTool("t");
  const ids = script.all("tools/call").map(({ id }) => id);
  equal(ids.length, 4);
  equal(new Set(ids).size, 4);
});

proves(
  ["mrtr:client:no-state-when-absent", "mrtr:client:replace-not-accumulate"],
  wire,
  "each retry answers the latest round alone",
  async (t) => {
    const script = asking({ inputRequests: { a: form("a") }, requestState: "s" }, { inputRequests: { b: form("b") } });
    await (await dial(t, script)).callTool("t");
    const [, second, third] = script.all("tools/call").map(({ params }) => params ?? {});
    deepEqual([second?.inputResponses, second?.requestState], [{ a: decline }, "s"]);
    deepEqual(third?.inputResponses, { b: decline });
    equal("requestState" in (third ?? {}), false);
  },
);

verifies("mrtr:client:original-params", modernWires, async ({ connect }: World) => {
  const input = {
    type: "object",
    properties: { berth: { type: "string", "x-mcp-header": "Berth" }, list: { type: "array" } },
  } as const;
  const server = new McpServer(me).tool("moor", { input }, async (_, ctx) => {
    await ctx.elicit("Sure?", sure);
    return "moored";
  });
  const args = { berth: "north", list: [1] };
  const client = await connect(server, {
    onElicit: () => {
      args.berth = "south";
      args.list.push(2);
      return decline;
    },
  });
  await client.listTools();
  equal((await client.callTool("moor", args, { meta: { "com.example/a": 1 } })).text, "moored");
  const [first, second] = client.wire.requests("tools/call").map(({ params }) => params);
  const { inputResponses, requestState, ...repeated } = second ?? {};
  ok(inputResponses !== undefined && requestState !== undefined);
  deepEqual(repeated, first);
  deepEqual(first?.arguments, { berth: "north", list: [1] });
  const posts = client.wire.exchanges.filter(({ body }) => body?.includes('"tools/call"'));
  for (const { header } of posts) equal(header("mcp-param-berth"), "north");
});
verifies("mrtr:client:original-params", "headers travel with each leg", modernHttp, async ({ connect }: World) => {
  const server = new McpServer(me).tool("ask", {}, async (_, ctx) => (await ctx.elicit("?", sure)).action);
  const client = await connect(server, { onElicit: () => decline, headers: { "x-own": "mine" } });
  await client.callTool("ask");
  const posts = client.wire.exchanges.filter(({ body }) => body?.includes('"tools/call"'));
  deepEqual(
    posts.map(({ header }) => [header("x-own"), header("mcp-name"), header("mcp-method")]),
    Array(2).fill(["mine", "ask", "tools/call"]),
  );
});

proves("mrtr:client:parallel-isolation", wire, "answers go to the call that asked", async (t) => {
  const script = new ServerScript().modern().on("tools/call", ({ params }) => {
    const { who } = (params?.arguments ?? {}) as { who: string };
    if (who === "quiet" || params?.requestState !== undefined) return { result: done };
    return { result: { resultType: "input_required", requestState: who, inputRequests: { [who]: form(who) } } };
  });
  const both = gate();
  let asked = 0;
  const client = await dial(t, script, {
    onElicit: async ({ message }) => {
      if (++asked === 2) both.open();
      await both.opened;
      return { action: "accept", content: { message } };
    },
  });
  await Promise.all(["anna", "bert", "quiet"].map((who) => client.callTool("t", { who })));
  await client.callTool("t", { who: "quiet" });
  for (const { params } of script.all("tools/call")) {
    const { who } = (params?.arguments ?? {}) as { who: string };
    if (params?.requestState === undefined) equal(params?.inputResponses, undefined);
    else {
      equal(params.requestState, who);
      deepEqual(params.inputResponses, { [who]: { action: "accept", content: { message: who } } });
    }
    if (who === "quiet") equal(params?.requestState, undefined);
  }
  equal(script.all("tools/call").length, 6);
});

proves("mrtr:client:state-only-retry", wire, "a server that only wants its state back is given time", async (t) => {
  const clock = new FakeClock();
  const only = (count: number): Round[] => Array.from({ length: count }, (_, index) => ({ requestState: `${index}` }));
  const script = asking(...only(8), { requestState: "x", inputRequests: { k: form("k") } }, ...only(1));
  const client = await dial(t, script, { clock, timeoutMs: Number.POSITIVE_INFINITY, limits: { maxRounds: 20 } });
  const started = clock.delays.length;
  const call = client.callTool("t");
  for (let pause = 1; pause <= 9; pause++) {
    await clock.started(started + pause);
    clock.advance(5_000);
  }
  equal((await call).text, "done");
  deepEqual(clock.delays.slice(started), [100, 200, 400, 800, 1600, 3200, 5000, 5000, 100]);
  for (const { params } of script.all("tools/call").slice(1, 9)) equal(params?.inputResponses, undefined);
});

proves("mrtr:client:state-only-retry", wire, "the time that it is given is no silence of the server", async (t) => {
  const clock = new FakeClock();
  const only = Array.from({ length: 8 }, (_, index) => ({ requestState: `${index}` }));
  const client = await dial(t, asking(...only), { clock, timeoutMs: 1_000 });
  const call = client.callTool("t", {}, { deadlineMs: Number.POSITIVE_INFINITY });
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  call.then(over, over);
  await until("the call has ended", () => {
    clock.advance(100);
    return isOver;
  });
  equal((await call).text, "done");
});

proves("typescript:mrtr:rounds-cap", wire, "a server cannot ask for ever", async (t) => {
  for (const [options, requests] of [
    [{}, 17],
    [{ limits: { maxRounds: 2 } }, 3],
    [{ limits: { maxRounds: 0 } }, 1],
  ] as const) {
    const endless = Array.from({ length: 40 }, (_, index) => ({
      inputRequests: { k: form("k") },
      requestState: `${index}`,
    }));
    const script = asking(...endless);
    let asked = 0;
    const onElicit = () => {
      asked++;
      return decline;
    };
    const client = await dial(t, script, { ...options, onElicit });
    await rejects(client.callTool("t"), (error) => {
      ok(error instanceof InputRequiredError);
      equal(error.code, "too_many_rounds");
      equal(error.result.requestState, `${requests - 1}`);
      return true;
    });
    equal(script.all("tools/call").length, requests);
    equal(asked, requests - 1);
  }
});

proves("mrtr:client:neither", wire, "a question without a question is no answer", async (t) => {
  for (const round of [{}, { inputRequests: {} }]) {
    const script = asking(round);
    await rejects((await dial(t, script)).callTool("t"), ProtocolError);
    equal(script.all("tools/call").length, 1);
  }
});

proves("mrtr:client:unsupported-method", wire, "only some methods may be answered with a question", async (t) => {
  const asked = { result: { resultType: "input_required", requestState: "s", inputRequests: { k: form("k") } } };
  const script = new ServerScript().modern().on("tools/list", asked).on("com.example/own", asked);
  const client = await dial(t, script);
  await rejects(client.listTools(), ProtocolError);
  await rejects(client.request("com.example/own"), ProtocolError);
  deepEqual(script.methods, ["server/discover", "tools/list", "com.example/own"]);
});

proves(
  ["mrtr:client:unknown-kind", "mrtr:client:handler-fails"],
  wire,
  "what cannot be answered ends the call and the work on the other answers",
  async (t) => {
    const waits = (reasons: unknown[]) => async (_: unknown, ctx: { signal: AbortSignal }) => {
      reasons.push(await aborted(ctx.signal));
      return decline;
    };
    for (const question of [{ method: "x/y", params: {} }, sampling]) {
      const reasons: unknown[] = [];
      const script = asking({ inputRequests: { slow: form("slow"), strange: question } });
      const client = await dial(t, script, { onElicit: waits(reasons) });
      await rejects(client.callTool("t"), (error) => {
        ok(error instanceof McpError);
        match(error.message, new RegExp(question.method));
        return true;
      });
      await settled();
      equal(reasons.length, 1);
      equal(script.all("tools/call").length, 1);
    }
    const reasons: unknown[] = [];
    const failure = new Error("the user is asleep");
    const script = asking({ inputRequests: { a: form("a"), b: roots, c: form("c") } });
    const client = await dial(t, script, {
      onElicit: waits(reasons),
      roots: () => Promise.reject(failure),
    });
    await rejects(client.callTool("t"), (error) => error === failure);
    await settled();
    deepEqual(reasons, [failure, failure]);
    equal(script.all("tools/call").length, 1);

    const declined = asking({ inputRequests: { a: form("a") } });
    equal((await (await dial(t, declined)).callTool("t")).text, "done");
    deepEqual(declined.all("tools/call")[1]?.params?.inputResponses, { a: decline });
  },
);

proves("mrtr:client:concurrent-dispatch", wire, "questions of one round are answered side by side", async (t) => {
  const meeting = [gate(), gate()];
  const script = asking({ inputRequests: { a: form("0"), b: form("1") } });
  const client = await dial(t, script, {
    onElicit: async ({ message }) => {
      meeting[Number(message)]?.open();
      await meeting[1 - Number(message)]?.opened;
      return decline;
    },
  });
  equal((await client.callTool("t")).text, "done");
});

proves("mrtr:client:abort", wire, "giving up ends the whole flow", async (t) => {
  const fired: unknown[] = [];
  const asked = gate();
  const script = asking({ inputRequests: { a: form("a") }, requestState: "s" });
  const client = await dial(t, script, {
    onElicit: async (_, ctx) => {
      asked.open();
      fired.push(await aborted(ctx.signal));
      return decline;
    },
  });
  const abort = new AbortController();
  const call = client.callTool("t", {}, { signal: abort.signal });
  await asked.opened;
  abort.abort("enough");
  await rejects(call, (reason) => reason === "enough");
  await settled();
  deepEqual(fired, ["enough"]);
  deepEqual(script.methods, ["server/discover", "tools/call"]);

  const clock = new FakeClock();
  const pausing = asking({ requestState: "s" });
  const patient = await dial(t, pausing, { clock });
  const stop = new AbortController();
  const waiting = patient.callTool("t", {}, { signal: stop.signal, timeoutMs: Number.POSITIVE_INFINITY });
  await clock.started(clock.delays.length + 1);
  stop.abort("enough");
  await rejects(waiting, (reason) => reason === "enough");
  equal(clock.pending, 0);
  deepEqual(pausing.methods, ["server/discover", "tools/call"]);
});

proves("mrtr:client:abort", wire, "a leg in flight is cancelled, and no other", async (t) => {
  for (const leg of [0, 1]) {
    const reached = gate();
    const script = new ServerScript().modern().on("tools/call", ({ params }) => {
      const isRetry = params?.requestState !== undefined;
      if (isRetry === (leg === 1)) return void reached.open();
      return { result: { resultType: "input_required", requestState: "s", inputRequests: { a: form("a") } } };
    });
    const client = await dial(t, script);
    const abort = new AbortController();
    const call = client.callTool("t", {}, { signal: abort.signal });
    await reached.opened;
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
    const cancelled = await script.next("notifications/cancelled");
    await settled();
    equal(cancelled.params?.requestId, script.all("tools/call")[leg]?.id);
    const calls = Array(leg + 1).fill("tools/call");
    deepEqual(script.methods, ["server/discover", ...calls, "notifications/cancelled"]);
  }
});

verifies("mrtr:client:manual-mode", modernWires, async ({ connect }: World) => {
  const server = () => {
    const stateKeys = [{ id: "k1", secret: new Uint8Array(32).fill(7) }];
    return new McpServer(me, { stateKeys }).tool("ask", {}, async (_, ctx) => (await ctx.elicit("?", sure)).action);
  };
  const never = () => {
    throw new Error("must not run");
  };
  const client = await connect(server(), { onElicit: never, input: "manual" });
  const asked = await client.request("tools/call", { name: "ask" }, { input: "manual" });
  if (asked.resultType !== "input_required") throw new Error("not asked");
  deepEqual(Object.keys(asked).includes("inputRequests"), true);
  equal(client.wire.requests("tools/call").length, 1);
  await rejects(client.callTool("ask"), (error) => {
    ok(error instanceof InputRequiredError);
    equal(error.code, "input_required");
    ok(error.result.inputRequests !== undefined);
    return true;
  });
  const { inputRequests, requestState } = JSON.parse(JSON.stringify(asked));
  const inputResponses = { [Object.keys(inputRequests)[0] as string]: decline };
  const retry = { name: "ask", inputResponses, requestState };
  const finished = await client.request("tools/call", retry);
  deepEqual(finished.content, [{ type: "text", text: "decline" }]);
  const other = await connect(server(), { onElicit: never });
  const elsewhere = await other.request("tools/call", retry, { input: "manual" });
  equal(elsewhere.resultType, "complete");
  await rejects(other.request("tools/call", { name: "ask", requestState: "x" }), RpcError);
});
