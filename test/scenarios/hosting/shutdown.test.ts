import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect, McpError } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { FakeClock } from "../../support/fake-clock.js";
import { aborted, gate } from "../../support/gate.js";
import { blocks, LegacyEndpoint, messages, status, until } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";
import { askPort, initialize } from "../../support/plain-http.js";
import { proves } from "../../support/verifies.js";

const me = { name: "closing", version: "1.0.0" };

function createServer(clock?: FakeClock) {
  const started = { quick: gate(), endless: gate() };
  const release = gate();
  const ended: string[] = [];
  const server = new McpServer(me, clock === undefined ? {} : { clock })
    .tool("quick", {}, async () => {
      started.quick.open();
      await release.opened;
      return "done";
    })
    .tool("endless", {}, async (_, ctx) => {
      started.endless.open();
      await aborted(ctx.signal);
      ended.push("endless");
    })
    .tool("late", {}, () => {
      ended.push("late");
      return "never";
    });
  return { server, started, release, ended };
}

/** Connection of a client that sends one request after another on it. */
class KeptConnection {
  readonly #socket: Socket;
  readonly #head: string;
  readonly #body: string;
  #sent = 0;
  #received = "";
  /** Resolves when the connection is closed. */
  readonly gone: Promise<unknown>;

  constructor(port: number, { headers, body }: { readonly headers?: object; readonly body?: unknown }) {
    this.#body = JSON.stringify(body);
    const lines = Object.entries({ host: "localhost", ...headers, "content-length": Buffer.byteLength(this.#body) });
    this.#head = `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
    this.#socket = connectSocket(port, "127.0.0.1");
    this.#socket.on("data", (chunk) => {
      this.#received += chunk;
    });
    this.gone = once(this.#socket, "close");
  }

  /** Sends the first half of a request. */
  begin(): void {
    this.#sent = Math.floor((this.#head.length + this.#body.length) / 2);
    this.#socket.write((this.#head + this.#body).slice(0, this.#sent));
  }

  /** Sends a request, or the rest of one, and returns its response. */
  async ask(): Promise<string> {
    this.#received = "";
    this.#socket.write((this.#head + this.#body).slice(this.#sent));
    this.#sent = 0;
    while (!this.#isAnswered() && !this.#socket.closed) await new Promise(setImmediate);
    return this.#received;
  }

  close(): void {
    this.#socket.destroy();
  }

  #isAnswered(): boolean {
    const end = this.#received.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(this.#received) ?? [];
    if (length !== undefined) return Buffer.byteLength(this.#received.slice(end + 4)) >= Number(length);
    return this.#received.endsWith("0\r\n\r\n");
  }
}

for (const era of ["modern", "legacy"] as const) {
  proves(
    "hosting:http:graceful-shutdown",
    { wire: `${era}-http` },
    "what runs may finish, what does not is ended",
    async (t) => {
      const clock = new FakeClock();
      const { server, started, release, ended } = createServer(clock);
      const running = await serveHttp(server, { lameDuckMs: 0 });
      t.after(() => running.close());
      const client = await connect(running.url, { era });
      t.after(() => client.close());
      const quick = client.callTool("quick");
      const endless = client.callTool("endless");
      const watching = era === "modern" ? await client.watch({ toolsListChanged: true }) : undefined;
      await Promise.all([started.quick.opened, started.endless.opened]);
      if (era === "legacy") equal(server.stats().sessions, 1);
      ok(running.ready);
      const drained = running.drain(5000);
      ok(!running.ready);
      while (running.server.listening) await new Promise(setImmediate);
      // Nothing new is served any more, on new connections or on those that are open.
      await rejects(
        askPort(running.port, era === "modern" ? modernRequest("tools/list") : initialize()),
        /ECONNREFUSED/,
      );
      await rejects(client.callTool("late"), McpError);
      release.open();
      equal((await quick).text, "done");
      deepEqual(ended, []);
      clock.advance(5000);
      await rejects(endless, era === "modern" ? { rpcCode: -32603 } : { delivery: "answer_lost" });
      await drained;
      deepEqual(ended, ["endless"]);
      if (watching !== undefined) for await (const change of watching) ok(change === undefined, "nothing changed");
      equal(watching?.ended, era === "modern" ? "graceful" : undefined);
      const { sessions = 0, streams = 0, openRequests = 0 } = server.stats();
      deepEqual([sessions, streams, openRequests], [0, 0, 0]);
      equal(running.server.listening, false);
      await running.drain(5000);
      await running.close();
    },
  );
}

for (const era of ["modern", "legacy"] as const) {
  const wire = `${era}-http`;
  const request = () => (era === "modern" ? modernRequest("tools/list") : initialize());

  proves("hosting:http:graceful-shutdown", { wire }, "it serves on until balancers know", async (t) => {
    const clock = new FakeClock();
    const { server } = createServer();
    const running = await serveHttp(server, { lameDuckMs: 3000, clock });
    t.after(() => running.close());
    const probe = async (path: string) => {
      const { status, headers, text } = await askPort(running.port, { method: "GET", path });
      return [status, headers["retry-after"], text];
    };
    deepEqual(
      [await probe("/livez"), await probe("/readyz")],
      [
        [200, undefined, "ok"],
        [200, undefined, "ok"],
      ],
    );
    const drained = running.drain(5000);
    deepEqual(await probe("/readyz"), [503, "1", "draining"]);
    deepEqual(await probe("/livez"), [200, undefined, "ok"]);
    const served = await askPort(running.port, request());
    deepEqual([served.status, served.headers.connection], [200, "close"]);
    clock.advance(2999);
    equal((await askPort(running.port, request())).status, 200);
    clock.advance(1);
    await drained;
    await rejects(askPort(running.port, request()), { code: "ECONNREFUSED" });
  });

  proves("hosting:http:graceful-shutdown", { wire }, "a connection that is open already is served", async (t) => {
    const { server } = createServer();
    const running = await serveHttp(server, { lameDuckMs: 0 });
    t.after(() => running.close());
    const accepted = once(running.server, "connection");
    const socket = connectSocket(running.port, "127.0.0.1");
    t.after(() => socket.destroy());
    await accepted;
    const drained = running.drain(5000);
    while (running.server.listening) await new Promise(setImmediate);
    const { headers, body } = request();
    const text = JSON.stringify(body);
    const lines = Object.entries({ host: "localhost", ...headers, "content-length": Buffer.byteLength(text) });
    socket.end(`POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${text}`);
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    match(answer, /^HTTP\/1\.1 200 /);
    await drained;
  });

  proves("hosting:http:graceful-shutdown", { wire }, "a request that had begun to arrive is served", async (t) => {
    const { server } = createServer();
    const running = await serveHttp(server, { lameDuckMs: 0 });
    t.after(() => running.close());
    const socket = connectSocket(running.port, "127.0.0.1");
    t.after(() => socket.destroy());
    const { headers, body } = request();
    const text = JSON.stringify(body);
    const lines = Object.entries({ host: "localhost", ...headers, "content-length": Buffer.byteLength(text) });
    const head = `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
    socket.write(head + text.slice(0, 20));
    while (server.stats().bodies === 0) await new Promise(setImmediate);
    const drained = running.drain(5000);
    while (running.server.listening) await new Promise(setImmediate);
    socket.end(text.slice(20));
    let answer = "";
    for await (const chunk of socket) answer += chunk;
    match(answer, /^HTTP\/1\.1 200 /);
    await drained;
  });

  proves(
    ["hosting:http:graceful-shutdown", "hosting:http:drain-kept"],
    { wire },
    "a connection that a client keeps carries one more request at each moment of a drain",
    async (t) => {
      const moments = ["before", "lame duck", "not listening", "half before", "half in lame duck"] as const;
      for (const moment of moments) {
        const clock = new FakeClock();
        const { server } = createServer(clock);
        const running = await serveHttp(server, { lameDuckMs: 1500, clock });
        const kept = new KeptConnection(running.port, request());
        t.after(() => kept.close());
        t.after(() => running.close());
        match(await kept.ask(), /^HTTP\/1\.1 200 /);
        if (moment === "half before") kept.begin();
        const asked = moment === "before" ? kept.ask() : undefined;
        const drained = running.drain(5000);
        if (moment === "half in lame duck") kept.begin();
        let answer = asked === undefined ? undefined : await asked;
        if (moment === "lame duck") answer = await kept.ask();
        clock.advance(1500);
        while (running.server.listening) await new Promise(setImmediate);
        answer ??= await kept.ask();
        match(answer, /^HTTP\/1\.1 200 /, moment);
        match(answer, /\r\nconnection: close\r\n/i, moment);
        await drained;
        equal(clock.now(), 1500, `${moment}: the drain ends with its last connection`);
      }
    },
  );

  proves(
    ["hosting:http:graceful-shutdown", "hosting:http:drain-kept"],
    { wire },
    "a connection that carries nothing more does not hold up a drain for longer than lameDuckMs",
    async (t) => {
      for (const graceMs of [5000, 700]) {
        const clock = new FakeClock();
        const { server } = createServer(clock);
        const running = await serveHttp(server, { lameDuckMs: 1500, clock });
        const kept = new KeptConnection(running.port, request());
        t.after(() => kept.close());
        t.after(() => running.close());
        await kept.ask();
        const drained = running.drain(graceMs);
        clock.advance(1500);
        while (running.server.listening) await new Promise(setImmediate);
        clock.advance(Math.min(graceMs, 1500));
        await drained;
        await kept.gone;
      }
    },
  );

  proves("hosting:http:graceful-shutdown", { wire }, "a refusal says when to come again", async () => {
    const { server } = createServer();
    const drained = server.drain(0);
    const late = createArrayExchange(request() as { headers: Record<string, string>; body: unknown });
    server.handle(late);
    await late.done;
    deepEqual([late.status, late.headers["retry-after"]], [503, "1"]);
    await drained;
  });
}

proves("hosting:http:graceful-shutdown", { wire: "http" }, "it is over as soon as the last call is", async () => {
  for (const era of ["modern", "legacy"] as const) {
    const clock = new FakeClock();
    const { server, started, release } = createServer(clock);
    const running = await serveHttp(server, { lameDuckMs: 0 });
    const client = await connect(running.url, { era });
    const quick = client.callTool("quick");
    await started.quick.opened;
    const drained = running.drain(1_000_000);
    release.open();
    equal((await quick).text, "done");
    await drained;
    await client.close();
  }
});

proves(
  "hosting:http:graceful-shutdown",
  { wire: "legacy-http" },
  "what a running call waits for is taken, and nothing new",
  async () => {
    const endpoint = new LegacyEndpoint({ resumable: true });
    const { server } = endpoint;
    server.tool("ask", {}, async (_, ctx) => {
      const { action } = await ctx.elicit("Sure?", { type: "object", properties: {} });
      return action;
    });
    server.tool("wait", {}, (_, ctx) => aborted(ctx.signal));
    const client = await endpoint.open("2025-11-25", { elicitation: {} });
    const asking = client.call(1, "ask");
    client.call(2, "wait");
    await until(() => messages(asking).length === 1 && endpoint.stats.running === 2);
    const [question] = messages(asking) as { id: number }[];
    const drained = server.drain(1_000_000);
    await status(client.call(3, "ask"), 503);
    await status(endpoint.initialize(), 503);
    await status(client.get(), 503);
    const lastEventId = blocks(asking).at(-1)?.id;
    asking.disconnect();
    const resumed = client.get(lastEventId);
    await until(() => resumed.status === 200);
    await status(client.cancel(2), 202);
    await status(client.post({ jsonrpc: "2.0", id: question?.id, result: { action: "decline" } }), 202);
    await resumed.done;
    match(resumed.body(), /decline/);
    await drained;
    await status(client.post({ jsonrpc: "2.0", id: 9, result: {} }), 503);
  },
);

proves("hosting:http:graceful-shutdown", {}, "the process exits by itself", async () => {
  const program = `
    import { serveHttp } from "bowline/node";
    import { connect } from "bowline/client";
    import { McpServer } from "bowline/server";
    const server = new McpServer({ name: "a", version: "1" }).tool("wait", {}, (_, ctx) => new Promise((_, no) =>
      ctx.signal.addEventListener("abort", () => no(ctx.signal.reason))));
    const running = await serveHttp(server, { lameDuckMs: 0 });
    const clients = [];
    for (const era of ["modern", "legacy"]) {
      const client = await connect(running.url, { era });
      clients.push(client);
      client.callTool("wait").catch(() => {});
    }
    await running.drain(50);
    console.log("drained");
    for (const client of clients) await client.close();
  `;
  const cwd = fileURLToPath(new URL("../../../../", import.meta.url));
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd, timeout: 20_000 });
  equal(stdout, "drained\n");
});

proves("hosting:http:shutdown-body-race", { wire: "http" }, "what arrives too late is not dispatched", async () => {
  for (const request of [modernRequest("tools/call", { params: { name: "late", arguments: {} } }), initialize()]) {
    const { server, ended } = createServer();
    const arrived = gate();
    const inner = createArrayExchange(request as { headers: Record<string, string>; body: unknown });
    const text = inner.text.bind(inner);
    inner.text = async (limit) => {
      await arrived.opened;
      return text(limit);
    };
    server.handle(inner);
    await server.close();
    arrived.open();
    await inner.done;
    equal(inner.status, 503);
    deepEqual([ended, server.stats().sessions], [[], 0]);
  }
});
