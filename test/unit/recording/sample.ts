import type { RecordingEvent } from "#src/recording/events.js";

export const HEADER = {
  mcpRecording: 1,
  by: "bowline 0.1.0",
  at: "2026-11-19T12:00:00.000Z",
  unit: "us",
  redaction: { profile: "default", redact: ["pin"] },
} as const;

/** Writes lines as a recording, without the code under test. */
export function textOf(events: readonly object[], header: object = HEADER): string {
  return [header, ...events].map((line) => `${JSON.stringify(line)}\n`).join("");
}

const call = { jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "moor", arguments: { berth: "n1" } } };
const question = { message: "Let Maria go?", requestedSchema: { type: "object", properties: {} } };

/** A line of each kind. */
export const EVERY_KIND: readonly RecordingEvent[] = [
  { t: 10, k: "open", c: 1, wire: "http", role: "client", server: { url: "http://127.0.0.1:4100/mcp" } },
  { t: 12, k: "auth", c: 1, step: "token", url: "https://login.example.com/token", status: 200, us: 61_000 },
  { t: 20, k: "request", c: 1, x: 1, method: "POST", path: "/mcp", headers: { "mcp-method": "tools/call" } },
  { t: 21, k: "frame", c: 1, d: ">", x: 1, m: call },
  { t: 30, k: "response", c: 1, x: 1, status: 200, headers: { "content-type": "text/event-stream" } },
  { t: 31, k: "comment", c: 1, x: 1, count: 2 },
  { t: 32, k: "ask", c: 1, n: 1, method: "elicitation/create", params: question },
  { t: 33, k: "answer", c: 1, n: 1, result: { action: "accept", content: { sure: true } } },
  { t: 40, k: "frame", c: 1, d: "<", x: 1, id: "p1-2", m: { jsonrpc: "2.0", id: 4, result: { content: [] } } },
  { t: 41, k: "frame", c: 1, d: "<", x: 1, event: "endpoint", retry: 500, raw: "/messages \u00e9\u{1f98a}" },
  { t: 45, k: "end", c: 1, x: 1, by: "lost", error: "the connection was reset" },
  {
    t: 46,
    k: "outcome",
    c: 1,
    method: "tools/call",
    name: "moor",
    from: 19,
    error: { code: "connection_error", message: "lost", delivery: "answer_lost", retrySafe: false },
  },
  { t: 47, k: "fault", c: 1, what: "cut", d: "<", x: 1 },
  { t: 48, k: "stderr", c: 1, text: "warning" },
  { t: 49, k: "noise", c: 1, text: "listening" },
  { t: 50, k: "gap", lines: 3, reason: "slow" },
  { t: 51, k: "note", text: "here it hangs" },
  { t: 52, k: "verdict", rule: "stdio/noise", level: "error", lines: [16], text: "stdout is for messages" },
  { t: 60, k: "close", c: 1, exit: "SIGTERM", error: "ended" },
  { t: 61, k: "done", lines: 20, bytes: 2000, redacted: { bearer: 1 } },
];
