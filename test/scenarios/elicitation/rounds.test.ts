import { deepEqual, equal, match, notEqual, throws } from "node:assert/strict";
import type { ElicitResult } from "bowline";
import { type Context, inputRequired, McpServer, type ServerOptions } from "bowline/server";
import { FakeClock } from "bowline/testing";
import * as z from "zod";
import { eachWire, legacyHttp, legacyWires, modernChannels, modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { AskedClient } from "../../support/raw-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const key = { id: "k", secret: new Uint8Array(32).fill(7) };
const FORM = { elicitation: { form: {} } };
const empty = { type: "object", properties: {} } as const;
const said = { role: "assistant", content: { type: "text", text: "ho" }, model: "m" } as const;

verifies("mrtr:handler:one-source-both-eras", eachWire, async ({ connect }) => {
  const all = async (ctx: Context) => {
    const form = await ctx.elicit("Name?", z.object({ name: z.string() }));
    const page = await ctx.elicitUrl("Look", "https://x.test/");
    const model = await ctx.sample({
      messages: [{ role: "user", content: { type: "text", text: "hi" } }],
      maxTokens: 1,
    });
    return JSON.stringify([form, page, model, await ctx.listRoots()]);
  };
  const server = new McpServer(me)
    .tool("t", {}, (_, ctx) => all(ctx))
    .prompt("p", {}, (_, ctx) => all(ctx))
    .resource("r:1", { name: "r" }, (_, ctx) => all(ctx));
  const client = await connect(server, {
    onElicit: () => ({ action: "accept", content: { name: "Ada" } }),
    onElicitUrl: () => ({ action: "decline" }),
    onSample: () => said,
    roots: [{ uri: "file:///a" }],
  });
  const expected = [
    { action: "accept", content: { name: "Ada" } },
    { action: "decline" },
    said,
    [{ uri: "file:///a" }],
  ];
  deepEqual(JSON.parse((await client.callTool("t")).text), expected);
  const [message] = (await client.getPrompt("p")).messages;
  deepEqual(JSON.parse(((message?.content ?? {}) as { text: string }).text), expected);
  const [contents] = (await client.readResource("r:1", { cache: "bypass" })).contents;
  deepEqual(JSON.parse((contents as { text: string }).text), expected);
});

verifies(["mrtr:server:result-shape", "mrtr:server:multiple-inputs"], modernWires, async ({ connect }) => {
  const server = new McpServer(me).tool("t", {}, async (_, ctx) => {
    const asked = [
      ctx.elicit("?", empty),
      ctx.sample({ messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 1 }),
      ctx.listRoots(),
    ] as const;
    return JSON.stringify(await Promise.all(asked));
  });
  const client = await connect(server, { onElicit: () => ({ action: "cancel" }), onSample: () => said, roots: [] });
  deepEqual(JSON.parse((await client.callTool("t")).text), [{ action: "cancel" }, said, []]);
  const [interim, final] = client.wire.responsesTo("tools/call");
  deepEqual(Object.keys(interim?.result ?? {}).sort(), ["_meta", "inputRequests", "requestState", "resultType"]);
  equal(interim?.result?.resultType, "input_required");
  equal(Object.keys((interim?.result?.inputRequests ?? {}) as object).length, 3);
  equal(final?.result?.resultType, "complete");
});

verifies("mrtr:server:repeat-rounds", modernWires, async ({ connect }) => {
  const server = new McpServer(me).tool("t", {}, (_, ctx) => {
    const round = ((ctx.requestState as number | undefined) ?? 0) + 1;
    if (round === 4) return `done after ${JSON.stringify(ctx.inputResponses)}`;
    const params = { message: `Question ${round}?`, requestedSchema: empty as never };
    return inputRequired({ inputRequests: { q: { method: "elicitation/create", params } }, state: round });
  });
  const asked: string[] = [];
  const client = await connect(server, {
    onElicit: ({ message }) => {
      asked.push(message);
      return { action: "decline" };
    },
  });
  equal((await client.callTool("t")).text, 'done after {"q":{"action":"decline"}}');
  deepEqual(asked, ["Question 1?", "Question 2?", "Question 3?"]);
  const states = client.wire.requests("tools/call").map(({ params }) => params?.requestState);
  equal(new Set(states).size, 4);
});

verifies("mrtr:server:not-on-other-methods", modernChannels, async (world) => {
  const client = await AskedClient.open(
    world,
    new McpServer(me).tool("t", {}, () => "x"),
  );
  const { result } = await client.request("tools/list", { inputResponses: { q: {} }, requestState: "junk" });
  equal(((result?.tools ?? []) as unknown[]).length, 1);
});

/** Three questions, each depending on the answer before. */
function chained(options: ServerOptions = {}) {
  return new McpServer(me, options).tool("t", {}, async (_, ctx) => {
    const given: string[] = [];
    for (const index of [1, 2, 3]) {
      const answer = await ctx.elicit(`${index} after ${given.join("")}?`, z.object({ say: z.string() }));
      if (answer.action !== "accept") return "stopped";
      given.push(answer.content.say);
    }
    return given.join("");
  });
}

verifies(
  ["mrtr:handler:sequential-answers", "mrtr:handler:stable-keys", "request-state:shared-keys"],
  modernChannels,
  async (world) => {
    const letters = ["a", "b", "c"];
    let requestState: unknown;
    let inputResponses: Record<string, unknown> | undefined;
    const runs = async () => {
      const sent = { name: "t", ...(requestState === undefined ? {} : { requestState, inputResponses }) };
      const answers = [];
      for (let instance = 0; instance < 2; instance++) {
        const client = await AskedClient.open(world, chained({ stateKeys: [key] }), { capabilities: FORM });
        answers.push((await client.request("tools/call", sent)).result ?? {});
      }
      return answers as [Record<string, unknown>, Record<string, unknown>];
    };
    for (const letter of letters) {
      const [one, two] = await runs();
      deepEqual(one.inputRequests, two.inputRequests);
      const [question] = Object.keys(one.inputRequests as object);
      requestState = two.requestState;
      inputResponses = { [question as string]: { action: "accept", content: { say: letter } } };
    }
    const [final] = await runs();
    deepEqual(final.content, [{ type: "text", text: "abc" }]);
  },
);

verifies("request-state:shared-keys", "a process of its own keeps to itself", modernChannels, async (world) => {
  const refusals: string[] = [];
  const options: ServerOptions = { onError: (error) => refusals.push((error as Error).message) };
  const first = await AskedClient.open(world, chained(options), { capabilities: FORM });
  const { requestState } = (await first.request("tools/call", { name: "t" })).result ?? {};
  const other = await AskedClient.open(world, chained(options), { capabilities: FORM });
  equal((await other.request("tools/call", { name: "t", requestState })).error?.code, -32602);
  match(refusals.join(), /stateKeys/);
  const stranger = new McpServer({ ...me, name: "another" }, { stateKeys: [key] }).tool("t", {}, () => "x");
  const shared = await AskedClient.open(world, chained({ stateKeys: [key] }), { capabilities: FORM });
  const minted = (await shared.request("tools/call", { name: "t" })).result?.requestState;
  const elsewhere = await AskedClient.open(world, stranger, { capabilities: FORM });
  equal((await elsewhere.request("tools/call", { name: "t", requestState: minted })).error?.code, -32602);
});

proves("request-state:shared-keys", {}, "keys that make no ring are refused", () => {
  throws(() => new McpServer(me, { stateKeys: [{ id: "k", secret: new Uint8Array(16) }] }), /32 bytes/);
  throws(() => new McpServer(me, { stateKeys: [key, key] }), /the key ".+" has the id or secret of another key/);
  throws(
    () => new McpServer(me, { stateKeys: [key, { ...key, id: "other" }] }),
    /the key "other" has the id or secret/,
  );
});

verifies("request-state:confidential", modernChannels, async (world) => {
  const server = new McpServer(me, { stateKeys: [key] }).tool("t", {}, () =>
    inputRequired({ inputRequests: { r: { method: "roots/list" } }, state: { secret: "hunter2" } }),
  );
  const client = await AskedClient.open(world, server, { capabilities: { roots: {} } });
  const tokens = [];
  for (let n = 0; n < 2; n++)
    tokens.push(String((await client.request("tools/call", { name: "t" })).result?.requestState));
  notEqual(tokens[0], tokens[1]);
  for (const token of tokens) {
    const decoded = token.split(".").map((part) => Buffer.from(part, "base64url").toString("latin1"));
    equal([token, ...decoded].join().includes("hunter2"), false);
  }
});

verifies("request-state:unexpected-checked", modernChannels, async (world) => {
  let ran = 0;
  const server = new McpServer(me).tool("t", {}, () => {
    ran++;
    return "x";
  });
  const client = await AskedClient.open(world, server);
  equal((await client.request("tools/call", { name: "t", requestState: "garbage" })).error?.code, -32602);
  equal(ran, 0);
  equal((await client.request("tools/call", { name: "t", requestState: null })).error, undefined);
});

verifies("request-state:legacy-loop", legacyWires, async ({ connect }) => {
  const server = new McpServer(me).tool("t", {}, (_, ctx) => {
    const round = ((ctx.requestState as { round: number } | undefined)?.round ?? 0) + 1;
    if (round === 3) return `after ${JSON.stringify(ctx.inputResponses)}`;
    return inputRequired({ inputRequests: { r: { method: "roots/list" } }, state: { round, secret: "hunter2" } });
  });
  const client = await connect(server, { roots: [{ uri: "file:///a" }] });
  equal((await client.callTool("t")).text, 'after {"r":{"roots":[{"uri":"file:///a"}]}}');
  equal(client.wire.serverRequests("roots/list").length, 2);
  for (const { text } of client.wire.frames) equal(/requestState|hunter2|input_required/.test(text), false);
});

verifies("mrtr:handler:stable-keys", "after a branch that an answer opened", modernChannels, async (world) => {
  const say = z.object({ say: z.string() });
  const make = () =>
    new McpServer(me, { stateKeys: [key] }).tool("t", {}, async (_, ctx) => {
      const given: string[] = [];
      const ask = async (question: string) => {
        const { content } = (await ctx.elicit(question, say)) as { content: { say: string } };
        given.push(`${question}${content.say}`);
        return content.say;
      };
      if ((await ask("more?")) === "yes") await ask("detail?");
      await ask("name?");
      await ask("sure?");
      return given.join();
    });
  const answers: Record<string, string> = { "detail?": "d", "name?": "n", "sure?": "s" };
  for (const more of ["yes", "no"]) {
    const keys: Record<string, Set<string>> = {};
    let sent: Record<string, unknown> = { name: "t" };
    for (;;) {
      // Each leg goes to two new instances.
      const [one, two] = await Promise.all(
        [make(), make()].map(async (server) => {
          const client = await AskedClient.open(world, server, { capabilities: FORM });
          return (await client.request("tools/call", sent)).result ?? {};
        }),
      );
      deepEqual(one?.inputRequests, two?.inputRequests);
      if (one?.resultType !== "input_required") {
        const branch = more === "yes" ? "detail?d," : "";
        deepEqual(one?.content, [{ type: "text", text: `more?${more},${branch}name?n,sure?s` }]);
        break;
      }
      const asked = Object.entries(one.inputRequests as Record<string, { params: { message: string } }>);
      const inputResponses: Record<string, unknown> = {};
      for (const [id, { params }] of asked) {
        keys[params.message] = (keys[params.message] ?? new Set()).add(id);
        inputResponses[id] = { action: "accept", content: { say: answers[params.message] ?? more } };
      }
      sent = { name: "t", requestState: one.requestState, inputResponses };
    }
    const all = Object.values(keys).flatMap((own) => [...own]);
    equal(new Set(all).size, Object.keys(keys).length);
  }
});

verifies("mrtr:handler:stale-answer-reasked", modernChannels, async (world) => {
  let message = "Old?";
  const server = new McpServer(me).tool("t", {}, async (_, ctx) => {
    return JSON.stringify(await ctx.elicit(message, z.object({ say: z.string() }), { key: "q" }));
  });
  const client = await AskedClient.open(world, server, { capabilities: FORM });
  const first = (await client.request("tools/call", { name: "t" })).result ?? {};
  message = "New?";
  const inputResponses = { q: { action: "accept", content: { say: "old" } } };
  const again =
    (await client.request("tools/call", { name: "t", inputResponses, requestState: first.requestState })).result ?? {};
  equal(again.resultType, "input_required");
  const asked = again.inputRequests as { q: { params: { message: string } } };
  equal(asked.q.params.message, "New?");
  const fresh = { q: { action: "accept", content: { say: "new" } } };
  const final = await client.request("tools/call", {
    name: "t",
    inputResponses: fresh,
    requestState: again.requestState,
  });
  match(JSON.stringify(final.result?.content), /new/);
});

verifies("mrtr:handler:legacy-association", "on the stream of its call", legacyHttp, async ({ connect }) => {
  const server = new McpServer(me).tool("t", {}, async (_, ctx) => (await ctx.elicit("?", empty)).action);
  const client = await connect(server, { onElicit: () => ({ action: "cancel" }) });
  equal((await client.callTool("t")).text, "cancel");
  const [post] = client.wire.exchanges.filter(
    ({ method, body }) => method === "POST" && body?.includes('"tools/call"'),
  );
  equal(post?.headers?.["content-type"], "text/event-stream");
  const [question, answer, ...more] = (post?.frames ?? []).filter(({ from }) => from === "server");
  equal(question?.message?.method, "elicitation/create");
  equal(answer?.message?.id, client.wire.requests("tools/call")[0]?.id);
  deepEqual(more, []);
});

verifies("mrtr:handler:legacy-association", "ends with its call", legacyWires, async ({ connect }) => {
  const asked = gate();
  const gone = gate<unknown>();
  const server = new McpServer(me).tool("t", {}, async (_, ctx) => (await ctx.elicit("?", empty)).action);
  const client = await connect(server, {
    onElicit: async (_, { signal }) => {
      asked.open();
      gone.open(await aborted(signal));
      return { action: "cancel" };
    },
  });
  const abort = new AbortController();
  const call = client.callTool("t", {}, { signal: abort.signal }).catch((reason: unknown) => reason);
  await asked.opened;
  abort.abort("enough");
  equal(await call, "enough");
  await gone.opened;
});

verifies("mrtr:client:leg-timeout", modernWires, async ({ connect }) => {
  const clock = new FakeClock();
  const slow = gate();
  const waiting = gate();
  const server = new McpServer(me).tool("t", {}, async (_, ctx) => {
    const answer = await ctx.elicit("?", empty);
    if (answer.action === "accept") {
      waiting.open();
      await slow.opened;
    }
    return answer.action;
  });
  let answer: ElicitResult = { action: "decline" };
  const client = await connect(server, {
    clock,
    timeoutMs: 1000,
    onElicit: async () => {
      clock.advance(10_000);
      return answer;
    },
  });
  equal((await client.callTool("t")).text, "decline");
  answer = { action: "accept", content: {} };
  const call = client.callTool("t").catch((error: unknown) => error);
  await waiting.opened;
  clock.advance(1000);
  equal(((await call) as { code: string }).code, "timeout");
  slow.open();
});

verifies("mrtr:handler:legacy-timeout", legacyWires, async ({ connect }) => {
  const clock = new FakeClock();
  const server = new McpServer(me, { clock, limits: { askTimeoutMs: 600_000 } }).tool("t", {}, async (_, ctx) => {
    return ctx.elicit("?", empty).then(
      ({ action }) => action,
      (error: { code: string }) => error.code,
    );
  });
  let waitMs = 120_000;
  const client = await connect(server, {
    onElicit: async () => {
      clock.advance(waitMs);
      return { action: "decline" };
    },
  });
  equal((await client.callTool("t")).text, "decline");
  waitMs = 600_000;
  equal((await client.callTool("t")).text, "timeout");
});

verifies("mrtr:handler:legacy-timeout", "signs of life extend it", legacyWires, async ({ connect }) => {
  const clock = new FakeClock();
  const server = new McpServer(me, { clock, limits: { askTimeoutMs: 1000 } }).tool("t", {}, async (_, ctx) => {
    let heard = gate();
    const question = ctx.elicit("?", empty, { onProgress: () => heard.open() }).then(
      ({ action }) => action,
      (error: { code: string }) => error.code,
    );
    for (let sign = 0; sign < 3; sign++) {
      await heard.opened;
      heard = gate();
      clock.advance(900);
      step.open();
      step = gate();
    }
    return question;
  });
  let step = gate();
  const client = await connect(server, {
    onElicit: async (_, { progress }) => {
      for (let sign = 1; sign <= 3; sign++) {
        const moved = step.opened;
        await progress(sign);
        await moved;
      }
      return { action: "decline" };
    },
  });
  equal((await client.callTool("t")).text, "decline");
});
