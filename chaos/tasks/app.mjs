import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { LEASE_MS } from "./limits.mjs";

const FORM = { type: "object", properties: { value: { type: "string" } }, required: ["value"] };
const INPUT = {
  type: "object",
  properties: {
    number: { type: "number" },
    steps: { type: "number" },
    stepMs: { type: "number" },
    asks: { type: "boolean" },
  },
  required: ["number", "steps", "stepMs", "asks"],
};
/** No restartable task fails because it lost many processes. */
const ATTEMPTS = 20;
const PROMOTE_AFTER_MS = 200;

/**
 * Creates the server of a worker. The token of a client is its principal. Handlers record what they do:
 *
 * | entry | meaning |
 * | --- | --- |
 * | `begin node number tool` | a run of a task begins |
 * | `step node number step`, `done node number step value` | the function of a step begins, and returns |
 * | `kept node number step value` | a run has the value of a step |
 * | `answered node number` | a run has the answer to its question |
 * | `end node number` | a run ends with its result |
 * | `park node number`, `abort node number` | a run ends without a result, or after its signal has aborted |
 */
export function createServer({ cluster, stateKeys, truth, onError }) {
  const gate = (exchange) => ({ principal: exchange.header("authorization") });
  const work = (tool) => (args, ctx) => run(truth, tool, args, ctx);
  const restartable = { support: "required", restartable: true, attempts: ATTEMPTS };
  const limits = { nodeLeaseMs: LEASE_MS };
  const http = { gate, keepAliveMs: 500, resumable: true, retryMs: 100 };
  return new McpServer(
    { name: "chaos", version: "1" },
    { cluster, stateKeys, onError, limits, http, warnDeprecated: false },
  )
    .extend(tasks({ pollIntervalMs: 500, limits: { leaseMs: LEASE_MS } }))
    .tool("restartable", { input: INPUT, task: restartable }, work("restartable"))
    .tool("promoted", { input: INPUT, task: { ...restartable, promoteAfterMs: PROMOTE_AFTER_MS } }, work("promoted"))
    .tool("fragile", { input: INPUT, task: "required" }, work("fragile"));
}

/** Runs the steps, with a question after the first one. Returns the values of the steps and the answer. */
async function run(truth, tool, args, ctx) {
  const { number, steps, asks } = args;
  const parts = [];
  truth.write("begin", number, tool);
  try {
    for (let step = 0; step < steps; step++) {
      const value = await ctx.step(`s${step}`, () => doStep(truth, args, step, ctx.signal));
      truth.write("kept", number, step, value);
      parts.push(value);
      if (asks && step === 0) parts.push(await ask(truth, number, ctx));
    }
  } catch (error) {
    truth.write(ctx.signal.aborted ? "abort" : "park", number);
    throw error;
  }
  truth.write("end", number);
  return parts.join(" ");
}

async function doStep(truth, { number, stepMs }, step, signal) {
  truth.write("step", number, step);
  await sleep(stepMs, undefined, { signal });
  const value = `v${Math.random().toString(36).slice(2)}`;
  truth.write("done", number, step, value);
  return value;
}

async function ask(truth, number, ctx) {
  const answer = await ctx.elicit(`${number}`, FORM);
  truth.write("answered", number);
  return answer.action === "accept" ? answer.content.value : answer.action;
}
