import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { McpServer, type ServerOptions } from "bowline/server";
import { createArrayExchange } from "bowline/testing";
import { answerAt } from "#src/era/legacy/input.js";

const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
const clientInfo = { name: "c", version: "1" };
const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };

/** Posts a request to a server, and gives status and error of the answer. */
async function post(options: ServerOptions, body: object, more: Record<string, string> = {}, principal?: string) {
  const server = new McpServer({ name: "s", version: "1" }, options);
  const exchange = createArrayExchange({ headers: { ...headers, ...more }, body, principal });
  server.handle(exchange);
  await exchange.done;
  await server.close();
  const { error } = JSON.parse(exchange.body().replace(/^[^{]*/, "")) as { error?: { code: number; message: string } };
  return { status: exchange.status, error };
}

const initialize = { jsonrpc: "2.0", id: 1, method: "initialize", params: hello };

test("a caller may have no session at all, where the limit is 0", async () => {
  const limits = { maxSessionsPerPrincipal: 0 };
  const { status, error } = await post({ limits }, initialize, {}, "p");
  equal(status, 503);
  equal(error?.message.includes("0 sessions of this caller"), true, error?.message);
  equal((await post({ limits: { maxSessionsPerPrincipal: 1 } }, initialize, {}, "p")).status, 200);
});

test("a session that does not exist is told in the words of the transport", async () => {
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  const { status, error } = await post({}, ping, { "mcp-session-id": "unknown", "mcp-protocol-version": "2025-11-25" });
  equal(status, 404);
  deepEqual(error, { code: -32001, message: "Session not found" });
});

test("an answer is made plain only where it is a sample for an older version", () => {
  const sample = { role: "assistant", model: "m", content: [{ type: "text", text: "a" }] };
  equal(answerAt("2025-11-25", "sampling/createMessage", sample), sample);
  deepEqual(answerAt("2025-06-18", "sampling/createMessage", sample), { ...sample, content: sample.content[0] });
  const answer = { action: "accept", content: {} };
  for (const version of ["2025-06-18", "2025-11-25"]) equal(answerAt(version, "elicitation/create", answer), answer);
});
