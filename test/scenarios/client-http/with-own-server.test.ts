import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { MemoryEventLog } from "#src/store/event-log.js";
import { modernHttp } from "../../support/each-wire.js";
import { FakeClock } from "../../support/fake-clock.js";
import { aborted, gate } from "../../support/gate.js";
import { settled } from "../../support/http-transports.js";
import { until } from "../../support/legacy-endpoint.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "test", version: "1.0.0" };

class CountingLog extends MemoryEventLog {
  appended = 0;

  override append(sessionId: string, streamId: string, data: string): string {
    this.appended++;
    return super.append(sessionId, streamId, data);
  }
}

proves(
  "flow:cancel:event-store-no-leak",
  { wire: "legacy-http" },
  "cancelled and timed-out calls leave nothing behind on either side",
  async (t) => {
    const log = new CountingLog();
    const clock = new FakeClock();
    let ended = gate();
    const server = new McpServer(me, { http: { resumable: log } })
      .tool("wait", {}, async (_, ctx) => {
        ctx.progress(1, 2);
        await aborted(ctx.signal);
        ctx.progress(2, 2);
        ended.open();
        return "too late";
      })
      .tool("add", {}, () => "3");
    const http = await serveHttp(server);
    t.after(() => http.close());
    const asked: (string | undefined)[] = [];
    const problems: unknown[] = [];
    const client = await connect(http.url, {
      era: "legacy",
      clock,
      onError: (error) => problems.push(error),
      fetch: (url, init) => {
        asked.push(init.method);
        return fetch(url, init);
      },
    });
    for (let n = 0; n < 50; n++) {
      for (const how of ["abort", "timeout"]) {
        ended = gate();
        const abort = new AbortController();
        const onProgress = () => (how === "abort" ? abort.abort("enough") : clock.advance(50));
        const call = client.callTool("wait", {}, { onProgress, signal: abort.signal, deadlineMs: 50 });
        await rejects(call, (error) =>
          how === "abort" ? error === "enough" : (error as Error).name === "TimeoutError",
        );
        await ended.opened;
        const { appended } = log;
        await settled();
        equal(log.appended, appended);
        await client.callTool("add", {});
      }
    }
    equal(asked.filter((method) => method === "GET").length, 1);
    deepEqual(problems, []);
    const { running, streams } = server.stats();
    deepEqual([running, streams, client.pending], [0, 1, 0], "nothing but the session's own stream");
    await client.close();
    equal(clock.pending, 0);
    equal(log.size(), 0);
  },
);

/** A response whose body breaks off after its first so many bytes that hold `mark`. */
function cutAfter(response: Response, mark: string): Response {
  const decoder = new TextDecoder();
  let seen = "";
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      seen += decoder.decode(chunk, { stream: true });
      if (seen.includes(mark)) controller.error(new Error("the wire was cut"));
    },
  });
  const { status, headers } = response;
  return new Response(response.body?.pipeThrough(cut) ?? null, { status, headers });
}

proves(
  ["transport:streamable-http:resumability", "flow:resume:tool-call-resumption-token"],
  { wire: "legacy-http" },
  "a call that loses its connection goes on where it was, and nothing comes twice",
  async (t) => {
    const clock = new FakeClock();
    const cutOff = gate();
    const server = new McpServer(me, { http: { resumable: true, retryMs: 100 } }).tool("count", {}, async (_, ctx) => {
      ctx.progress(1, 3);
      await cutOff.opened;
      ctx.progress(2, 3);
      ctx.progress(3, 3);
      return "done";
    });
    const http = await serveHttp(server);
    t.after(() => http.close());
    const resumedFrom: string[] = [];
    const problems: unknown[] = [];
    const client = await connect(http.url, {
      era: "legacy",
      clock,
      onError: (error) => problems.push(error),
      fetch: async (url, init) => {
        const lastEventId = new Headers(init.headers).get("last-event-id");
        if (lastEventId !== null) resumedFrom.push(lastEventId);
        const response = await fetch(url, init);
        return String(init.body).includes("tools/call") ? cutAfter(response, '"progress":1') : response;
      },
    });
    const heard: number[] = [];
    const waits = clock.delays.length;
    const call = client.callTool("count", {}, { onProgress: ({ progress }) => heard.push(progress) });
    // The call's own timer, then the wait before its stream is read on.
    await clock.started(waits + 2);
    deepEqual(heard, [1]);
    cutOff.open();
    clock.advance(100);
    const { content } = await call;
    deepEqual(content, [{ type: "text", text: "done" }]);
    deepEqual(heard, [1, 2, 3]);
    equal(resumedFrom.length, 1);
    deepEqual(problems, []);
    const closing = client.close();
    await closing;
    equal(clock.pending, 0);
  },
);

verifies(
  "client-transport:http:cancel-listen",
  "the handle is closed, and the server keeps no subscriber",
  modernHttp,
  async ({ connect }) => {
    const errors: unknown[] = [];
    const arrived = gate();
    const server = new McpServer(me, { onError: (error) => errors.push(error) }).tool("a", {}, () => "x");
    const hold = { on: false };
    server.use(async (call, next) => {
      if (call.method === "subscriptions/listen" && hold.on) {
        arrived.open();
        await aborted(call.signal);
      }
      return next(call);
    });
    const client = await connect(server, { onError: (error) => void errors.push(error) });
    const subscribers = () => server.stats().openRequests;

    const watch = await client.watch({ toolsListChanged: true });
    equal(subscribers(), 1);
    await watch.close();
    equal(watch.ended, "closed");
    for await (const change of watch) ok(false, JSON.stringify(change));
    await until(() => subscribers() === 0, "the server lets the subscriber go");

    hold.on = true;
    const leave = new AbortController();
    const waiting = client.watch({ toolsListChanged: true }, { signal: leave.signal });
    await arrived.opened;
    equal(subscribers(), 1);
    leave.abort("enough");
    await rejects(waiting, (reason) => reason === "enough");
    await until(() => subscribers() === 0, "the server lets the unacknowledged one go");

    await client.callTool("a");
    const posted = client.wire.requests().map(({ method }) => method);
    deepEqual(
      posted.filter((method) => method !== "server/discover"),
      ["subscriptions/listen", "subscriptions/listen", "tools/call"],
    );
    deepEqual(client.wire.notifications("client"), []);
    deepEqual(errors, []);
  },
);
