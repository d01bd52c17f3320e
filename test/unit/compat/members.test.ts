import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { connect } from "bowline/client";
import {
  type CompatTransport,
  createMcpHandler,
  McpServer,
  Server,
  StdioServerTransport,
  StreamableHTTPServerTransport,
  serveStdio,
  WebStandardStreamableHTTPServerTransport,
} from "bowline/compat";

const INFO = { name: "moving", version: "1.0.0" };
const ERAS = ["legacy", "modern"] as const;

/** A transport of the official SDK that carries nothing. */
const idle = () => ({ start: async () => {}, send: async () => {}, close: async () => {} });

test("registerCapabilities adds to what the constructor declares", async () => {
  const given = { resources: { listChanged: false }, experimental: { a: {} }, extensions: { "com.acme/x": {} } };
  const server = new Server(INFO, { capabilities: given });
  server.registerCapabilities({ resources: { subscribe: true }, tools: {}, completions: {} });
  server.registerCapabilities({ experimental: { b: { n: 1 } }, extensions: { "com.acme/y": { n: 2 } } });
  deepEqual(given.experimental, { a: {} });
  for (const era of ERAS) {
    const client = await connect(server.bowline, { era });
    const { resources, tools, experimental, extensions } = client.server.capabilities;
    deepEqual(resources, { subscribe: true, listChanged: false });
    deepEqual(tools, { listChanged: true });
    deepEqual(experimental, { a: {}, b: { n: 1 } });
    deepEqual(extensions, { "com.acme/x": {}, "com.acme/y": { n: 2 } });
    deepEqual(server.getCapabilities(), client.server.capabilities);
    await client.close();
  }
});

test("registerCapabilities leaves the options of the Bowline server unchanged", () => {
  const capabilities = { prompts: true };
  const server = new McpServer(INFO, { bowline: { capabilities } });
  server.server.registerCapabilities({ tools: {} });
  deepEqual(capabilities, { prompts: true });
  ok(server.bowline.capabilities.tools !== undefined && server.bowline.capabilities.prompts !== undefined);
});

test("registerCapabilities is refused once the server is connected", async () => {
  const server = new McpServer(INFO);
  await server.connect(idle());
  throws(() => server.server.registerCapabilities({ tools: {} }), /before connect\(\)/);
  await server.close();
});

test("the version of a call and the ping of a client are known to a handler", async () => {
  const versions = { legacy: "2025-11-25", modern: "2026-07-28" };
  for (const era of ERAS) {
    const server = new McpServer(INFO);
    server.registerTool("version", {}, () => ({
      content: [{ type: "text", text: String(server.server.getNegotiatedProtocolVersion()) }],
    }));
    server.registerTool("ping", {}, async () => ({
      content: [{ type: "text", text: JSON.stringify(await server.server.ping()) }],
    }));
    const client = await connect(server.bowline, { era });
    equal((await client.callTool("version")).text, versions[era]);
    // Servers of 2026-07-28 cannot ping.
    if (era === "legacy") equal((await client.callTool("ping")).text, "{}");
    else equal((await client.callTool("ping")).isError, true);
    await client.close();
  }
});

test("the end of a URL elicitation reaches its client", async () => {
  const server = new McpServer(INFO);
  const notices = new EventEmitter();
  const ended = once(notices, "ended");
  server.registerTool("login", {}, async () => {
    const url = { mode: "url", message: "Log in", url: "https://example.com/login", elicitationId: "e1" };
    await server.server.elicitInput(url);
    await server.server.createElicitationCompletionNotifier("e1")();
    return { content: [] };
  });
  const client = await connect(server.bowline, {
    era: "legacy",
    onElicitUrl: () => ({ action: "accept" }),
    notifications: { "notifications/elicitation/complete": (params) => void notices.emit("ended", params) },
  });
  await client.callTool("login");
  deepEqual((await ended)[0], { elicitationId: "e1" });
  await client.close();
  await rejects(server.server.createElicitationCompletionNotifier("e2")(), /No open URL elicitation/);
});

test("what has no counterpart says what to use", async () => {
  const { server } = new McpServer(INFO);
  const parts: (() => unknown)[] = [
    () => new StreamableHTTPServerTransport({}),
    () => new WebStandardStreamableHTTPServerTransport({}),
    () => createMcpHandler(() => {}),
    () => serveStdio(() => {}),
    () => server.experimental.tasks,
    () => {
      server.fallbackRequestHandler = () => {};
    },
    () => {
      server.fallbackNotificationHandler = () => {};
    },
    () => server.removeRequestHandler("tools/call"),
    () => server.removeNotificationHandler("notifications/initialized"),
  ];
  for (const part of parts) throws(part, /^Error: \S+ is not available in bowline\/compat: ./, String(part));
  await rejects(
    server.connect({ ...idle(), handleRequest: () => {} } as never),
    /connect\(Object\) is not available in bowline\/compat: serve the server with serveHttp/,
  );
});

/** Runs a program on the compat server over stdio; returns what it writes to stderr. */
async function stderrOf(
  program: string,
  era: (typeof ERAS)[number],
  transport = "new StdioServerTransport()",
): Promise<string> {
  const lines: string[] = [];
  const start = `
    import { McpServer, StdioServerTransport } from "bowline/compat";
    const server = new McpServer(${JSON.stringify(INFO)});
    ${program}
    await server.connect(${transport});`;
  const client = await connect(
    { command: process.execPath, args: ["--input-type=module", "-e", start], stderr: (line) => void lines.push(line) },
    { era },
  );
  await client.ping();
  await client.close();
  return lines.join("\n");
}

