import { deepEqual, equal, ok } from "node:assert/strict";
import { once } from "node:events";
import { Agent, createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "bowline/client";
import { toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import * as z from "zod";
import { eachWire } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { modernRequest } from "../../support/modern-request.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const words = "é ß 猫 … 🦊 👩‍👩‍👧 \u{10ffff}";

verifies(
  "transport:message:utf8",
  "arguments, progress and results, there and back",
  eachWire,
  async ({ connect: dial }) => {
    const server = new McpServer(me).tool("say", { input: z.object({ text: z.string() }) }, async ({ text }, ctx) => {
      await ctx.progress(1, 1, text);
      return text;
    });
    const client = await dial(server);
    // With progress the answer is a stream where there are streams, and without it one document.
    const heard: (string | undefined)[] = [];
    const onProgress = ({ message }: { message?: string | undefined }) => void heard.push(message);
    equal((await client.callTool("say", { text: words }, { onProgress })).text, words);
    equal((await client.callTool("say", { text: words })).text, words);
    deepEqual(heard, [words]);
  },
);

/** A client whose calls are answered with these bytes, in these pieces. */
async function scripted(pieces: (id: unknown, token: unknown) => readonly Uint8Array[], type = "text/event-stream") {
  const errors: Error[] = [];
  const posted: { id?: unknown; method?: string }[] = [];
  const client = await connect("http://localhost/mcp", {
    versions: ["2026-07-28"],
    onElicit: () => ({ action: "accept", content: {} }),
    onError: (error) => void errors.push(error),
    fetch: async (_url, init) => {
      const message = JSON.parse(String(init.body)) as { id: unknown; method: string; params: { _meta: object } };
      posted.push(message);
      const { progressToken } = message.params._meta as { progressToken?: unknown };
      const body = new ReadableStream({
        start(controller) {
          for (const piece of pieces(message.id, progressToken)) controller.enqueue(piece);
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": type } });
    },
  });
  return { client, errors, posted };
}

const event = (message: object) => `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`;
const progress = (progressToken: unknown, value: number) =>
  event({ method: "notifications/progress", params: { progressToken, progress: value } });
const result = (id: unknown, text: string) =>
  event({ id, result: { content: [{ type: "text", text }], resultType: "complete" } });
const bytes = (text: string) => new TextEncoder().encode(text);

proves("transport:message:utf8", { wire: "modern-http" }, "an event stream, byte by byte", async (t) => {
  const { client } = await scripted((id) => Array.from(bytes(result(id, words)), (byte) => Uint8Array.of(byte)));
  t.after(() => client.close());
  equal((await client.callTool("any")).text, words);
});

proves("transport:message:utf8", { wire: "modern-http" }, "one JSON document, byte by byte", async (t) => {
  const { client } = await scripted((id) => {
    const text = result(id, words).replace("event: message\ndata: ", "");
    return Array.from(bytes(text), (byte) => Uint8Array.of(byte));
  }, "application/json");
  t.after(() => client.close());
  equal((await client.callTool("any")).text, words);
});

proves("transport:message:utf8", { wire: "modern-http" }, "a request body, byte by byte", async (t) => {
  const server = new McpServer(me).tool("say", { input: z.object({ text: z.string() }) }, ({ text }) => text);
  const http = createServer(toNodeListener(server)).listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    await server.close();
    http.close();
  });
  const { headers, body } = modernRequest("tools/call", { params: { name: "say", arguments: { text: words } } });
  const pieces = () =>
    Array.from(bytes(JSON.stringify(body)), (byte) => Uint8Array.of(byte)) as readonly Uint8Array<ArrayBuffer>[];
  const { port } = http.address() as AddressInfo;
  const sent = request({ port, host: "127.0.0.1", path: "/mcp", method: "POST", headers: defined(headers) });
  for (const piece of pieces()) sent.write(piece);
  sent.end();
  const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
  ok((await response.setEncoding("utf8").toArray()).join("").includes(words));
  const fetched = await server.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: defined(headers),
      body: new ReadableStream({
        start(controller) {
          for (const piece of pieces()) controller.enqueue(piece);
          controller.close();
        },
      }),
      duplex: "half",
    } as RequestInit),
  );
  ok((await fetched.text()).includes(words));
});

