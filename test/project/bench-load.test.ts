import { equal, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

interface Load {
  run(call: string, options: object): Promise<{ readonly calls: number }>;
  check(call: string): Promise<string | undefined>;
  close(): void;
}

const { HttpLoad } = await loadScript<{ HttpLoad: new (port: number, wire: object, facts: object) => Load }>(
  "bench/load/http-load.mjs",
);

const modern = { transport: "http", modern: true };

async function loadOn(
  t: TestContext,
  listener: RequestListener,
  wire: object = modern,
): Promise<{ server: Server; load: Load }> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const load = new HttpLoad((server.address() as AddressInfo).port, wire, {});
  t.after(() => {
    load.close();
    server.closeAllConnections();
    server.close();
  });
  return { server, load };
}

const window = { concurrency: 4, most: 20, ms: 60_000 };

test("the load opens connections again that the server has closed between windows", async (t) => {
  const { server, load } = await loadOn(t, (_request, response) => void response.end("{}"));
  equal((await load.run("echo", window)).calls, 20);
  for (let round = 0; round < 3; round++) {
    server.closeAllConnections();
    equal((await load.run("echo", window)).calls, 20);
  }
});

test("the load fails if a server closes a connection instead of answering", async (t) => {
  const { load } = await loadOn(t, (request) => void request.socket.destroy());
  await rejects(load.run("echo", window), /closed the connection/);
});

const result = { content: [{ type: "text", text: "hello world" }] };
const forms = {
  "application/json": (text: string) => text,
  "text/event-stream": (text: string) => `data: ${text}\n\n`,
};

/** Answers each request with the result of `echo` in one form, and opens a session if there are any. */
function answering(type: keyof typeof forms, session?: string): RequestListener {
  const headers = { "content-type": type, ...(session === undefined ? {} : { "mcp-session-id": session }) };
  return (_request, response) =>
    void response.writeHead(200, headers).end(forms[type](JSON.stringify({ jsonrpc: "2.0", id: 1, result })));
}

const legacy = { transport: "http", modern: false };

test("the load refuses a response in another form than the wire's", async (t) => {
  const events = await loadOn(t, answering("text/event-stream", "1"), { ...legacy, json: true });
  await rejects(events.load.check("echo"), /echo was answered with text\/event-stream, for application\/json/);
  const json = await loadOn(t, answering("application/json", "1"), legacy);
  await rejects(json.load.check("echo"), /echo was answered with application\/json, for text\/event-stream/);
  const same = await loadOn(t, answering("application/json", "1"), { ...legacy, json: true });
  equal(await same.load.check("echo"), undefined);
});

test("the load remarks on a modern server that responds with events", async (t) => {
  const events = await loadOn(t, answering("text/event-stream"));
  equal(await events.load.check("echo"), "echo is answered with events");
  const json = await loadOn(t, answering("application/json"));
  equal(await json.load.check("echo"), undefined);
});

test("the load refuses a session on a wire without sessions, and a wire with sessions without one", async (t) => {
  const json = { ...legacy, json: true };
  const without = await loadOn(t, answering("application/json"), { ...json, sessions: false });
  equal(await without.load.check("echo"), undefined);
  const unwanted = await loadOn(t, answering("application/json", "1"), { ...json, sessions: false });
  await rejects(unwanted.load.check("echo"), /initialize opened a session, for none/);
  const missing = await loadOn(t, answering("application/json"), json);
  await rejects(missing.load.check("echo"), /initialize opened no session/);
});
