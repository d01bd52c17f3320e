import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "bowline/server";
import { ASK_MS, LEASE_MS } from "../limits.mjs";
import { callerOf } from "./caller.mjs";

const FORM = { type: "object", properties: { value: { type: "string" } }, required: ["value"] };
const INPUT = {
  type: "object",
  properties: {
    call: { type: "number" },
    secret: { type: "string" },
    steps: { type: "number" },
    stepMs: { type: "number" },
    uri: { type: "string" },
  },
  required: ["call", "secret"],
};
/** Caller of the request that is served. */
const callers = new AsyncLocalStorage();

/**
 * Creates the server of a node. Each handler records its begin and its end. A worker gets its cluster and its keys from its
 * primary.
 */
export function createServer({ cluster, stateKeys, truth, onError }) {
  const server = new McpServer(
    { name: "chaos", version: "1" },
    {
      ...(cluster && { cluster, stateKeys }),
      warnDeprecated: false,
      limits: {
        nodeLeaseMs: LEASE_MS,
        askTimeoutMs: ASK_MS,
        maxLoggedEventsPerSession: 20_000,
        maxLoggedCharsPerSession: 8e6,
      },
      onError,
      http: {
        gate,
        resumable: true,
        keepAliveMs: 500,
        retryMs: 100,
        sessions: {
          onOpen: (session) => {
            const { principal, attempt } = callers.getStore();
            truth.write("open", session, principal, attempt);
          },
          onEnd: (session) => truth.write("close", session),
        },
      },
    },
  );
  const run = (work) => (args, ctx) => record(truth, args, ctx, work);
  return server
    .tool("echo", { input: INPUT }, run(reply))
    .tool("work", { input: INPUT }, run(work))
    .tool(
      "ask",
      { input: INPUT },
      run((args, ctx) => ask(truth, args, ctx)),
    )
    .tool(
      "change",
      { input: INPUT },
      run((args) => {
        // Recorded first: a client on another node may be told before this one goes on.
        truth.write("change", args.uri);
        server.changes.resourceUpdated(args.uri);
        return reply(args);
      }),
    )
    .resource("chaos://{client}/{number}", { name: "item" }, (uri) => String(uri));
}

/** The token of a client has its name and the number of its attempt to connect. */
function gate(exchange) {
  const caller = callerOf(exchange.header("authorization"));
  if (caller.attempt === undefined) return { status: 401 };
  callers.enterWith(caller);
  return { principal: caller.principal };
}

async function record(truth, args, ctx, work) {
  truth.write("begin", args.call, ctx.principal, ctx.sessionId ?? "-");
  let text;
  try {
    text = await work(args, ctx);
  } catch (error) {
    truth.write("fail", args.call);
    throw error;
  }
  truth.write("end", args.call);
  return text;
}

const reply = ({ call, secret }) => `${call} ${secret}`;

/** Sends numbered messages. */
async function work(args, ctx) {
  for (let step = 1; step <= args.steps; step++) {
    await sleep(args.stepMs, undefined, { signal: ctx.signal });
    await ctx.log("info", { call: args.call, step });
  }
  return reply(args);
}

/** Asks the client, and returns its answer. */
async function ask(truth, args, ctx) {
  const answer = await ctx.elicit(`${args.call}`, FORM);
  truth.write("answered", args.call);
  return `${reply(args)} ${answer.action === "accept" ? answer.content.value : answer.action}`;
}
