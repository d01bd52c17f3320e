import { deepEqual, equal, match } from "node:assert/strict";
import { type Context, type McpServer, RpcError, ToolError, UrlElicitationRequiredError } from "bowline/server";
import { gate } from "../../support/gate.js";
import { accept } from "../../support/task-client.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves } from "../../support/verifies.js";

const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const OSLO = { where: accept({ city: "Oslo" }) };
const ENDED = ["completed", "failed", "cancelled"];

const where = async (ctx: Context) => (await ctx.elicit("Where?", FORM, { key: "where" })).content?.city;

/** Runs a task up to its question, answers it, and returns the task after its end. */
async function answered(
  t: ConstructorParameters<typeof TaskNodes>[0],
  restartable: boolean,
  handler: (ctx: Context) => Promise<unknown>,
) {
  const world = new TaskNodes(t);
  const { client } = world.node((server) => {
    server.tool("t", { task: { restartable } }, (_: unknown, ctx: Context) => handler(ctx));
  });
  const taskId = await client.start("t");
  await world.until("the question is open", async () => (await client.get(taskId)).status === "input_required");
  await client.update(taskId, OSLO);
  await world.until("the task has ended", async () => ENDED.includes((await client.get(taskId)).status));
  return client.get(taskId);
}

for (const restartable of [false, true])
  proves(
    "tasks-ext:lifecycle:steps-once",
    {},
    `a step whose failure was caught fails alike after an answer: ${restartable ? "" : "not "}restartable`,
    async (t) => {
      let faxed = 0;
      const task = await answered(t, restartable, async (ctx) => {
        const fax = () => {
          faxed++;
          throw new RpcError(-31_001, "busy line", { line: faxed });
        };
        let way = "fax";
        try {
          await ctx.step("fax", fax);
        } catch (error) {
          if (!(error instanceof RpcError)) throw error;
          way = `mail (${error.rpcCode} ${error.message} ${JSON.stringify(error.data)})`;
        }
        return `${way} to ${await where(ctx)}`;
      });
      equal(task.status, "completed", JSON.stringify(task));
      equal(task.result?.content?.[0]?.text, 'mail (-31001 busy line {"line":1}) to Oslo');
      equal(faxed, 1);
    },
  );

proves("tasks-ext:lifecycle:steps-once", {}, "a step that is tried again takes its outcomes in order", async (t) => {
  let faxed = 0;
  const caught: string[][] = [];
  const task = await answered(t, false, async (ctx) => {
    const failures: string[] = [];
    caught.push(failures);
    let line: number | undefined;
    while (line === undefined)
      try {
        line = await ctx.step("fax", () => {
          if (++faxed < 3) throw new ToolError(`busy ${faxed}`);
          return faxed;
        });
      } catch (error) {
        if (!(error instanceof ToolError)) throw error;
        failures.push(error.message);
      }
    return `line ${line} to ${await where(ctx)}`;
  });
  equal(task.result?.content?.[0]?.text, "line 3 to Oslo", JSON.stringify(task));
  equal(faxed, 3);
  deepEqual(caught, [
    ["busy 1", "busy 2"],
    ["busy 1", "busy 2"],
  ]);
});

proves(
  "tasks-ext:lifecycle:steps-once",
  {},
  "a step that has failed and is gone is a change of the tool",
  async (t) => {
    let runs = 0;
    const task = await answered(t, false, async (ctx) => {
      const name = ++runs === 1 ? "fax" : "telex";
      await ctx.step(name, () => Promise.reject(new Error("busy"))).catch(() => {});
      return where(ctx);
    });
    equal(task.status, "failed");
    deepEqual(task.error?.data, { code: "definition_changed" });
    match(String(task.error?.message), /the step fax/);
  },
);

proves("tasks-ext:lifecycle:steps-once", {}, "a step that waits for the user runs again", async (t) => {
  const world = new TaskNodes(t);
  let tried = 0;
  const { client } = world.node(
    (server) =>
      void server.tool("t", { task: "optional" }, (_: unknown, ctx: Context) =>
        ctx.step("login", () => {
          if (++tried > 1) return "in";
          throw new UrlElicitationRequiredError([
            { elicitationId: "e", message: "Log in", url: "https://example.com/login" },
          ]);
        }),
      ),
    { capabilities: { elicitation: { url: {} } } },
  );
  const taskId = await client.start("t");
  await world.until("the question is open", async () => (await client.get(taskId)).status === "input_required");
  await client.update(taskId, { e: { action: "accept" } });
  await world.until("the task has ended", async () => ENDED.includes((await client.get(taskId)).status));
  equal(await client.text(taskId), "in");
});

