import { setTimeout as delay } from "node:timers/promises";
import { McpServer } from "bowline/server";
import { serverLimits } from "./limits.mjs";

const any = { type: "object" };
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const form = { type: "object", properties: { answer: { type: "string" } }, required: ["answer"] };

/**
 * Maximum duration of a handler. In the legacy era a call continues after its connection is lost, so handlers end by
 * themselves.
 */
const HOLD_MS = 5_000;
/**
 * Maximum duration of a flood. Node accepts one connection per turn of the event loop, and turns are long on a busy
 * machine.
 */
export const FLOOD_MS = 240_000;

/**
 * Creates the server of every wire. `ran` counts the runs of each call with a key. `onReport` gets the errors that the
 * server reports.
 */
export function createApp({ http, ran, onReport } = {}) {
  const held = { calls: 0, notes: 0 };
  const count = (key) => key !== undefined && ran?.set(key, (ran.get(key) ?? 0) + 1);
  let release = () => {};
  let released;
  const close = () => {
    released = new Promise((resolve) => {
      release = resolve;
    });
  };
  close();

  /** Waits until the call is cancelled, everything held is released, or the time is over. */
  const hold = async (kind, ms, signal) => {
    held[kind]++;
    const over = new AbortController();
    const end = () => over.abort();
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted) end();
    try {
      await Promise.race([released, delay(ms, undefined, { signal: over.signal }).catch(() => {})]);
    } finally {
      end();
      held[kind]--;
    }
  };

  const server = new McpServer(
    { name: "soak", version: "1.0.0" },
    { limits: serverLimits, warnDeprecated: false, onError: onReport, ...(http === undefined ? {} : { http }) },
  )
    .tool("echo", { input: text }, ({ text, key }) => {
      count(key);
      return text;
    })
    .tool("slow", { input: any }, async ({ ms, key }, ctx) => {
      count(key);
      await delay(ms, undefined, { signal: ctx.signal });
      return "slept";
    })
    .tool("steps", { input: any }, async ({ count }, ctx) => {
      for (let step = 1; step <= count; step++) await ctx.progress(step, count);
      return "done";
    })
    .tool("hold", { input: any }, async ({ ms = HOLD_MS }, ctx) => {
      await hold("calls", ms, ctx.signal);
      return "released";
    })
    .tool("ask", { input: any }, async ({ questions }, ctx) => {
      const answers = [];
      for (const question of questions) {
        const { action, content } = await ctx.elicit(question, form);
        answers.push(content?.answer ?? action);
      }
      return answers.join(" ");
    })
    .tool("ask-at-once", { input: any }, async ({ count }, ctx) => {
      const asked = Array.from({ length: count }, (_, index) => ctx.elicit(`hold ${index}`, form));
      const settled = await Promise.allSettled(asked);
      const refused = settled.filter(({ status }) => status === "rejected");
      return { answered: count - refused.length, refused: refused.map(({ reason }) => String(reason?.message)) };
    })
    .tool("plan", { input: any }, async ({ key }, ctx) => {
      const drawn = await ctx.step("draw", () => {
        count(key);
        return `drawn ${key}`;
      });
      const { action } = await ctx.elicit("Is it right?", form);
      return `${drawn} ${action}`;
    })
    .tool("change", { input: any }, ({ uri }) => {
      server.changes.resourceUpdated(uri);
      return "changed";
    })
    .tool("held", {}, () => ({ ...held }))
    .tool("release", {}, () => {
      release();
      close();
      return "released";
    })
    .resource("soak://item/{number}", {}, (uri) => `the item ${uri}`)
    .onNotification("notifications/soak/note", {}, () => hold("notes", FLOOD_MS));
  return { server, held };
}
