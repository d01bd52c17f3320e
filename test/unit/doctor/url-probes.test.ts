import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { type ClientOptions, connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { orAborted } from "#src/auth/abortable.js";
import type { Network } from "#src/doctor/network.js";
import type { Subject } from "#src/doctor/session.js";
import type { Fetch } from "#src/http/client/send.js";
import { examineUrl } from "../../support/faulty/examination.js";

const PUBLIC = "https://mcp.example/mcp";
const LOCAL = "http://127.0.0.1:9/mcp";

interface Sent {
  /** Which way the request took. */
  readonly by: "client" | keyof Network;
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
}

type Answer = (request: Request, sent: Sent) => Promise<Response> | Response | undefined;

/** Examines a server in this process as if it were at a URL. What `answer` leaves alone goes to the server. */
async function examined(url: string, answer: Answer = () => undefined, more: Partial<Subject> = {}) {
  const allowed = { allowedHosts: [new URL(url).host], allowedOrigins: [new URL(url).origin] };
  const server = new McpServer({ name: "harbour", version: "1" }, { http: { ...allowed, responseMode: "json" } });
  const sent: Sent[] = [];
  const send =
    (by: Sent["by"]): Fetch =>
    async (to, { method = "GET", headers, body, signal }) => {
      const one: Sent = { by, url: to.href, method, headers: new Headers(headers) };
      sent.push(one);
      const request = new Request(to, {
        method,
        headers: { host: to.host, ...Object.fromEntries(one.headers) },
        body: body ?? null,
      });
      return (
        (await orAborted(Promise.resolve(answer(request, one)), signal ?? new AbortController().signal)) ??
        (to.href === url ? server.fetch(request) : new Response(null, { status: 404 }))
      );
    };
  const network: Network = { fetch: send("fetch"), raw: send("raw"), guarded: send("guarded") };
  const connectHere: Subject["connect"] = (target, options) => {
    const fetch = options.fetch as Fetch;
    return connect(target, {
      ...options,
      fetch: (to, init) => fetch(to, { ...init, ownFetch: send("client") } as never),
    } as ClientOptions);
  };
  const report = await examineUrl(url, { connect: connectHere, network, ...more });
  await server.close();
  return { report, sent };
}

const unauthorized = (challenge: string) =>
  new Response(null, { status: 401, headers: { "www-authenticate": `Bearer ${challenge}` } });

test("a foreign Host is sent to a server of this machine, and to no other", async () => {
  const own = await examined(LOCAL);
  deepEqual(
    own.sent.filter(({ by }) => by === "raw").map(({ headers }) => headers.get("host")),
    ["rebound.example"],
  );
  ok(own.report.passed.includes("http/host"));
  const other = await examined(PUBLIC);
  ok(other.sent.every(({ by, headers }) => by !== "raw" && !headers.has("host")));
  ok(other.report.notApplicable.includes("http/host"));
  deepEqual(other.report.findings, []);
});

test("metadata of a public server is requested by the guard, without headers of the user", async () => {
  const headers = { authorization: "Bearer opaque", "x-api-key": "key" };
  const named = "https://elsewhere.example/metadata";
  const { sent, report } = await examined(
    PUBLIC,
    (request) =>
      request.url === PUBLIC && !request.headers.has("authorization")
        ? unauthorized(`resource_metadata="${named}"`)
        : undefined,
    { headers },
  );
  const documents = sent.filter(({ url }) => url !== PUBLIC);
  ok(documents.some(({ url }) => url === named));
  for (const { by, headers: got } of documents) {
    equal(by, "guarded");
    deepEqual([got.has("authorization"), got.has("x-api-key")], [false, false]);
  }
  ok(report.findings.some(({ rule }) => rule === "auth/metadata"));
});

test("a private address that a public server names is not requested", async () => {
  for (const named of [
    "https://10.0.0.1/metadata",
    "https://169.254.169.254/latest",
    "https://[::1]/metadata",
    "http://plain.example/metadata",
  ]) {
    const { sent, report } = await examined(PUBLIC, ({ url }) =>
      url === PUBLIC ? unauthorized(`resource_metadata="${named}"`) : undefined,
    );
    ok(!sent.some(({ url }) => url === named), named);
    const found = report.findings.filter(({ rule }) => rule === "auth/metadata");
    deepEqual(
      found.map(({ level, place }) => [level, place]),
      [["error", named]],
    );
  }
});

test("a redirect of metadata to a private address is not followed", async () => {
  const inside = "https://192.168.0.1/";
  const { sent } = await examined(PUBLIC, ({ url }) =>
    url === PUBLIC ? unauthorized("") : new Response(null, { status: 302, headers: { location: inside } }),
  );
  ok(sent.length > 2);
  ok(!sent.some(({ url }) => url === inside));
});

test("metadata that a private server names may be private", async () => {
  const named = "http://127.0.0.1:10/metadata";
  const { sent } = await examined(LOCAL, ({ url }) =>
    url === LOCAL ? unauthorized(`resource_metadata="${named}"`) : undefined,
  );
  deepEqual(
    sent.filter(({ url }) => url === named).map(({ by }) => by),
    ["fetch"],
  );
});

test("a body without end is read up to a limit", async () => {
  let pulled = 0;
  let cancelled = 0;
  const endless = () =>
    new ReadableStream({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(16_384).fill(120));
      },
      cancel: () => {
        cancelled++;
      },
    });
  const { report } = await examined(PUBLIC, (request) =>
    request.headers.get("content-type") === "text/plain" ? new Response(endless(), { status: 400 }) : undefined,
  );
  equal(cancelled, 1);
  ok(pulled < 12, `${pulled} chunks`);
  deepEqual(report.findings, []);
});

test("a response that never comes is given up, and told", async () => {
  const clock = new FakeClock();
  const { report } = await examined(
    PUBLIC,
    (request, { by }) => {
      if (by === "client" || request.headers.get("content-type") !== "text/plain") return undefined;
      setImmediate(() => clock.advance(10_000));
      return new Promise(() => {});
    },
    { clock },
  );
  match(
    report.findings.map(({ rule, text }) => `${rule}: ${text}`).join(),
    /^http\/malformed: .* gets no response in time, not 415$/,
  );
});

test("a server that hangs has less time for each probe after the third", async () => {
  const fake = new FakeClock();
  let last = 0;
  const clock: Subject["clock"] = {
    now: () => fake.now(),
    schedule: (callback, ms) => {
      last = ms;
      return fake.schedule(callback, ms);
    },
    cancel: (handle) => fake.cancel(handle),
  };
  const waits: number[] = [];
  await examined(
    PUBLIC,
    (_, { by }) => {
      if (by === "client") return undefined;
      waits.push(last);
      setImmediate(() => fake.advance(last));
      return new Promise(() => {});
    },
    { clock },
  );
  deepEqual(waits.slice(0, 3), [10_000, 10_000, 10_000]);
  deepEqual([...new Set(waits.slice(3, -1))], [2_000]);
  ok(waits.length > 8, `${waits.length} probes`);
});

test("the session of a probe is ended", async () => {
  const open = new Set<string>();
  let ended = 0;
  await examined(PUBLIC, ({ method, headers }, { by }) => {
    const session = headers.get("mcp-session-id");
    if (by === "fetch" && method === "DELETE" && session !== null && open.delete(session)) ended++;
    if (by !== "fetch" || method !== "POST" || session !== null) return undefined;
    const id = crypto.randomUUID();
    open.add(id);
    return new Response("{}", { status: 200, headers: { "mcp-session-id": id } });
  });
  ok(ended > 0);
  equal(open.size, 0);
});
