import { deepEqual, equal, ok } from "node:assert/strict";
import { connect } from "node:net";
import { legacyServer } from "#src/era/legacy/server/era.js";
import { modernServer } from "#src/era/modern/server/era.js";
import type { Context } from "#src/server/context.js";
import { MemoryEventLog } from "#src/store/event-log.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { aborted, gate } from "../../support/gate.js";
import { until } from "../../support/legacy-endpoint.js";
import { defineServer, eachHost, listen, readMessages, resultOf } from "../../support/modern-hosts.js";
import { modernRequest, type RequestInit, sseMessages } from "../../support/modern-request.js";
import { proves, verifies } from "../../support/verifies.js";

const call = (name: string, init: RequestInit = {}) =>
  modernRequest("tools/call", { ...init, params: { name, arguments: {}, ...init.params } });
const PROGRESS = { meta: { progressToken: "p" } };

/** A client that leaves gets no answer, however its host puts that. */
const ignore = () => undefined;

verifies(
  "hosting:http:modern:disconnect-cancels",
  "closing the stream aborts the handler",
  eachHost,
  async ({ serve }) => {
    for (const way of ["cancel the body", "abort the request"]) {
      const ended = gate<unknown>();
      const send = await serve(
        defineServer().tool("wait", {}, async (_, ctx) => {
          ctx.progress(1);
          await aborted(ctx.signal);
          ended.open(ctx.signal.reason);
          return "late";
        }),
      );
      const abort = new AbortController();
      const stream = readMessages(await send(call("wait", PROGRESS), abort.signal));
      equal((await stream.next())?.method, "notifications/progress", way);
      if (way === "cancel the body") await stream.leave();
      else abort.abort();
      equal(((await ended.opened) as Error).name, "ConnectionError");
    }
  },
);

verifies(
  "hosting:http:modern:disconnect-before-headers",
  "leaving before any byte aborts too",
  eachHost,
  async ({ serve }) => {
    for (const http of [{}, { responseMode: "prefer-json" }, { responseMode: "json" }] as const) {
      const started = gate();
      const ended = gate();
      const send = await serve(
        defineServer({ http }).tool("wait", {}, async (_, ctx) => {
          started.open();
          await aborted(ctx.signal);
          ended.open();
          return "late";
        }),
      );
      const abort = new AbortController();
      const sent = send(call("wait"), abort.signal).then((response) => response.text(), ignore);
      await started.opened;
      abort.abort();
      await ended.opened;
      ok(!(await sent)?.includes("late"));
    }
  },
);

verifies(
  "hosting:http:modern:disconnect-stops-work",
  "two hundred cancelled calls leave nothing",
  eachHost,
  async ({ serve }) => {
    const ended: Promise<unknown>[] = [];
    let running = 0;
    const allStarted = gate();
    const server = defineServer().tool("wait", {}, async (_, ctx) => {
      running += 1;
      ended.push(aborted(ctx.signal));
      if (running === 200) allStarted.open();
      await aborted(ctx.signal);
      running -= 1;
      return "late";
    });
    const send = await serve(server);
    const abort = new AbortController();
    const sent = Array.from({ length: 200 }, (_, id) => send(call("wait", { id }), abort.signal).catch(ignore));
    await allStarted.opened;
    equal(server.stats().openRequests, 200);
    abort.abort();
    await Promise.all([...sent, ...ended]);
    equal(server.stats().openRequests, 0);
    equal(running, 0);
  },
);

verifies(
  "hosting:http:modern:disconnect-no-further-messages",
  "a handler that goes on is not heard",
  eachHost,
  async ({ serve }) => {
    const started = gate<Context>();
    const goOn = gate();
    const done = gate();
    const log = new MemoryEventLog();
    const server = defineServer({ http: { resumable: log } }, [modernServer, legacyServer])
      .tool("stubborn", {}, async (_, ctx) => {
        ctx.progress(1);
        started.open(ctx);
        await goOn.opened;
        await ctx.progress(2);
        await ctx.log("error", "still here");
        done.open();
        return "late";
      })
      .tool("echo", {}, () => "hi");
    const send = await serve(server);
    const abort = new AbortController();
    const init = { meta: { progressToken: "p", "io.modelcontextprotocol/logLevel": "debug" } };
    const listening = readMessages(
      await send(modernRequest("subscriptions/listen", { params: { notifications: { toolsListChanged: true } } })),
    );
    equal((await listening.next())?.method, "notifications/subscriptions/acknowledged");
    const stream = readMessages(await send(call("stubborn", init), abort.signal));
    await stream.next();
    const ctx = await started.opened;
    abort.abort();
    await aborted(ctx.signal);
    goOn.open();
    await done.opened;
    equal(log.size(), 0);
    const other = await send(call("echo", init));
    equal(other.headers.get("content-type"), "application/json");
    equal((await resultOf(other)).resultType, "complete");
    server.tool("new", {}, () => "new");
    equal((await listening.next())?.method, "notifications/tools/list_changed");
    await listening.leave();
  },
);

