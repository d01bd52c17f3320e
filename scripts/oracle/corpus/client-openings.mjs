import { discovered, initialized } from "./client-words.mjs";
import { MODERN } from "./requests.mjs";

/** Returns scripts in which servers of all kinds respond to a connecting client. */
export function clientOpenings() {
  const probes = {
    "not found": { status: 404, text: "Not found" },
    "not allowed": { status: 405, text: "" },
    unauthorized: { status: 401, text: "", headers: { "www-authenticate": "Bearer" } },
    broken: { status: 500, text: "oops" },
    html: { status: 200, text: "<html>", headers: { "content-type": "text/html" } },
    "no words": { status: 400, text: "" },
    refused: { fails: "refused" },
    silent: { hold: true },
    "method unknown": { error: { code: -32_601, message: "no" } },
    "other version": {
      status: 400,
      error: { code: -32_022, message: "no", data: { supported: ["2030-01-01"], requested: MODERN } },
    },
    "no common version": { result: discovered({ supportedVersions: ["2030-01-01"] }) },
    "odd result": { result: { resultType: "complete" } },
    "asks at once": { result: { resultType: "input_required", inputRequests: {} } },
    "older session": { status: 400, error: { code: -32_000, message: "Bad Request: no session" } },
  };
  const handshakes = {
    good: { result: initialized("2025-11-25"), headers: { "mcp-session-id": "s-1" } },
    older: { result: initialized("2024-11-05") },
    newer: { result: initialized("2099-01-01") },
    odd: { result: { protocolVersion: 5 } },
    "not allowed": { status: 405, text: "" },
  };
  const steps = [{ advance: 10_001 }, { advance: 60_001 }, { call: "callTool", args: ["echo"] }];
  const rules = (probe, handshake) => [
    { on: "server/discover", reply: probe },
    { on: "initialize", reply: handshake },
    { on: "tools/call", reply: { result: { content: [] } } },
  ];
  const scripts = Object.entries(probes).flatMap(([name, probe]) =>
    ["http", "memory"]
      .filter((wire) => wire === "http" || probe.text === undefined)
      .map((wire) => ({
        name: `${wire} probe ${name}`,
        wire,
        rules: rules(probe.fails && wire === "memory" ? { cut: true } : probe, handshakes.good),
        steps,
      })),
  );
  for (const [name, handshake] of Object.entries(handshakes)) {
    for (const era of ["auto", "legacy", "modern"]) {
      const endpoint = { on: "GET", reply: { sse: ["event: endpoint\ndata: /messages?sessionId=1\n\n"], open: true } };
      const list = [...rules(probes["not found"], handshake), ...(name === "not allowed" ? [endpoint] : [])];
      scripts.push({ name: `http handshake ${name} as ${era}`, wire: "http", rules: list, steps, options: { era } });
    }
  }
  for (const options of [
    { versions: ["2025-06-18"] },
    { versions: ["2025-03-26"] },
    { versions: ["1.0"] },
    { prior: { era: "legacy" } },
    { prior: { era: "modern", discovered: discovered() } },
    { session: { era: "legacy", id: "s-9", initialized: initialized("2025-11-25") } },
  ]) {
    scripts.push({
      name: `http as told ${JSON.stringify(options)}`,
      wire: "http",
      rules: rules(probes["not found"], handshakes.good),
      steps,
      options,
    });
  }
  return [...scripts, ...oldTransport()];
}

/** Returns scripts for the HTTP+SSE transport of 2024-11-05, where responses come on the stream of a GET. */
function oldTransport() {
  const endpoint = (data) => ({ on: "GET", reply: { sse: [`event: endpoint\ndata: ${data}\n\n`], open: true } });
  const refusals = ["server/discover", "initialize"].map((on) => ({
    on,
    once: true,
    reply: { status: 404, text: "" },
  }));
  const taken = ["initialize", "tools/call", "tools/list"].map((on) => ({ on, reply: { status: 202 } }));
  const event = (result) => ({ push: { event: { jsonrpc: "2.0", id: "{{id}}", result } } });
  const open = event(initialized("2024-11-05"));
  const call = { call: "callTool", args: ["echo", {}], options: { signal: true } };
  const stories = {
    calls: [open, call, event({ content: [{ type: "text", text: "old" }] }), { call: "tools" }, event({ tools: [] })],
    cancel: [open, call, { abort: "callTool" }, { call: "tools" }],
    lost: [open, call, { cut: {} }, { advance: 5000 }, { call: "tools" }],
    ended: [open, call, { finish: {} }, { advance: 5000 }, { call: "tools" }],
    question: [open, call, { push: { event: { jsonrpc: "2.0", id: 5, method: "roots/list" } } }],
    silence: [{ advance: 61_000 }],
    garbage: [{ push: { text: "data: {\n\n" } }, open, call],
  };
  const scripts = Object.entries(stories).map(([name, steps]) => ({
    name: `http sse ${name}`,
    wire: "http",
    rules: [...refusals, ...taken, endpoint("/messages?sessionId=1")],
    steps,
  }));
  for (const data of ["https://evil.example.com/messages", "messages", "", "::"]) {
    scripts.push({
      name: `http sse endpoint ${data}`,
      wire: "http",
      rules: [...refusals, ...taken, endpoint(data)],
      steps: [open, call],
    });
  }
  return scripts;
}
