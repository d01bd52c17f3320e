import { CALL, complete, openingOf, said } from "./client-words.mjs";

const LIST = { call: "tools" };

/** Returns scripts with invalid responses, and with HTTP statuses other than 200. */
export function clientFaults(world) {
  const replies = {
    ...wrongMessages(world),
    ...(world.wire === "http" ? { ...wrongAnswers(), ...wrongStreams(world) } : wrongFrames(world)),
  };
  return Object.entries(replies).map(([name, reply]) => ({
    name: `${world.wire} ${world.version} answer ${name}`,
    wire: world.wire,
    rules: [
      { on: "tools/call", once: true, reply },
      { on: "tools/list", once: true, reply },
      { on: "tools/call", reply: { result: said(world, "second") } },
      ...openingOf(world),
    ],
    steps: [
      { ...CALL, as: "first" },
      LIST,
      { advance: 1000 },
      { ...CALL, as: "second" },
      { advance: 61_000 },
      { advance: 61_000 },
    ],
  }));
}

function wrongMessages(world) {
  const error = (code, message, data) => ({ error: { code, message, ...(data !== undefined && { data }) } });
  const json = (value) => ({ json: value });
  return {
    "method not found": error(-32_601, "Method not found"),
    "invalid params": error(-32_602, "Invalid params", { at: "/name" }),
    "own error": error(-32_050, "not today", { until: "tomorrow" }),
    "not found": error(-32_002, "Resource not found", { uri: "note://1" }),
    "page required": error(-32_042, "Visit", {
      elicitations: [{ mode: "url", message: "Sign in", url: "https://example.com", elicitationId: "e" }],
    }),
    "capability missing": error(-32_021, "no", { requiredCapabilities: { sampling: {} } }),
    "header mismatch": error(-32_020, "no"),
    "odd error": json({ jsonrpc: "2.0", id: "{{id}}", error: { code: "x" } }),
    "no error": json({ jsonrpc: "2.0", id: "{{id}}", error: null }),
    "no result": json({ jsonrpc: "2.0", id: "{{id}}" }),
    "result is null": json({ jsonrpc: "2.0", id: "{{id}}", result: null }),
    "result and error": json({ jsonrpc: "2.0", id: "{{id}}", result: {}, error: { code: 1, message: "x" } }),
    "other id": json({ jsonrpc: "2.0", id: "other", result: said(world, "x") }),
    "id is null": json({ jsonrpc: "2.0", id: null, error: { code: -32_600, message: "Invalid request" } }),
    "no jsonrpc": json({ id: "{{id}}", result: said(world, "x") }),
    "empty result": { result: {} },
    "content is no list": { result: complete(world, { content: "text", tools: "many" }) },
    "content is odd": {
      result: complete(world, { content: [{ type: "strange" }, { type: "text" }], tools: [{ name: 5 }] }),
    },
    "type unknown": { result: { resultType: "strange", content: [], tools: [] } },
    "questions without any": { result: { resultType: "input_required" } },
    "questions without end": { result: { resultType: "input_required", requestState: "s" } },
    batch: json([{ jsonrpc: "2.0", id: "{{id}}", result: said(world, "x") }]),
  };
}

function wrongAnswers() {
  const statuses = [201, 202, 204, 301, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 429, 500, 502, 503];
  const plain = statuses.map((status) => [
    `status ${status}`,
    {
      status,
      text: status === 204 || status === 202 ? undefined : `words of ${status}`,
      headers: { "content-type": "text/plain" },
    },
  ]);
  const rpc = [400, 404, 500].map((status) => [
    `status ${status} with an error`,
    { status, error: { code: -32_600, message: "Bad" } },
  ]);
  return {
    ...Object.fromEntries([...plain, ...rpc]),
    "not json": { text: "{", headers: { "content-type": "application/json" } },
    "no type": { text: "{}" },
    "other type": { text: "<html>", headers: { "content-type": "text/html" } },
    "empty body": { text: "", headers: { "content-type": "application/json" } },
    "network fails": { fails: "ECONNREFUSED" },
    "retry later": { status: 503, text: "", headers: { "retry-after": "1" } },
    "other session": { status: 404, error: { code: -32_001, message: "Session not found" } },
  };
}

function wrongStreams(world) {
  const answer = { jsonrpc: "2.0", id: "{{id}}", result: said(world, "streamed") };
  const progress = {
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken: "{{token}}", progress: 1 },
  };
  const data = `data: ${JSON.stringify(answer)}`;
  return {
    streamed: { sse: [progress, answer] },
    "streamed with ids": { sse: ["id: 1\nretry: 10\ndata: \n\n", `id: 2\n${data}\n\n`] },
    "streamed and open": { sse: [answer], open: true },
    "stream without an answer": { sse: [progress] },
    "stream that can be resumed": { sse: ["id: 7\nretry: 20\ndata: \n\n"] },
    "stream with nothing": { sse: [] },
    "stream with other lines": {
      sse: [": comment\n\n", "event: other\ndata: {}\n\n", `event: message\r\n${data}\r\n\r\n`],
    },
    "stream with garbage": { sse: ["data: {\n\n", answer] },
    "stream with an odd message": { sse: [{ jsonrpc: "2.0" }, answer] },
    "stream with two answers": { sse: [answer, answer] },
    "stream cut in a line": { sse: [data] },
    "stream without a last line": { sse: [`${data}\n`] },
    "stream in pieces": { sse: [data.slice(0, 20), data.slice(20), "\n", "\n"] },
    "stream with odd progress": { sse: [{ ...progress, params: { progressToken: "none", progress: "x" } }, answer] },
    "stream with a question": { sse: [{ jsonrpc: "2.0", id: 900, method: "roots/list" }, answer] },
    "stream of an error": { status: 500, sse: [answer] },
  };
}

function wrongFrames(world) {
  const answer = { jsonrpc: "2.0", id: "{{id}}", result: said(world, "x") };
  return {
    "not json": { raw: "{" },
    "no object": { raw: "null" },
    "two answers": { frames: [answer, answer] },
    "cut off": { cut: true },
    "garbage before": { frames: ["{", "", "[]", answer] },
    silence: { hold: true },
  };
}
