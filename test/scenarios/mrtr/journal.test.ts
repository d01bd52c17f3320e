import { deepEqual, equal, match } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Context, inputRequired, McpServer, type ServerOptions, ToolError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { FakeClock } from "bowline/testing";
import { eachWire, modernWires, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import type { Message } from "../../support/raw-client.js";
import { accept, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "journal", version: "1" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const STATE_KEYS = [{ id: "k", secret: new Uint8Array(32) }];

/** Handler of a test. It notes what runs, and calls `slowly` where a call may take long enough to become a task. */
type Handler = (ctx: Context, ran: string[], slowly: () => Promise<void>) => Promise<unknown>;

interface Told {
  readonly text: unknown;
  /** What has run, in order. */
  readonly ran: readonly string[];
  /** Messages of the questions, in order. */
  readonly asked: readonly string[];
}

/** Answer to a form: a city that names the question. */
const cityOf = (message: string) => ({ city: `city ${message}` });

/** Runs the handler in an ordinary call. */
async function inCall({ connect }: Pick<World, "connect">, handler: Handler): Promise<Told> {
  const ran: string[] = [];
  const asked: string[] = [];
  const server = new McpServer(me, { onError: () => {} }).tool("t", (_, ctx) => handler(ctx, ran, async () => {}));
  const client = await connect(server, {
    onElicit: ({ message }) => {
      asked.push(message);
      return { action: "accept", content: cityOf(message) };
    },
  });
  const { text } = await client.callTool("t");
  return { text, ran, asked };
}

/** Runs the handler as a task, at once or after `rounds` of its call. */
async function inTask(world: World, t: TestContext, handler: Handler, rounds?: number): Promise<Told> {
  const ran: string[] = [];
  const asked: string[] = [];
  const clock = new FakeClock();
  const [reached, open] = [gate(), gate()];
  let round = 0;
  const slowly = async () => {
    if (round !== rounds) return;
    reached.open();
    await open.opened;
  };
  const options = { clock, stateKeys: STATE_KEYS, onError: () => {} } satisfies ServerOptions;
  const task = rounds === undefined ? "required" : { promoteAfterMs: 100 };
  const server = new McpServer(me, options).tool("t", { task }, (_, ctx) => handler(ctx, ran, slowly)).extend(tasks());
  const client = await taskClient(world, server, t, { elicitation: {} });
  const answers = (requests: Message) =>
    Object.fromEntries(
      Object.entries(requests).map(([key, request]) => {
        const { message } = (request as { readonly params: { readonly message: string } }).params;
        asked.push(message);
        return [key, accept(cityOf(message))];
      }),
    );
  let params: Message = {};
  let result: Message | undefined;
  for (round = 1; ; round++) {
    const call = client.call("t", {}, params);
    if (round === rounds) {
      await reached.opened;
      clock.advance(100);
    }
    result = (await call).result;
    if (result?.resultType !== "input_required") break;
    params = { inputResponses: answers(result.inputRequests as Message), requestState: result.requestState };
  }
  equal(result?.resultType, "task", JSON.stringify(result));
  open.open();
  const taskId = String(result?.taskId);
  for (;;) {
    const task = await client.until(taskId, "input_required", "completed", "failed");
    if (task.status !== "input_required")
      return { text: task.result?.content?.[0]?.text ?? task.error?.message, ran, asked };
    await client.update(taskId, answers(task.inputRequests as Message));
  }
}

const ask = async (ctx: Context, message: string) => (await ctx.elicit(message, FORM)).content?.city;

/** A step and a question that are parts of a step. */
const nested: Handler = async (ctx, ran, slowly) => {
  const order = await ctx.step("order", async () => {
    ran.push("order");
    const price = await ctx.step("price", async () => {
      ran.push("price");
      await ctx.step("currency", () => ran.push("currency"));
      return 7;
    });
    return `${price} ${await ask(ctx, "from")}`;
  });
  await slowly();
  const to = await ask(ctx, "to");
  await ctx.step("mail", () => ran.push("mail"));
  return `${order} ${to} ${await ask(ctx, "why")}`;
};
const NESTED = { text: "7 city from city to city why", asked: ["from", "to", "why"] };
const once = (ran: readonly string[]) => ran.filter((name) => name !== "order");

verifies("mrtr:handler:step-parts", "of an ordinary call", eachWire, async (world) => {
  const { ran, ...told } = await inCall(world, nested);
  deepEqual([told, once(ran)], [NESTED, ["price", "currency", "mail"]]);
});

for (const rounds of [undefined, 2, 3])
  verifies(
    "mrtr:handler:step-parts",
    `of a task ${rounds === undefined ? "from the start" : `from round ${rounds}`}`,
    modernWires,
    async (world, t) => {
      const { ran, ...told } = await inTask(world, t, nested, rounds);
      deepEqual([told, once(ran)], [NESTED, ["price", "currency", "mail"]]);
    },
  );

/** A step that fails, runs parts before, and is not tried again. */
const failing: Handler = async (ctx, ran, slowly) => {
  let way = "";
  for (const name of ["fax", "telex"])
    try {
      way += await ctx.step(name, async () => {
        await ctx.step(`dial ${name}`, () => ran.push(`dial ${name}`));
        ran.push(name);
        throw new ToolError(`${name} is busy ${ran.length}`);
      });
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      way += `${error.message}, `;
    }
  await slowly();
  return `${way}${await ask(ctx, "where")} ${await ask(ctx, "when")}`;
};
const FAILED = {
  text: "fax is busy 2, telex is busy 4, city where city when",
  ran: ["dial fax", "fax", "dial telex", "telex"],
  asked: ["where", "when"],
};

verifies("mrtr:handler:step-failures", "of an ordinary call", eachWire, async (world) => {
  deepEqual(await inCall(world, failing), FAILED);
});

for (const rounds of [undefined, 1, 2])
  verifies(
    "mrtr:handler:step-failures",
    `of a task ${rounds === undefined ? "from the start" : `from round ${rounds}`}`,
    modernWires,
    async (world, t) => {
      deepEqual(await inTask(world, t, failing, rounds), FAILED);
    },
  );

verifies("mrtr:handler:step-failures", "of a handler that returns its questions", eachWire, async (world) => {
  const params = { mode: "form" as const, message: "where", requestedSchema: { ...FORM, required: ["city"] } };
  const told = await inCall(world, async (ctx, ran) => {
    const dial = () =>
      ctx.step("dial", () => {
        ran.push("dial");
        if (ran.length < 3) throw new ToolError(`busy ${ran.length}`);
        return ran.length;
      });
    const heard: string[] = [];
    const note = (error: Error) => void heard.push(error.message);
    const line = (await dial().catch(note)) ?? (await dial().catch(note)) ?? (await dial());
    if (ctx.inputResponses === undefined)
      return inputRequired({ inputRequests: { where: { method: "elicitation/create", params } } });
    return `${heard} ${line}`;
  });
  deepEqual(told, { text: "busy 1,busy 2 3", ran: ["dial", "dial", "dial"], asked: ["where"] });
});

/** Two questions with one key, with another question between them. */
const twice: Handler = async (ctx, _ran, slowly) => {
  await ctx.elicit("from", FORM, { key: "city" });
  await slowly();
  await ask(ctx, "between");
  return ctx.elicit("to", FORM, { key: "city" });
};
const TWICE = 'two questions have the key "city"; give each its own';

verifies("mrtr:handler:question-keys", "of an ordinary call", eachWire, async (world) => {
  const { text, asked } = await inCall(world, twice);
  match(String(text), new RegExp(TWICE));
  deepEqual(asked, ["from", "between"]);
});

for (const rounds of [undefined, 2])
  verifies(
    "mrtr:handler:question-keys",
    `of a task ${rounds === undefined ? "from the start" : `from round ${rounds}`}`,
    modernWires,
    async (world, t) => {
      const { text, asked } = await inTask(world, t, twice, rounds);
      match(String(text), new RegExp(TWICE));
      deepEqual(asked, ["from", "between"]);
    },
  );