proves(
  "transport:ordering:notification-before-response",
  { wire: "modern-http" },
  "three events in one piece reach their callbacks in order",
  async (t) => {
    for (const timeoutMs of [undefined, 60_000]) {
      const { client } = await scripted((id, token) => [
        bytes(progress(token, 1) + progress(token, 2) + result(id, "done")),
      ]);
      t.after(() => client.close());
      const log: unknown[] = [];
      const onProgress = ({ progress: value }: { progress: number }) => void log.push(value);
      await client.callTool("any", {}, { onProgress, timeoutMs }).then(({ text }) => log.push(text));
      deepEqual(log, [1, 2, "done"]);
    }
  },
);

proves(
  "transport:modern:no-client-responses",
  { wire: "modern-http" },
  "a request on the stream of a call is dropped, told of once, and not answered",
  async (t) => {
    const params = { message: "Sure?", requestedSchema: { type: "object", properties: {} } };
    const { client, errors, posted } = await scripted((id) => [
      bytes(event({ id: "asked", method: "elicitation/create", params }) + result(id, "done")),
    ]);
    t.after(() => client.close());
    equal((await client.callTool("any")).text, "done");
    deepEqual(
      posted.map(({ method }) => method),
      ["tools/call"],
    );
    equal(errors.length, 1);
  },
);

proves(
  "transport:modern:no-connection-state",
  { wire: "modern-http" },
  "requests on one socket know nothing of each other",
  async (t) => {
    const server = new McpServer(me).tool("look", {}, (_args, ctx) => JSON.stringify(ctx.client.capabilities));
    const http = createServer(toNodeListener(server)).listen(0, "127.0.0.1");
    let sockets = 0;
    http.on("connection", () => sockets++);
    await once(http, "listening");
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    t.after(async () => {
      agent.destroy();
      await server.close();
      http.close();
    });
    const { port } = http.address() as AddressInfo;
    const post = async (capabilities: object | undefined) => {
      const meta = { "io.modelcontextprotocol/clientCapabilities": capabilities };
      const { headers, body } = modernRequest("tools/call", { params: { name: "look", arguments: {} }, meta });
      const sent = request({ port, host: "127.0.0.1", path: "/mcp", method: "POST", agent, headers: defined(headers) });
      sent.end(JSON.stringify(body));
      const [response] = (await once(sent, "response")) as [import("node:http").IncomingMessage];
      const text = (await response.setEncoding("utf8").toArray()).join("");
      return { status: response.statusCode, text };
    };
    const answers = await Promise.all([post({ sampling: {} }), post({ roots: {} }), post(undefined)]);
    ok(answers[0]?.text.includes('{\\"sampling\\":{}}'));
    ok(answers[1]?.text.includes('{\\"roots\\":{}}'));
    equal(answers[2]?.status, 400);
    equal(sockets, 1);
  },
);

function defined(headers: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

verifies("hosting:context:web-request-headers", eachWire, async ({ connect: dial, transport }) => {
  const both = gate();
  let waiting = 0;
  const server = new McpServer(me).tool("look", {}, async (_args, ctx) => {
    if (++waiting === 2) both.open();
    await both.opened;
    return JSON.stringify([ctx.url ?? null, ctx.header("X-Tenant") ?? null]);
  });
  const [one, two] = await Promise.all([
    dial(server, { headers: { "x-tenant": "one" } }),
    dial(server, { headers: { "x-tenant": "two" } }),
  ]);
  const seen = await Promise.all([one.callTool("look"), two.callTool("look")]);
  const expected = transport === "node" || transport === "fetch" ? ["one", "two"] : [null, null];
  deepEqual(
    seen.map(({ text }) => JSON.parse(text) as unknown),
    expected.map((tenant) => [tenant === null ? null : "/mcp", tenant]),
  );
});

proves("hosting:context:web-request-headers", { wire: "http" }, "the query is part of the address", async () => {
  const server = new McpServer(me).tool("look", {}, (_args, ctx) => String(ctx.url));
  const fetch = (url: URL, init: RequestInit) => server.fetch(new Request(url, init));
  for (const era of ["modern", "legacy"] as const) {
    const client = await connect("http://localhost/mcp?tenant=1&x=%20", { era, fetch });
    equal((await client.callTool("look")).text, "/mcp?tenant=1&x=%20");
    await client.close();
  }
  await server.close();
});