test("an error of oninitialized goes to stderr if nobody listens for errors", async () => {
  const fail = `server.server.oninitialized = async () => { await null; undefined.member; };`;
  for (const era of ERAS) {
    match(
      await stderrOf(fail, era),
      /^bowline: oninitialized failed: TypeError: Cannot read properties of undefined.*\n +at /m,
    );
    const heard = await stderrOf(`${fail} server.server.onerror = ({ name }) => console.error("heard", name);`, era);
    equal(heard, "heard TypeError");
  }
});

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

/** Handlers of a transport, as a program assigns them before `connect`, and what they were called with. */
function createHandlers() {
  const heard: unknown[] = [];
  const events = new EventEmitter();
  const handlers = {
    onmessage: (message: unknown) => void heard.push(message),
    onerror: (error: Error) => void heard.push(error.name),
    onclose: () => {
      heard.push("closed");
      events.emit("closed");
    },
  };
  return { heard, handlers, closed: once(events, "closed") };
}

test("StdioServerTransport serves the streams of the program, and calls the handlers of both", async () => {
  for (const end of ["the end", "a line that is too long"]) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const server = new McpServer(INFO);
    const told: string[] = [];
    server.server.onerror = ({ name }) => void told.push(name);
    server.server.onclose = () => void told.push("closed");
    const { heard, handlers, closed } = createHandlers();
    const transport = Object.assign(new StdioServerTransport(input, output, { maxBufferSize: 200 }), handlers);
    await server.connect(transport);
    const lines = createInterface(output)[Symbol.asyncIterator]();
    input.write(`${JSON.stringify(PING)}\n`);
    const { value = "{}" } = await lines.next();
    deepEqual(JSON.parse(value), { jsonrpc: "2.0", id: 1, result: {} });
    if (end === "the end") input.end();
    else input.write(`${"x".repeat(300)}\n`);
    await closed;
    const errors = end === "the end" ? [] : ["ProtocolError", "ConnectionError"];
    deepEqual(heard, [PING, ...errors, "closed"], end);
    while (server.isConnected()) await setImmediate();
    deepEqual(told, [...errors, "closed"], end);
  }
});

test("StdioServerTransport can be closed", async () => {
  const server = new McpServer(INFO);
  const { heard, handlers, closed } = createHandlers();
  const transport = Object.assign(new StdioServerTransport(new PassThrough(), new PassThrough()), handlers);
  await transport.close();
  await server.connect(transport);
  await transport.close();
  await closed;
  deepEqual(heard, ["closed"]);
});

test("an error in a handler of the transport goes to its onerror, and the message is served", async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const transport = new StdioServerTransport(input, output);
  const heard: string[] = [];
  transport.onmessage = () => {
    throw new RangeError("no");
  };
  transport.onerror = ({ name }) => void heard.push(name);
  await new McpServer(INFO).connect(transport);
  const lines = createInterface(output)[Symbol.asyncIterator]();
  input.write(`${JSON.stringify(PING)}\n`);
  equal(JSON.parse((await lines.next()).value ?? "{}").id, 1);
  deepEqual(heard, ["RangeError"]);
  await transport.close();
});

test("StdioServerTransport calls its handlers on the streams of the process", async () => {
  const program = `
    const transport = new StdioServerTransport(process.stdin, process.stdout);
    transport.onmessage = ({ method }) => console.error("heard", method);
    transport.onclose = () => console.error("closed");`;
  match(await stderrOf(program, "modern", "transport"), /^heard server\/discover\n.*\nclosed$/s);
});

test("handlers that a program has assigned to another transport are kept", async () => {
  const { heard, handlers, closed } = createHandlers();
  const transport: CompatTransport = { ...idle(), ...handlers };
  const server = new McpServer(INFO);
  await server.connect(transport);
  transport.onmessage?.(PING as never);
  transport.onerror?.(new TypeError("no"));
  transport.onclose?.();
  await closed;
  deepEqual(heard, [PING, "TypeError", "closed"]);
});

test("members of definitions that the protocol does not have are ignored", async () => {
  const more = { inputSchemaRef: "a" };
  const server = new McpServer(INFO);
  const annotations = { readOnlyHint: true, audience: ["user"] };
  const content = () => ({ content: [{ type: "text" as const, text: "done" }] });
  const tool = server.registerTool(
    "a",
    { ...more, execution: { taskSupport: "forbidden" }, annotations } as object,
    content,
  );
  tool.update({ ...more, description: "b" });
  server.tool("c", annotations, content);
  server.registerPrompt("a", { ...more, name: "z" } as object, () => ({ messages: [] }));
  server.registerResource("a", "a://b", { ...more, uri: "a://z", name: "z" } as object, () => ({ contents: [] }));
  await using client = await connect(server.bowline);
  const [a, c] = await client.tools().all();
  deepEqual([a?.name, a?.description, a?.annotations], ["a", "b", { readOnlyHint: true }]);
  deepEqual([c?.name, c?.annotations], ["c", { readOnlyHint: true }]);
  equal((await client.callTool("a")).text, "done");
  const [prompt] = await client.prompts().all();
  const [resource] = await client.resources().all();
  deepEqual([prompt?.name, resource?.name, resource?.uri], ["a", "a", "a://b"]);
});
