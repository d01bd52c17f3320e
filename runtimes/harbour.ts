import { McpServer, type ServerOptions } from "bowline/server";

const form = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] } as const;

export type Harbour = ReturnType<typeof createHarbour>;

export const TIDE = "harbour://tide";

/**
 * Creates the server of the suite. Clients poll the state of `wait` with `seen`, since some runtimes do not let one
 * request wait for another.
 */
export function createHarbour(options: ServerOptions = {}) {
  const seen = { started: false, stopped: false };
  const harbour = new McpServer({ name: "harbour", version: "1.0.0" }, options)
    .tool("echo", { input: { type: "object", properties: { text: { type: "string" } } } }, ({ text }) => String(text))
    .tool("count", {}, async (_, ctx) => {
      for (let step = 1; step <= 3; step++) ctx.progress(step, 3, `step ${step}`);
      return "counted";
    })
    .tool("ask", {}, async (_, ctx) => {
      const answer = await ctx.elicit("Cast off?", form);
      return answer.action === "accept" ? `sure: ${answer.content.sure}` : answer.action;
    })
    .tool("wait", {}, async (_, ctx) => {
      seen.started = true;
      await new Promise((_resolve, reject) => {
        const work = setTimeout(() => reject(new Error("nobody cancelled")), 60_000);
        ctx.signal.addEventListener("abort", () => {
          seen.stopped = true;
          clearTimeout(work);
          reject(ctx.signal.reason);
        });
      });
    })
    .tool("seen", {}, () =>
      Object.entries(seen)
        .flatMap(([what, is]) => (is ? [what] : []))
        .join(" "),
    )
    .resource(TIDE, { name: "tide" }, () => "high");
  harbour.tool("turn", {}, () => {
    harbour.changes.resourceUpdated(TIDE);
    return "turned";
  });
  return harbour;
}
