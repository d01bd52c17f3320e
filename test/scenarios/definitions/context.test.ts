import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { connect, type RpcError } from "bowline/client";
import { type AuthInfo, type Caller, type Context, McpServer } from "bowline/server";
import { createChannelPair, FakeClock, WireRecorder } from "bowline/testing";
import { eachWire } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const HELPERS = ["progress", "log", "elicit", "elicitUrl", "sample", "listRoots", "step"] as const;

verifies("mcpserver:tool:extra", eachWire, async ({ connect: dial, era, transport }) => {
  const seen: Record<string, unknown>[] = [];
  const look = (ctx: Context) => {
    seen.push({
      id: ctx.requestId,
      method: ctx.method,
      aborted: ctx.signal.aborted,
      mine: ctx.meta?.["example.com/mine"],
      version: ctx.client.version,
      name: ctx.client.info?.name,
      elicits: ctx.client.capabilities.elicitation !== undefined,
      auth: ctx.auth,
      header: ctx.header("X-Mine"),
      helpers: HELPERS.every((name) => typeof ctx[name] === "function"),
    });
    return "";
  };
  const server = new McpServer(me)
    .tool("t", {}, (_, ctx) => look(ctx))
    .prompt("p", { complete: { a: (_, ctx) => [look(ctx)] } }, (_, ctx) => look(ctx))
    .resource("r://1", { name: "r" }, (_, ctx) => look(ctx));
  const client = await dial(server, {
    info: { name: "asker", version: "2" },
    headers: { "x-mine": "yes" },
    onElicit: () => ({ action: "cancel" }),
  });
  const meta = { "example.com/mine": 7 };
  await client.callTool("t", {}, { meta });
  await client.getPrompt("p", undefined, { meta });
  await client.readResource("r://1", { meta });
  await client.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" }, undefined, { meta });
  const methods = ["tools/call", "prompts/get", "resources/read", "completion/complete"];
  deepEqual(
    seen,
    methods.map((method) => ({
      id: client.wire.requests(method)[0]?.id,
      method,
      aborted: false,
      mine: 7,
      version: era === "modern" ? "2026-07-28" : "2025-11-25",
      name: "asker",
      elicits: true,
      auth: undefined,
      header: transport === "node" || transport === "fetch" ? "yes" : undefined,
      helpers: true,
    })),
  );
  const plain = await dial(server);
  await plain.callTool("t");
  equal(seen.at(-1)?.elicits, false);
  await client.callTool("t");
  equal(seen.at(-1)?.elicits, true);
});

for (const era of ["modern", "legacy"] as const) {
  /** A client whose calls come with this authorization. */
  const dial = async (t: { after(work: () => unknown): void }, server: McpServer, auth: AuthInfo | undefined) => {
    const [ours, theirs] = createChannelPair();
    await server.accept(theirs, { auth });
    const wire = new WireRecorder();
    const client = await connect({ channel: wire.channel(ours) }, { era });
    t.after(() => client.close());
    return Object.assign(client, { wire });
  };

  proves("mcpserver:tool:extra", { wire: `${era}-memory` }, "with what a gate found out", async (t) => {
    const server = new McpServer(me);
    server.tool("who", {}, (_, ctx) => ctx.auth?.subject ?? "nobody");
    const client = await dial(t, server, { subject: "ada" });
    equal((await client.callTool("who")).text, "ada");
  });

  proves(
    [
      "tools:list:by-authorization",
      "caching:access-control-independent",
      "caching:config:authorization-filtered-private",
    ],
    { wire: `${era}-memory` },
    "what a caller may not see it may not use, whatever it has cached",
    async (t) => {
      const admin = { requires: { scopes: ["admin"] } };
      const asyncAdmin = {
        visible: async (caller: Caller) => caller.auth?.scopes?.includes("admin") === true,
      };
      const server = new McpServer(me, { pageSize: 1, cache: { ttlMs: 60_000, scope: "public" } });
      server
        .tool("open", {}, () => "open")
        .tool("closed", admin, () => "closed")
        .prompt("open", {}, () => "open")
        .prompt("closed", asyncAdmin, () => "closed")
        .resource("r://open", { name: "open" }, () => "open")
        .resource("r://closed", { name: "closed", ...asyncAdmin }, () => "closed")
        .resource(
          "f://{id}",
          { name: "family", ...admin, list: () => [{ uri: "f://1", name: "one" }] },
          () => "closed",
        );
      const root = await dial(t, server, { scopes: ["admin", "read"] });
      const user = await dial(t, server, { scopes: ["read"] });
      const names = async (client: typeof root) => [
        (await client.tools().all()).map(({ name }) => name),
        (await client.prompts().all()).map(({ name }) => name),
        (await client.resources().all()).map(({ name }) => name),
        (await client.resourceTemplates().all()).map(({ name }) => name),
      ];
      for (let round = 0; round < 2; round++) {
        deepEqual(await names(root), [["open", "closed"], ["open", "closed"], ["open", "closed", "one"], ["family"]]);
        deepEqual(await names(user), [["open"], ["open"], ["open"], []]);
        equal((await root.callTool("closed")).text, "closed");
        // A hidden item and one that does not exist fail alike.
        const failsAsUnknown = async (call: (name: string) => Promise<unknown>, hidden: string, unknown: string) => {
          const failure = (await call(unknown).catch((error: unknown) => error)) as RpcError;
          const alike = JSON.stringify([failure.rpcCode, failure.message, failure.data]).replaceAll(unknown, hidden);
          await rejects(call(hidden), (error: RpcError) => {
            equal(JSON.stringify([error.rpcCode, error.message, error.data]), alike);
            return true;
          });
          return failure.rpcCode;
        };
        const missing = era === "modern" ? -32602 : -32002;
        equal(await failsAsUnknown((name) => user.callTool(name), "closed", "nowhere"), -32602);
        equal(await failsAsUnknown((name) => user.getPrompt(name), "closed", "nowhere"), -32602);
        equal(await failsAsUnknown((uri) => user.readResource(uri), "r://closed", "r://nowhere"), missing);
        equal(await failsAsUnknown((uri) => user.readResource(uri), "f://1", "g://1"), missing);
        equal((await root.readResource("f://1")).contents.length, 1);
      }
      if (era === "legacy") return;
      for (const method of ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]) {
        const pages = root.wire.responsesTo(method).map(({ result }) => result?.cacheScope);
        ok(pages.length > 0 && pages.every((scope) => scope === "private"), method);
      }
      const unfiltered = new McpServer(me, { cache: { scope: "public" } });
      unfiltered.tool("open", {}, () => "");
      const client = await dial(t, unfiltered, undefined);
      equal((await client.listTools()).cacheScope, "public");
    },
  );
}