proves("tasks-ext:lifecycle:worker-lost", {}, "a step that had begun must be asked for again", async (t) => {
  const world = new TaskNodes(t);
  const ran: string[] = [];
  const begun = gate();
  const define = (name: string, work: () => unknown) => (server: McpServer) =>
    void server.tool("t", { task: { restartable: true } }, (_: unknown, ctx: Context) =>
      ctx.step(name, () => {
        ran.push(name);
        return work();
      }),
    );
  const never = new Promise<never>(() => {});
  const one = world.node(
    define("pay", () => {
      begun.open();
      return never;
    }),
  );
  const taskId = await one.client.start("t");
  await begun.opened;
  world.state.cut(one.cluster);
  const two = world.node(define("charge", () => "charged"));
  await world.until("the task has ended", async () => ENDED.includes((await two.client.get(taskId)).status));
  deepEqual((await two.client.get(taskId)).error?.data, { code: "definition_changed" });
  deepEqual(ran, ["pay"], "the renamed step does not run");
});

proves("tasks-ext:lifecycle:steps-once", {}, "a server that closes records the step under way", async (t) => {
  const world = new TaskNodes(t);
  const ran: string[] = [];
  const end = gate();
  const define = (name: string) => (server: McpServer) =>
    void server.tool("t", { task: { restartable: true } }, (_: unknown, ctx: Context) =>
      ctx.step("make", async () => {
        ran.push(name);
        await end.opened;
        return name;
      }),
    );
  const one = world.node(define("one"));
  const taskId = await one.client.start("t");
  await world.until("the step runs", () => ran.length === 1);
  const two = world.node(define("two"));
  await one.server.close();
  await world.pass(1_000);
  end.open();
  await world.until("the task has ended", async () => ENDED.includes((await two.client.get(taskId)).status));
  equal(await two.client.text(taskId), "one");
  deepEqual(ran, ["one"]);
});

for (const task of [{ ttlMs: 600_000 }, { promoteAfterMs: 100 }])
  proves(
    "tasks-ext:get:completed",
    {},
    `a step that never ends does not hold back the outcome: ${Object.keys(task)}`,
    async (t) => {
      const world = new TaskNodes(t);
      const { client, extension } = world.node((server) => {
        server.tool("slow", { task, timeoutMs: 1_000 }, (_: unknown, ctx: Context) =>
          ctx.step("hang", () => new Promise<never>(() => {})),
        );
      });
      let taskId: string | undefined;
      const called = client.call("slow").then(({ result }) => {
        taskId = String(result?.taskId);
      });
      await world.until("the call is a task", () => taskId !== undefined);
      await called;
      const get = () => client.get(String(taskId));
      await world.until("the task has ended", async () => (await get()).status !== "working");
      const { status, result } = await get();
      equal(status, "completed");
      equal(result?.isError, true);
      await world.until("the run has ended", () => extension.running === 0);
    },
  );

for (const ending of ["recorded", "cancelled"])
  proves(
    "tasks-ext:lifecycle:no-worker-waits",
    {},
    `a step beside a question is waited for until it is ${ending}`,
    async (t) => {
      const world = new TaskNodes(t);
      const end = gate<string>();
      const asked = gate();
      let made = 0;
      const { client, extension } = world.node((server) => {
        server.tool("t", { task: "optional" }, async (_: unknown, ctx: Context) => {
          const make = () => {
            made++;
            return end.opened;
          };
          const ask = async () => {
            await ctx.step("first", () => 1);
            return where(ctx).finally(asked.open);
          };
          const [step, city] = await Promise.all([ctx.step("make", make), ask()]);
          return `${step} ${city}`;
        });
      });
      const taskId = await client.start("t");
      await asked.opened;
      await world.pass(1_000);
      equal(made, 1);
      equal((await client.get(taskId)).status, "working");
      equal(extension.running, 1);
      if (ending === "cancelled") {
        await client.cancel(taskId);
        await world.until("the run has ended", () => extension.running === 0);
        return;
      }
      end.open("made");
      await world.until("the question is open", async () => (await client.get(taskId)).status === "input_required");
      await client.update(taskId, OSLO);
      await world.until("the task has ended", async () => ENDED.includes((await client.get(taskId)).status));
      equal(await client.text(taskId), "made Oslo");
      equal(made, 1);
    },
  );
