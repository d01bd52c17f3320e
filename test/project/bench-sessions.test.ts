import { equal } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

const { createServer } = await loadScript<{
  createServer(wire: { json: boolean }): {
    fetch(request: Request): Promise<Response>;
    stats(): { readonly sessions: number };
    close(): Promise<void>;
  };
}>("bench/adapters/bowline/server.mjs");
const { bodyOf, headersOf, initialize } = await loadScript<{
  bodyOf(wire: object, call: object, id: number): string;
  headersOf(wire: object, call: object): Record<string, string>;
  initialize(): object;
}>("bench/workload/requests.mjs");

/** The largest server of the section "sessions" has as many, beside those of the load. */
const MOST = 10_000;

test("the server of the bench keeps all sessions that a measurement opens", async (t) => {
  const wire = { modern: false };
  const server = createServer({ json: true });
  t.after(() => server.close());
  for (let left = MOST + 16; left > 0; left--) {
    const init = { method: "POST", headers: headersOf(wire, initialize()), body: bodyOf(wire, initialize(), 1) };
    const response = await server.fetch(new Request("http://127.0.0.1/mcp", init));
    await response.text();
  }
  equal(server.stats().sessions, MOST + 16);
});
