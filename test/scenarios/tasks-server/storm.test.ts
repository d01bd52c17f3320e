import { deepEqual, equal } from "node:assert/strict";
import type { Context, McpServer } from "bowline/server";
import { Seeded } from "../../support/seeded.js";
import { accept } from "../../support/task-client.js";
import { type TaskNode, TaskNodes } from "../../support/task-nodes.js";
import { proves } from "../../support/verifies.js";

const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const INPUT = { type: "object", properties: { n: { type: "string" } } } as const;
const TASKS = 30;
const MODES = { task: {}, promoted: { promoteAfterMs: 200 } } as const;

for (const seed of [1, 22, 333])
  proves(
    ["tasks-ext:lifecycle:worker-lost", "tasks-ext:lifecycle:steps-once"],
    {},
    `tasks end once, and no step that is done runs again, while nodes are cut off (seed ${seed})`,
    async (t) => {
      const world = new TaskNodes(t);
      const dice = new Seeded(seed);
      const done = new Set<string>();
      const repeated: string[] = [];
      const wait = (ms: number) => new Promise<void>((resolve) => void world.clock.schedule(resolve, ms));
      const handler = async ({ n = "" }: { n?: string }, ctx: Context) => {
        const step = async (name: string) => {
          const value = await ctx.step(name, async () => {
            if (done.has(n + name)) repeated.push(n + name);
            await wait(dice.pick([0, 0, 500, 5_000, 15_000]));
            return name;
          });
          done.add(n + name);
          return value;
        };
        const first = await step("a");
        await wait(500);
        const parts = await Promise.all([step("b"), step("c")]);
        const { content } = await ctx.elicit("Where?", FORM, { key: "q" });
        return [first, ...parts, content?.city, await step("d")].join(" ");
      };
      const define = (server: McpServer) => {
        for (const [name, mode] of Object.entries(MODES)) {
          const task = { restartable: true, attempts: 1_000, ...mode };
          server.tool(name, { task, input: INPUT }, handler);
        }
      };
      const workers = [world.node(define), world.node(define), world.node(define)];
      const front = world.node(define, { tasks: { work: false } });
      const calls = Array.from({ length: TASKS }, (_, n) => {
        const node = n % 2 === 0 ? front : (workers[n % 3] as TaskNode);
        return node.client.call(n % 2 === 0 ? "task" : "promoted", { n: `${n}-` });
      });
      await world.pass(300);
      const ids = (await Promise.all(calls)).map(({ result }) => result?.taskId as string);
      const cut = new Set<TaskNode>();
      const ended = new Map<string, string>();
      for (let round = 0; round < 1_000 && ended.size < TASKS; round++) {
        const node = dice.pick(workers);
        if (cut.delete(node)) world.state.mend(node.cluster);
        else if (cut.size < 2) world.state.cut(cut.add(node) && node.cluster);
        await world.pass(dice.below(9_000));
        for (const id of ids) {
          const task = await front.client.get(id);
          const before = ended.get(id);
          if (before !== undefined) equal(JSON.stringify(task), before, "a task that has ended does not change");
          else if (task.status === "input_required") await front.client.update(id, { q: accept({ city: "Oslo" }) });
          else if (task.status !== "working") {
            equal(task.result?.content?.[0]?.text, "a b c Oslo d", JSON.stringify(task));
            ended.set(id, JSON.stringify(task));
          }
        }
      }
      equal(ended.size, TASKS);
      deepEqual(repeated, []);
      for (const node of cut) world.state.mend(node.cluster);
      for (const { server } of [front, ...workers]) await server.close();
      await world.until("no task runs", () => workers.every(({ extension }) => extension.running === 0));
      for (const { cluster, errors } of [front, ...workers]) {
        await cluster.close();
        deepEqual(errors, []);
      }
      await world.pass(20_000);
      equal(world.clock.pending, 0, "no timer stays");
    },
  );
