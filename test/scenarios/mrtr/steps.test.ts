import { deepEqual, equal, match } from "node:assert/strict";
import { type Context, inputRequired, McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import * as z from "zod";
import { eachWire, modernWires } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { accept, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const onElicit = () => ({ action: "accept" as const, content: { city: "Oslo" } });
const AGAIN = 'step "page" was already run in this call; give each step its own name';

/** Tools that use a name again, each in its own way. Each ends with the error, or with its value. */
const AGAIN_BY: Readonly<Record<string, (ctx: Context, ran: string[]) => Promise<unknown>>> = {
  loop: async (ctx, ran) => {
    const pages: string[] = [];
    for (const page of ["a", "b"])
      pages.push(
        await ctx.step("page", () => {
          ran.push(page);
          return page;
        }),
      );
    return pages;
  },
  "side by side": (ctx, ran) => Promise.all(["a", "b"].map((page) => ctx.step("page", async () => ran.push(page)))),
  "after a question": async (ctx, ran) => {
    await ctx.step("page", () => ran.push("a"));
    await ctx.elicit("Where?", FORM, { key: "where" });
    return ctx.step("page", () => ran.push("b"));
  },
};

for (const [title, handler] of Object.entries(AGAIN_BY)) {
  verifies("mrtr:handler:step-names", `used again: ${title}`, eachWire, async ({ connect }) => {
    const ran: string[] = [];
    const server = new McpServer(me, { onError: () => {} }).tool("t", {}, (_, ctx) => handler(ctx, ran));
    const client = await connect(server, { onElicit });
    const { isError, text } = await client.callTool("t");
    deepEqual([isError, text, ran], [true, AGAIN, ["a"]]);
  });

  verifies("mrtr:handler:step-names", `used again in a task: ${title}`, modernWires, async (world, t) => {
    const ran: string[] = [];
    const server = new McpServer(me, { onError: () => {} })
      .tool("t", { task: "optional" }, (_, ctx) => handler(ctx, ran))
      .extend(tasks());
    const client = await taskClient(world, server, t, { elicitation: {} });
    const taskId = await client.start("t");
    const { status } = await client.until(taskId, "input_required", "completed");
    if (status === "input_required") await client.update(taskId, { where: accept({ city: "Oslo" }) });
    const { result } = await client.until(taskId, "completed");
    deepEqual([result?.isError, result?.content?.[0]?.text, ran], [true, AGAIN, ["a"]]);
  });
}

verifies("mrtr:handler:step-names", "used again after the call has become a task", modernWires, async (world, t) => {
  const clock = new FakeClock();
  const [begun, open] = [gate(), gate()];
  const ran: string[] = [];
  const server = new McpServer(me, { clock, onError: () => {} })
    .tool("t", { task: { promoteAfterMs: 100 } }, async (_, ctx) => {
      await ctx.step("page", () => ran.push("a"));
      begun.open();
      await open.opened;
      return ctx.step("page", () => ran.push("b"));
    })
    .extend(tasks());
  const client = await taskClient(world, server, t);
  const call = client.call("t");
  await begun.opened;
  clock.advance(100);
  const taskId = String((await call).result?.taskId);
  open.open();
  const { result } = await client.until(taskId, "completed");
  deepEqual([result?.isError, result?.content?.[0]?.text, ran], [true, AGAIN, ["a"]]);
});

verifies("mrtr:handler:step-names", "run again is no second use", eachWire, async ({ connect }) => {
  let ran = 0;
  const server = new McpServer(me)
    .tool("asks", {}, async (_, ctx) => {
      const pages = [await ctx.step("page 1", () => ++ran), await ctx.step("page 2", () => ++ran)];
      const { content } = await ctx.elicit("Where?", FORM);
      return `${pages} ${content?.city}`;
    })
    .tool("returns", {}, async (_, ctx) => {
      const page = await ctx.step("page", () => ++ran);
      if (ctx.inputResponses !== undefined) return `page ${page}`;
      const params = { mode: "form" as const, message: "Where?", requestedSchema: { ...FORM, required: ["city"] } };
      return inputRequired({ inputRequests: { where: { method: "elicitation/create", params } } });
    });
  const client = await connect(server, { onElicit });
  equal((await client.callTool("asks")).text, "1,2 Oslo");
  equal((await client.callTool("returns")).text, "page 3");
});

verifies("mrtr:handler:step-names", "a step that has failed may run again", eachWire, async ({ connect }) => {
  let tries = 0;
  const server = new McpServer(me).tool("t", {}, async (_, ctx) => {
    const dial = () =>
      ctx.step("dial", () => {
        if (++tries === 1) throw new Error("busy");
        return tries;
      });
    return String(await dial().catch(dial));
  });
  const client = await connect(server);
  equal((await client.callTool("t")).text, "2");
});

class Ship {
  readonly name = "Vasa";
}
const cycle: { self?: unknown } = {};
cycle.self = [cycle];

/** Values that are not the same after they were read as JSON, with the words that name the part. */
const NOT_JSON: readonly (readonly [value: unknown, words: string])[] = [
  [new Map([["a", 1]]), "it is a Map"],
  [{ users: [new Set()] }, "/users/0 is a Set"],
  [{ at: new Date(0) }, "/at is a Date"],
  [{ go() {} }, "/go is a function"],
  [{ n: 1n }, "/n is a bigint"],
  [[1, undefined], "/1 is undefined"],
  [new Ship(), "it is a Ship"],
  [cycle, "/self/0 contains itself"],
  [{ "a/b": Number.NaN }, "/a~1b is NaN"],
  [Number.POSITIVE_INFINITY, "it is Infinity"],
  [new Uint8Array(2), "it is a Uint8Array (bytes: use base64)"],
];

verifies("mrtr:handler:step-values", "of which JSON is another", eachWire, async ({ connect }) => {
  const reports: unknown[] = [];
  const server = new McpServer(me, { onError: (error) => reports.push(error) }).tool(
    "t",
    { input: z.object({ which: z.int() }) },
    ({ which }, ctx) => ctx.step("read", () => NOT_JSON[which]?.[0]),
  );
  const client = await connect(server);
  for (const [which, [, words]] of NOT_JSON.entries()) {
    const { isError, text } = await client.callTool("t", { which });
    equal(isError, true, words);
    equal(text.startsWith(`the value of step "read" is not JSON: ${words}; return `), true, text);
  }
  equal(reports.length, NOT_JSON.length);
});

verifies("mrtr:handler:step-values", "of which JSON is another, in a task", modernWires, async (world, t) => {
  let ran = 0;
  const server = new McpServer(me, { onError: () => {} }).extend(tasks()).tool("t", { task: "optional" }, (_, ctx) => {
    return ctx.step("read", () => {
      ran++;
      return { at: new Date(0) };
    });
  });
  const client = await taskClient(world, server, t);
  const { result } = await client.until(await client.start("t"), "completed");
  match(String(result?.content?.[0]?.text), /^the value of step "read" is not JSON: \/at is a Date; return /);
  deepEqual([result?.isError, ran], [true, 1]);
});

/** Changes the value of a step in each run, and returns it as it was. */
async function change(_: unknown, ctx: Context): Promise<string> {
  const ships: string[] = await ctx.step("ships", () => ["Vasa"]);
  const nothing = await ctx.step("nothing", () => {});
  const bare = await ctx.step("bare", () => ({ name: undefined, length: 69 }));
  const before = JSON.stringify(ships);
  ships.push("Mars");
  await ctx.elicit("Where?", FORM, { key: "where" });
  return `${before} ${nothing} ${Object.keys(bare)}`;
}

verifies("mrtr:handler:step-values", "are alike in each run", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("t", {}, change), { onElicit });
  equal((await client.callTool("t")).text, '["Vasa"] null length');
});

verifies("mrtr:handler:step-values", "are alike in each run of a task", modernWires, async (world, t) => {
  const server = new McpServer(me).tool("t", { task: "optional" }, change).extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const taskId = await client.start("t");
  await client.until(taskId, "input_required");
  await client.update(taskId, { where: accept({ city: "Oslo" }) });
  equal(await client.text(taskId), '["Vasa"] null length');
});
