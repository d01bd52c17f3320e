import { deepEqual, equal, rejects } from "node:assert/strict";
import { getEventListeners } from "node:events";
import { CallLifetime } from "#src/call/lifetime.js";
import { LegacyHttpTransport } from "#src/era/legacy/client/http.js";
import type { TransportRequest } from "#src/era/transport.js";
import type { Fetch } from "#src/http/client/send.js";
import { ConnectionError } from "#src/protocol/errors.js";
import {
  createTarget,
  LEGACY,
  legacyWorld,
  Recorder,
  SESSION,
  sessionWorld,
  settled,
} from "../../support/http-transports.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "legacy-http" };
const request: TransportRequest = { method: "tools/call", params: { name: "t" }, cancellable: true };
const session = { id: SESSION, version: LEGACY };

interface Fetched {
  // biome-ignore lint/suspicious/noExplicitAny: what a script expects to find is checked by its assertions
  readonly message: any;
  readonly signal: AbortSignal;
  resolve(response: Response): void;
}

/** A link whose every fetch is answered by the test. */
function heldLink() {
  const fetched: Fetched[] = [];
  const fetch: Fetch = (_url, init) =>
    new Promise((resolve) => {
      fetched.push({ message: JSON.parse(String(init.body)), signal: init.signal as AbortSignal, resolve });
    });
  const link = new LegacyHttpTransport(createTarget(new URL("http://127.0.0.1/mcp"), { fetch }), { session });
  const told = new Recorder();
  link.receiver = told;
  return { fetched, link, told };
}

proves(
  ["client-transport:http:post-per-message", "client-transport:http:single-message-body"],
  wire,
  "calls, notifications and answers of one turn are each their own POST to the very URL",
  async (t) => {
    const { script, link, call } = await sessionWorld(t);
    const before = script.all("POST").length;
    script.onRequest = (received) => {
      if (received.rpcMethod === "tools/call") received.result({});
      else received.status(202);
    };
    const calls = [call(), call(), call()];
    const sent = [link.notify("notifications/a", {}), link.notify("notifications/b", {})];
    link.respond("x", "{}");
    await Promise.all([...calls, ...sent, script.next(({ message }) => message?.id === "x")]);
    const posts = script.all("POST").slice(before);
    equal(posts.length, 6);
    for (const { path, headers, message } of posts) {
      equal(path, "/mcp?key=1");
      equal(headers["content-type"], "application/json");
      equal(Array.isArray(message), false);
    }
  },
);

proves(
  ["client-transport:http:accept-header-post", "client-transport:http:reserved-headers"],
  wire,
  "the caller's headers override nothing",
  async (t) => {
    const headers = { ACCEPT: "text/event-stream, text/plain", "Mcp-Session-ID": "evil", "mcp-protocol-version": "1" };
    const { script, call } = await sessionWorld(t, {
      headers: { ...headers, "Last-Event-ID": "evil", "Content-Type": "x" },
    });
    const answered = call();
    const received = await script.next("tools/call");
    received.result({});
    await answered;
    equal(received.headers.accept, "application/json, text/event-stream, text/plain");
    equal(received.headers["content-type"], "application/json");
    equal(received.headers["mcp-session-id"], SESSION);
    equal(received.headers["mcp-protocol-version"], LEGACY);
    const own = await script.next("GET");
    equal(own.headers.accept, "text/event-stream");
    equal(own.headers["last-event-id"], undefined);
    equal(script.received[0]?.headers["mcp-session-id"], undefined);
  },
);

proves(
  "client-transport:http:cross-origin-redirect",
  wire,
  "the session is not carried to another origin",
  async (t) => {
    const { script, call } = await sessionWorld(t);
    const other = await legacyWorld(t);
    (await script.next("GET")).response.writeHead(307, { location: other.script.url.href }).end();
    for (const status of [301, 307, 308]) {
      const answered = call();
      const { response } = await script.next("tools/call");
      response.writeHead(status, { location: other.script.url.href }).end();
      await rejects(answered, { code: "connection_error", status });
    }
    equal(other.script.received.length, 0);
    const answered = call();
    (await script.next("tools/call")).response.writeHead(308, { location: "/moved" }).end();
    const moved = await script.next("tools/call");
    equal(moved.path, "/moved");
    equal(moved.headers["mcp-session-id"], SESSION);
    moved.result({});
    await answered;
  },
);

proves("client-transport:http:body-stream-error-preserved", wire, "the body's own error is the cause", async () => {
  const broken = new Error("torn");
  for (const type of ["application/json", "text/event-stream"]) {
    const { fetched, link } = heldLink();
    const answered = link.request(request, new CallLifetime("t", {}));
    await settled();
    const body = new ReadableStream({ pull: (controller) => controller.error(broken) });
    fetched[0]?.resolve(new Response(body, { headers: { "content-type": type } }));
    await rejects(answered, (error) => error instanceof ConnectionError && error.cause === broken);
  }
});

proves(
  ["client-transport:http:cancel-before-start", "client-transport:http:cancel-id-verbatim"],
  wire,
  "a call given up in the turn it was made leaves nothing, later it is cancelled under its very id",
  async () => {
    for (const id of [1, "1"]) {
      const { fetched, link } = heldLink();
      const unsent = new CallLifetime("t", {});
      const dropped = link.request({ ...request, id }, unsent);
      unsent.abort("at once");
      await rejects(dropped, (error) => error === "at once");
      await settled();
      equal(fetched.length, 0);
      equal(link.open, 0);

      const scope = new CallLifetime("t", {});
      const answered = link.request({ ...request, id }, scope);
      await settled();
      scope.abort("at once");
      await rejects(answered, (error) => error === "at once");
      deepEqual(fetched[1]?.message.params, { requestId: id, reason: "at once" });
      equal(fetched[0]?.signal.aborted, false);
      fetched[1]?.resolve(new Response(null, { status: 202 }));
      await settled();
      equal(fetched[0]?.signal.aborted, true);
      equal(link.pending, 0);
      equal(fetched.length, 2);
    }
  },
);

proves(
  ["client-transport:http:reused-id-registration", "client-transport:http:reused-id-late-response"],
  wire,
  "a call that is still unwinding does not touch its successor under the same id",
  async () => {
    const { fetched, link, told } = heldLink();
    const first = new CallLifetime("t", {});
    const one = link.request({ ...request, id: "X" }, first);
    await settled();
    first.abort("no");
    await rejects(one, (error) => error === "no");
    const second = new CallLifetime("t", {});
    const two = link.request({ ...request, id: "X" }, second);
    fetched[1]?.resolve(new Response(null, { status: 202 }));
    fetched[0]?.resolve(Response.json({ jsonrpc: "2.0", id: "X", result: { from: "first" } }));
    await settled();
    equal(link.pending, 1);
    equal(fetched[2]?.signal.aborted, false);
    second.abort("no more");
    await rejects(two, (error) => error === "no more");
    equal(fetched[3]?.message.params.requestId, "X");
    deepEqual(told.problems, []);
  },
);

proves("client-transport:http:signal-listeners", wire, "many calls leave no listener on a shared signal", async () => {
  const fetch: Fetch = async (_url, init) =>
    Response.json({ jsonrpc: "2.0", id: JSON.parse(String(init.body)).id, result: {} });
  const link = new LegacyHttpTransport(createTarget(new URL("http://127.0.0.1/mcp"), { fetch }), { session });
  const { signal } = new AbortController();
  for (let n = 0; n < 1000; n++) {
    const scope = new CallLifetime("t", { signal });
    await link.request(request, scope);
    scope.close();
  }
  equal(getEventListeners(signal, "abort").length, 0);
});
