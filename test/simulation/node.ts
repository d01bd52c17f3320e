// A server loads this module on first use. A run cannot wait for that.
import "#src/era/legacy/server/cluster/share.js";
import type { StoreCluster } from "#src/cluster/store-cluster.js";
import { legacyServer } from "#src/era/legacy/server/era.js";
import { modernServer } from "#src/era/modern/server/era.js";
import { defaultValidator } from "#src/schema/json-schema/validator.js";
import type { Context } from "#src/server/context.js";
import type { Server } from "#src/server/server.js";
import { serverOfEras } from "../support/core-of.js";
import type { CallRecord, History } from "./history.js";
import type { Flight } from "./http.js";
import type { SimProcess } from "./process.js";

export const SESSION_IDLE_MS = 40_000;
export const SESSION_CACHE_MS = 1_000;
/** Time that a request may take from the look at its session to its handler. */
const SLACK_MS = 100;
export const RESOURCES = ["sim:1", "sim:2", "sim:3"] as const;

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];
const FORM = { type: "object", properties: { value: { type: "string" } }, required: ["value"] } as const;
const INPUT = {
  type: "object",
  properties: { call: { type: "number" }, stepMs: { type: "number" } },
  required: ["call", "stepMs"],
} as const;

/** Node of the deployment: a process with its connection to the engine and its server. */
export class SimNode {
  readonly server: Server;
  /** Connections of clients to this node. */
  readonly flights = new Set<Flight>();
  /** True if nothing has disturbed the node since a time. */
  isCalmSince: (since: number) => boolean = () => true;
  isClosed = false;

  constructor(
    readonly process: SimProcess,
    readonly cluster: StoreCluster,
    readonly history: History,
    createServer: (node: SimNode) => Server,
  ) {
    this.server = createServer(this);
    process.onCrash = () => {
      for (const flight of this.flights) flight.lose();
    };
  }

  get name(): string {
    return this.process.name;
  }

  /** True if the node accepts connections. A paused one does, and answers later. */
  get isReachable(): boolean {
    return !this.process.hasCrashed && !this.isClosed;
  }

  /** Ends the node in the usual way. */
  async drain(): Promise<void> {
    await this.server.drain(2_000);
    this.isClosed = true;
    await this.cluster.close();
  }
}

/** Creates a server whose clients have sessions. */
export function createSessionServer(node: SimNode, isResumable: boolean): Server {
  const { history, process, cluster } = node;
  const count = (counts: Map<string, number>, id: string) => void counts.set(id, (counts.get(id) ?? 0) + 1);
  const server = serverOfEras(
    { name: "s", version: "1" },
    {
      cluster,
      stateKeys,
      clock: process,
      validator: defaultValidator,
      warnDeprecated: false,
      limits: { sessionIdleMs: SESSION_IDLE_MS, sessionSetupMs: 20_000, askTimeoutMs: 80_000 },
      onError: (error, { where }) => history.note(`${node.name} reports ${where}: ${error}`),
      http: {
        resumable: isResumable,
        sessions: {
          onOpen: (id) => {
            history.note(`${node.name} opens ${id}`);
            count(history.opens, id);
          },
          onEnd: (id) => {
            history.note(`${node.name} ends ${id}`);
            count(history.ends, id);
          },
        },
      },
    },
    [modernServer, legacyServer],
  );
  server
    .tool("echo", { input: INPUT }, (args, ctx) => begin(node, args, ctx, async (call) => call.secret))
    .tool("work", { input: INPUT }, (args, ctx) =>
      begin(node, args, ctx, (call) => work(node, call, Number(args.stepMs), ctx)),
    )
    .tool("ask", { input: INPUT }, (args, ctx) => begin(node, args, ctx, (call) => ask(call, ctx)));
  for (const uri of RESOURCES) server.resource(uri, { name: uri }, () => "text");
  return server;
}

/** Records the run of a handler. */
async function begin(
  node: SimNode,
  args: Record<string, unknown>,
  ctx: Context,
  run: (call: CallRecord) => Promise<string>,
): Promise<string> {
  const { name, process, history } = node;
  const call = history.calls[Number(args.call)];
  if (call === undefined) throw new Error(`call ${args.call} was never made`);
  history.note(`${name} begins call ${call.number}`);
  if (call.run !== undefined)
    history.violate("runs once", `call ${call.number} runs on ${call.run.node} and on ${name}`);
  if (ctx.principal !== call.session.principal || ctx.sessionId !== call.session.id)
    history.violate("own principal", `call ${call.number} runs as ${ctx.principal} in ${ctx.sessionId}`);
  const { endedAt } = call.session;
  if (endedAt !== undefined && process.now() > endedAt + SESSION_CACHE_MS + SLACK_MS && node.isCalmSince(endedAt))
    history.violate("ends", `${name} serves ${call.session.id} ${process.now() - endedAt} ms after its end`);
  call.run = { node: name, beganAt: process.now(), sent: 0, endedAt: undefined };
  try {
    return await run(call);
  } finally {
    call.run.endedAt = process.now();
    history.note(`${name} ends call ${call.number}${ctx.signal.aborted ? " aborted" : ""}`);
  }
}

/** Sends numbered notices and progress. */
async function work({ process }: SimNode, call: CallRecord, stepMs: number, ctx: Context): Promise<string> {
  for (let step = 1; step <= call.steps; step++) {
    await new Promise<void>((resolve) => process.schedule(resolve, stepMs));
    if (ctx.signal.aborted) throw ctx.signal.reason;
    if (call.run !== undefined) call.run.sent = step;
    await ctx.log("info", { call: call.number, step });
    await ctx.progress(step, call.steps);
  }
  return call.secret;
}

/** Asks the client, and returns the answer. */
async function ask(call: CallRecord, ctx: Context): Promise<string> {
  const answer = await ctx.elicit(`question of call ${call.number}`, FORM);
  return `${call.secret} ${answer.action === "accept" ? answer.content.value : answer.action}`;
}
