import { equal, match } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { type Context, McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { aborted, gate } from "../../../support/gate.js";

/** A tool whose time is over while the client has not answered its question: the client is told so. */
async function overtaken(t: TestContext, ask: (ctx: Context) => Promise<unknown>) {
  const clock = new FakeClock();
  const asked = gate<AbortSignal>();
  const server = new McpServer({ name: "slow", version: "1" }, { clock });
  server.tool("ask", { timeoutMs: 1000 }, async (_, ctx) => JSON.stringify(await ask(ctx)));
  const never = (_params: unknown, { signal }: { readonly signal: AbortSignal }) => {
    asked.open(signal);
    return new Promise<never>(() => {});
  };
  const client = await connect(server, { era: "legacy", onElicit: never, methods: { "com.example/ask": never } });
  t.after(() => client.close());
  const call = client.callTool("ask");
  const signal = await asked.opened;
  clock.advance(1000);
  const { isError, text } = await call;
  equal(isError, true);
  match(text, /took longer than 1000 ms/);
  await aborted(signal);
  equal(clock.pending, 0);
}

test("a question ends with the time of the tool that asks", (t) =>
  overtaken(t, (ctx) => ctx.elicit("Name?", { type: "object", properties: { name: { type: "string" } } })));

test("a question with a signal of its own ends with the time of the tool too", (t) =>
  overtaken(t, (ctx) => {
    const { signal } = new AbortController();
    return ctx.elicit("Name?", { type: "object", properties: { name: { type: "string" } } }, { signal });
  }));

test("a request of the author's own ends with the time of the tool that makes it", (t) =>
  overtaken(t, (ctx) => ctx.request("com.example/ask")));