verifies(
  ["hosting:http:modern:disconnect-scoped", "hosting:http:modern:id-collision-isolated"],
  "twenty calls with one id, one of them cancelled",
  eachHost,
  async ({ serve }) => {
    const allStarted = gate();
    const finish = gate();
    const ended = gate<number>();
    let running = 0;
    const input = { type: "object", properties: { n: { type: "integer" } } } as const;
    const server = defineServer().tool("count", { input }, async (args, ctx) => {
      const { n } = args as { n: number };
      ctx.progress(n);
      running += 1;
      if (running === 20) allStarted.open();
      await Promise.race([finish.opened, aborted(ctx.signal)]);
      if (ctx.signal.aborted) ended.open(n);
      return `number ${n}`;
    });
    const send = await serve(server);
    const abort = new AbortController();
    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        send(call("count", { ...PROGRESS, params: { arguments: { n: n + 1 } } }), n === 7 ? abort.signal : undefined),
      ),
    );
    await allStarted.opened;
    abort.abort();
    equal(await ended.opened, 8);
    finish.open();
    for (const [n, reply] of replies.entries()) {
      if (n === 7) continue;
      const [progress, answer] = sseMessages(await reply.text());
      deepEqual(progress?.params, { progressToken: "p", progress: n + 1 });
      const result = answer?.result as { content: unknown } | undefined;
      deepEqual(result?.content, [{ type: "text", text: `number ${n + 1}` }]);
    }
  },
);

verifies(
  "hosting:http:modern:cancel-id-collision",
  "nobody cancels another's call by its id",
  eachHost,
  async ({ serve }) => {
    const started = gate();
    const finish = gate();
    const send = await serve(
      defineServer().tool("slow", {}, async (_, ctx) => {
        started.open();
        await finish.opened;
        return `aborted: ${ctx.signal.aborted}`;
      }),
    );
    const running = send(call("slow", { id: 1 }));
    await started.opened;
    const { headers } = modernRequest("notifications/cancelled");
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    equal((await send({ headers, body: cancelled })).status, 202);
    finish.open();
    deepEqual((await resultOf(await running)).content, [{ type: "text", text: "aborted: false" }]);
  },
);

verifies(
  "hosting:http:modern:listen-disconnect",
  "a hundred dropped streams leave no subscriber",
  eachHost,
  async ({ serve }) => {
    const server = defineServer().tool("echo", {}, () => "hi");
    const send = await serve(server);
    const filter = { params: { notifications: { toolsListChanged: true } } };
    const streams = await Promise.all(
      Array.from({ length: 100 }, async (_, id) =>
        readMessages(await send(modernRequest("subscriptions/listen", { id, ...filter }))),
      ),
    );
    for (const stream of streams) equal((await stream.next())?.method, "notifications/subscriptions/acknowledged");
    equal(server.stats().openRequests, 100);
    for (const stream of streams) await stream.leave();
    // Each drop is noticed in a turn of its own; a request that is answered later comes after them all.
    while ((server.stats().openRequests ?? 0) > 0) await (await send(call("echo"))).text();
    server.tool("new", {}, () => "new");
    equal(server.stats().openRequests, 0);
  },
);

proves(
  "hosting:http:modern:listen-disconnect",
  { wire: "modern-http" },
  "a change is written to none of the dropped streams",
  async (t) => {
    const server = defineServer().tool("echo", {}, () => "hi");
    t.after(() => server.close());
    const listen = (id: number) => {
      const { headers, body } = modernRequest("subscriptions/listen", {
        id,
        params: { notifications: { toolsListChanged: true } },
      });
      const exchange = createArrayExchange({ headers, body });
      const open = exchange.stream.bind(exchange);
      const seen = { exchange, writes: 0 };
      exchange.stream = (...args) => {
        const stream = open(...args);
        const write = stream.write.bind(stream);
        stream.write = (text) => {
          seen.writes++;
          return write(text);
        };
        return stream;
      };
      server.handle(exchange);
      return seen;
    };
    const kept = listen(0);
    const dropped = Array.from({ length: 100 }, (_, at) => listen(at + 1));
    const all = [kept, ...dropped];
    await until(() => all.every(({ writes }) => writes === 1), "every stream is acknowledged");
    for (const { exchange } of dropped) exchange.disconnect();
    await until(() => server.stats().openRequests === 1, "only one stream is left");
    server.tool("new", {}, () => "new");
    await until(() => kept.writes === 2, "the change is told");
    equal(Math.max(...dropped.map(({ writes }) => writes)), 1);
  },
);

proves(
  "hosting:http:modern:normal-end-not-cancel",
  { wire: "modern-http" },
  "the end of a connection is not a cancellation",
  async (t) => {
    const seen: AbortSignal[] = [];
    const server = defineServer().tool("echo", {}, (_, ctx) => {
      seen.push(ctx.signal);
      return "hi";
    });
    const port = await listen(t, server);
    const { headers, body } = call("echo");
    const text = JSON.stringify(body);
    const lines = Object.entries({ ...headers, host: "localhost", "content-length": String(text.length) }).map(
      ([name, value]) => `${name}: ${value}`,
    );
    const raw = `POST /mcp HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${text}`;
    const socket = connect(port, "127.0.0.1");
    const closed = gate();
    socket.on("close", () => closed.open());
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
      if (received.split('"resultType"').length === 3) socket.destroy();
    });
    // Two requests in one go on one connection, which ends right behind the last answer.
    socket.write(raw + raw);
    await closed.opened;
    equal(
      (
        await fetch(`http://127.0.0.1:${port}/mcp`, {
          method: "POST",
          headers: headers as Record<string, string>,
          body: text,
        })
      ).status,
      200,
    );
    deepEqual(
      seen.map((signal) => signal.aborted),
      [false, false, false],
    );
  },
);
