import { deepEqual, equal, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { aborted, gate } from "../../support/gate.js";
import { until } from "../../support/legacy-endpoint.js";
import { proves } from "../../support/verifies.js";

async function serve(t: TestContext) {
  const started = gate();
  const ended: unknown[] = [];
  const server = new McpServer({ name: "both", version: "1.0.0" }, { http: { sse: true } })
    .tool("count", {}, async (_, ctx) => {
      for (let n = 1; n <= 3; n++) await ctx.progress(n, 3);
      return "counted";
    })
    .tool("ask", {}, async (_, ctx) => {
      const { content } = await ctx.sample({
        messages: [{ role: "user", content: { type: "text", text: "2+2?" } }],
        maxTokens: 5,
      });
      return (content as { text: string }).text;
    })
    .tool("wait", {}, async (_, ctx) => {
      started.open();
      await aborted(ctx.signal);
      ended.push((ctx.signal.reason as Error).message);
    });
  const running = await serveHttp(server);
  t.after(() => running.close());
  return { server, running, started, ended, old: new URL("/sse", running.url) };
}

proves("protocol:progress:callback", { wire: "sse" }, "ten reports in one turn come before the result", async (t) => {
  const server = new McpServer({ name: "both", version: "1.0.0" }, { http: { sse: true } }).tool(
    "ten",
    {},
    (_, ctx) => {
      for (let n = 1; n <= 10; n++) void ctx.progress(n, 10);
      return "done";
    },
  );
  const running = await serveHttp(server);
  t.after(() => running.close());
  const client = await connect(new URL("/sse", running.url));
  t.after(() => client.close());
  const seen: unknown[] = [];
  await client
    .callTool("ten", {}, { onProgress: ({ progress }) => seen.push(progress) })
    .then(({ text }) => seen.push(text));
  deepEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "done"]);
});

proves("transport:sse", { wire: "sse" }, "handshake, calls, progress, sampling and cancellation", async (t) => {
  const { server, old, started, ended } = await serve(t);
  const methods: string[] = [];
  const client = await connect(old, {
    fetch: (url, init) => {
      methods.push(`${init.method} ${url.pathname}`);
      return fetch(url, init);
    },
    onSample: () => ({ role: "assistant", model: "m", content: { type: "text", text: "four" } }),
  });
  deepEqual(methods.slice(0, 4), ["POST /sse", "POST /sse", "GET /sse", "POST /messages"]);
  equal(client.era, "legacy");
  const heard: number[] = [];
  equal((await client.callTool("count", {}, { onProgress: ({ progress }) => heard.push(progress) })).text, "counted");
  deepEqual(heard, [1, 2, 3]);
  equal((await client.callTool("ask")).text, "four");
  const abort = new AbortController();
  const waiting = client.callTool("wait", {}, { signal: abort.signal });
  await started.opened;
  abort.abort("enough");
  await rejects(waiting, (reason) => reason === "enough");
  await until(() => ended.length === 1, "the handler is told");
  deepEqual(ended, ["enough"]);
  await client.close();
  await until(() => server.stats().sessions === 0, "the session is gone");
  deepEqual(
    methods.filter((method) => method.startsWith("GET")),
    ["GET /sse"],
  );
});

for (const wire of ["http", "sse"]) {
  proves("flow:compat:dual-transport-server", { wire }, "old and new clients of one server at once", async (t) => {
    const { running, old, server } = await serve(t);
    const clients = await Promise.all([
      connect(running.url),
      connect(running.url, { era: "legacy" }),
      connect(old, { era: "legacy" }),
      connect(old),
    ]);
    const answers = await Promise.all(clients.map((client) => client.callTool("count")));
    deepEqual(
      answers.map(({ text }) => text),
      ["counted", "counted", "counted", "counted"],
    );
    deepEqual(
      clients.map(({ era }) => era),
      ["modern", "legacy", "legacy", "legacy"],
    );
    equal(server.stats().sessions, 3);
    await Promise.all(clients.map((client) => client.close()));
    await until(() => server.stats().sessions === 0, "all sessions are over");
  });
}
