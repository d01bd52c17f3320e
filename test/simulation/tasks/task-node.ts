// A server loads these modules on first use. A run cannot wait for that.
import "#src/era/client-requests.js";
import "#src/era/modern/server/replay.js";
import type { Cluster } from "#src/cluster/cluster.js";
import type { StoreCluster } from "#src/cluster/store-cluster.js";
import { modernServer } from "#src/era/modern/server/era.js";
import { HandlerSuspended } from "#src/protocol/errors.js";
import { defaultValidator } from "#src/schema/json-schema/validator.js";
import type { Context } from "#src/server/context.js";
import type { Server } from "#src/server/server.js";
import { TaskSuspended } from "#src/tasks/server/execution.js";
import { type TasksExtension, tasks } from "#src/tasks/server/extension.js";
import { serverOfEras } from "../../support/core-of.js";
import { SimNode } from "../node.js";
import type { SimProcess } from "../process.js";
import { type Part, TOOLS } from "./plan.js";
import { answerOf, type TaskHistory, type TaskTruth } from "./task-history.js";

export const LEASE_MS = 4_000;
/** Life of a task. */
export const TTL_MS = 100_000;

const FORM = { type: "object", properties: { value: { type: "string" } }, required: ["value"] } as const;
const INPUT = { type: "object", properties: { task: { type: "number" } }, required: ["task"] } as const;
const LIMITS = { leaseMs: LEASE_MS, statusIntervalMs: 400, maxRunningPerPrincipal: 4 };

/** Node whose tools run as tasks. */
export class TaskNode extends SimNode {
  readonly extension: TasksExtension;

  /** `used` is the cluster as the server sees it. */
  constructor(process: SimProcess, cluster: StoreCluster, used: Cluster, history: TaskHistory) {
    const extension = tasks({ cluster: used, ttlMs: TTL_MS, limits: LIMITS });
    super(process, cluster, history, (node) => createServer(node, history).extend(extension));
    this.extension = extension;
    history.nodes.push(this);
  }

  override async drain(): Promise<void> {
    await this.server.drain(2_000);
    this.isClosed = true;
    // Tasks that cannot go on elsewhere have some time to end.
    const waited = new Promise<void>((resolve) => this.process.schedule(resolve, 3_000));
    await Promise.race([this.extension.idle(), waited]);
    await this.cluster.close();
  }
}

function createServer(node: SimNode, history: TaskHistory): Server {
  const { process } = node;
  const server = serverOfEras(
    { name: "s", version: "1" },
    {
      clock: process,
      validator: defaultValidator,
      // Real keys need more than the digests of the simulation.
      stateCodec: { encode: (text) => text, decode: (text) => text },
      onError: (error, { where }) => history.note(`${node.name} reports ${where}: ${error}`),
    },
    [modernServer],
  );
  for (const [name, task] of Object.entries(TOOLS))
    server.tool(name, { input: INPUT, task }, (args, ctx) => perform(node, history, Number(args.task), ctx));
  return server;
}

/** Handler of all tools: follows the plan of its task. */
async function perform(node: SimNode, history: TaskHistory, number: number, ctx: Context): Promise<string> {
  const task = history.tasks[number];
  if (task === undefined) throw new Error(`task ${number} was never created`);
  const run = history.begin(task, node, ctx.idempotencyKey, ctx.signal);
  if (ctx.principal !== task.principal) history.violate("own principal", `task ${number} runs as ${ctx.principal}`);
  const handler = new Handler(node, history, task, ctx);
  try {
    const values: string[] = [];
    for (const [at, part] of task.plan.parts.entries()) {
      ctx.progress(at, task.plan.parts.length, `part ${at}`);
      values.push(...(await handler.perform(part)));
    }
    run.end = "ended";
    return values.join(" ");
  } catch (error) {
    run.end = error instanceof HandlerSuspended ? "suspended" : "failed";
    // A call may stay in its request: while the engine is away, or if its caller has many tasks. Its questions are not
    // those of a task.
    if (run.end === "suspended" && !(error instanceof TaskSuspended)) task.settled ??= "asked";
    throw error;
  } finally {
    history.note(`${node.name} ends a run of task ${number}: ${run.end}`);
  }
}

class Handler {
  constructor(
    readonly node: SimNode,
    readonly history: TaskHistory,
    readonly task: TaskTruth,
    readonly ctx: Context,
  ) {}

  async perform({ kind, names, ms }: Part): Promise<readonly string[]> {
    const performOne = (name: string, at: number) => {
      const duration = ms[at] ?? 0;
      if (kind === "wait") return this.#wait(duration);
      return kind === "ask" ? this.#ask(name) : this.#step(name, duration);
    };
    const values = await Promise.all(names.map(performOne));
    return values.filter((value) => value !== undefined);
  }

  async #step(name: string, ms: number): Promise<string> {
    const { history, task, ctx } = this;
    const value = await ctx.step(name, async () => {
      const value = history.beginStep(task, name);
      await this.#wait(ms);
      return value;
    });
    history.endStep(task, name, value);
    return value;
  }

  async #ask(name: string): Promise<string> {
    const { history, task, ctx } = this;
    const answer = await ctx.elicit(`question ${name}`, FORM, { key: name });
    const value = answer.action === "accept" ? String(answer.content.value) : answer.action;
    if (value !== answerOf(task, name)) history.violate("answers", `task ${task.number} gets ${value} for ${name}`);
    return value;
  }

  /** Waits, unless the handler stops with its signal. */
  async #wait(ms: number): Promise<undefined> {
    const { process } = this.node;
    const { signal } = this.ctx;
    const { stops } = this.task.plan;
    await new Promise<void>((resolve) => {
      const timer = process.schedule(() => end(), ms);
      const end = () => {
        process.cancel(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      if (stops) signal.addEventListener("abort", end);
    });
    if (signal.aborted && stops) throw signal.reason;
  }
}
