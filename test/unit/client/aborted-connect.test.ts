import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { aborted, gate } from "../../support/gate.js";

const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: { logging: {} },
  serverInfo: { name: "s", version: "1" },
};

/** A server of sessions that takes one message and never answers it, nor the end of its session. */
function silentAbout(method: string) {
  const reached = gate();
  const deleted = gate<AbortSignal>();
  const fetch = async (_url: URL, init: RequestInit): Promise<Response> => {
    if (init.method === "DELETE") deleted.open(init.signal as AbortSignal);
    if (init.method === "GET") return new Response(null, { status: 405 });
    const message = JSON.parse(String(init.body ?? "{}")) as { id?: number; method?: string };
    if (message.method === method) reached.open();
    if (init.method === "DELETE" || message.method === method) return await never(init.signal as AbortSignal);
    if (message.method !== "initialize") return new Response(null, { status: 202 });
    const headers = { "mcp-session-id": "s-1" };
    return Response.json({ jsonrpc: "2.0", id: message.id, result: initialized }, { headers });
  };
  return { fetch, reached, deleted };
}

function never(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

for (const [when, method] of [
  ["while the handshake is not done", "notifications/initialized"],
  ["while the log level is being set", "logging/setLevel"],
] as const) {
  test(`a connect that is aborted ${when} ends at once; its session is ended beside that, within bounds`, async () => {
    const { fetch, reached, deleted } = silentAbout(method);
    const clock = new FakeClock();
    const abort = new AbortController();
    const connecting = connect("http://127.0.0.1:9/mcp", {
      fetch: fetch as typeof globalThis.fetch,
      clock,
      signal: abort.signal,
      versions: ["2025-11-25"],
      logLevel: "info",
    });
    await reached.opened;
    const why = new Error("enough");
    abort.abort(why);
    await rejects(connecting, (error) => error === why);
    const courtesy = await deleted.opened;
    equal(courtesy.aborted, false);
    clock.advance(1_000);
    await aborted(courtesy);
    equal(clock.pending, 0);
  });
}
