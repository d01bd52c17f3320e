import { FetchWorld } from "./fetch.mjs";
import { HttpWorld } from "./http.mjs";
import { MemoryWorld } from "./memory.mjs";
import { StdioWorld } from "./stdio.mjs";

const ERAS = ["modern", "legacy"];

const streamable = { path: "/mcp" };
const resumable = { path: "/mcp", http: { resumable: true, retryMs: 10 } };
const sse = { path: "/sse", http: { sse: true } };

/**
 * All servers of a run, on every wire. Those that are not `mortal` live for the whole run, so that leaks are seen. The
 * others are closed or killed and started again.
 */
export const LANES = [
  ...ERAS.map((era) => ({
    name: `memory ${era}`,
    wire: "memory",
    era,
    outages: true,
    open: async (env) => new MemoryWorld(env),
  })),
  ...ERAS.map((era) => ({
    name: `stdio ${era}`,
    wire: "stdio",
    era,
    outages: false,
    open: async (env) => new StdioWorld(env, { mortal: false }),
  })),
  ...ERAS.map((era) => ({
    name: `stdio ${era}, killed`,
    wire: "stdio",
    era,
    outages: true,
    mortal: true,
    open: async (env) => new StdioWorld(env, { mortal: true }),
  })),
  ...ERAS.map((era) => ({
    name: `fetch ${era}`,
    wire: "fetch",
    era,
    outages: true,
    open: async (env) => new FetchWorld(env),
  })),
  http("http modern", "modern", streamable),
  http("http modern, restarted", "modern", { ...streamable, mortal: true }),
  http("http legacy", "legacy", streamable),
  http("http legacy, restarted", "legacy", { ...streamable, mortal: true }),
  http("http legacy resumable", "legacy", resumable),
  http("http legacy resumable, restarted", "legacy", { ...resumable, mortal: true }),
  http("http+sse 2024-11-05", "legacy", sse),
  http("http+sse 2024-11-05, restarted", "legacy", { ...sse, mortal: true }),
].map((spec) => ({ ...spec, client: { era: spec.era } }));

function http(name, era, options) {
  const wire = options === sse || options.http?.sse ? "sse" : "http";
  return {
    name,
    wire,
    era,
    outages: true,
    mortal: options.mortal === true,
    resumable: options.http?.resumable === true && options.mortal !== true,
    open: (env) => HttpWorld.open(env, options),
  };
}