verifies(
  "tools:call:progress",
  "what a generator yields is shown, with its content",
  eachWire,
  async ({ connect: dial }) => {
    const cleaned: string[] = [];
    const server = new McpServer(me)
      .tool("report", {}, async function* () {
        yield "one";
        yield { type: "image" as const, data: "AAEC", mimeType: "image/png" };
        return "the end";
      })
      .tool("parts", {}, async function* () {
        yield "a";
        yield "b";
      })
      .tool("stopped", {}, async function* (_, ctx) {
        try {
          yield "begun";
          await new Promise((_resolve, reject) =>
            ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)),
          );
        } finally {
          cleaned.push("stopped");
          done.open();
        }
      });
    const done = gate();
    const client = await dial(server);
    const seen: unknown[] = [];
    const { text } = await client.callTool("report", {}, { onProgress: (progress) => seen.push(progress) });
    equal(text, "the end");
    deepEqual(seen, [
      { progress: 1, message: "one", content: [{ type: "text", text: "one" }] },
      { progress: 2, content: [{ type: "image", data: "AAEC", mimeType: "image/png" }] },
    ]);
    equal((await client.callTool("parts")).text, "a\nb");
    const abort = new AbortController();
    const call = client.callTool("stopped", {}, { signal: abort.signal, onProgress: () => abort.abort("enough") });
    await rejects(call, (reason) => reason === "enough");
    await done.opened;
    deepEqual(cleaned, ["stopped"]);
  },
);

verifies(
  "tools:call:concurrent",
  "no more than a tool allows, in the order they came",
  eachWire,
  async ({ connect: dial }) => {
    const doors = [gate(), gate(), gate(), gate()];
    const began: number[] = [];
    const entered = [gate(), gate(), gate(), gate()];
    const server = new McpServer(me)
      .tool("slow", { input: { type: "object" }, concurrency: 2 }, async ({ n }) => {
        began.push(n as number);
        entered[n as number]?.open();
        await doors[n as number]?.opened;
        return `${String(n)}`;
      })
      .tool("other", {}, () => "not held up");
    const client = await dial(server);
    const call = (n: number, signal?: AbortSignal) => client.callTool("slow", { n }, { signal });
    const first = [call(0), call(1)];
    await Promise.all([entered[0]?.opened, entered[1]?.opened]);
    const givenUp = new AbortController();
    const third = call(2, givenUp.signal);
    equal((await client.callTool("other")).text, "not held up");
    const fourth = call(3);
    equal((await client.callTool("other")).text, "not held up");
    deepEqual(began.toSorted(), [0, 1]);
    givenUp.abort("tired");
    await rejects(third, (reason) => reason === "tired");
    equal((await client.callTool("other")).text, "not held up");
    for (const door of doors) door.open();
    equal((await fourth).text, "3");
    deepEqual(await Promise.all(first.map(async (one) => (await one).text)), ["0", "1"]);
    deepEqual(began.toSorted(), [0, 1, 3]);
  },
);

verifies(
  "mcpserver:tool:handler-throws",
  "a tool that takes too long fails, and hears of it",
  eachWire,
  async ({ connect: dial }) => {
    const clock = new FakeClock();
    const began = gate();
    const heard = gate<unknown>();
    const server = new McpServer(me, { clock, onError: () => {} })
      .tool("slow", { timeoutMs: 50 }, async (_, ctx) => {
        ctx.signal.addEventListener("abort", () => heard.open(ctx.signal.reason));
        began.open();
        await new Promise(() => {});
      })
      .tool("quick", { timeoutMs: 50 }, () => "in time");
    const client = await dial(server);
    equal((await client.callTool("quick")).text, "in time");
    const call = client.callTool("slow");
    await began.opened;
    clock.advance(50);
    const outcome = await call;
    equal(outcome.isError, true);
    equal(outcome.text, "Tool slow took longer than 50 ms (timeoutMs)");
    ok((await heard.opened) instanceof Error);
  },
);
