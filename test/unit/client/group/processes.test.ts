import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { type TestContext, test } from "node:test";
import { createGroup, type GroupOptions, ServerUnavailableError } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { child, exists, Lines, SOON } from "../../../support/server-child.js";

/** Counts who is connected: each child keeps one connection while it lives. */
async function presence(t: TestContext) {
  let alive = 0;
  const changed = new Lines();
  const server = createServer((socket) => {
    alive++;
    changed.take(String(alive));
    const gone = () => {
      alive--;
      changed.take(String(alive));
    };
    socket.on("error", () => {}).once("close", gone);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return { port: (server.address() as { port: number }).port, changed, alive: () => alive };
}

function ofChildren(t: TestContext, servers: Record<string, ReturnType<typeof child>>, options: GroupOptions = {}) {
  const stderr = new Lines();
  const group = createGroup(
    { mcpServers: servers },
    { process: (server) => ({ stderr: (line) => stderr.take(`${server}: ${line}`), shutdown: SOON }), ...options },
  );
  t.after(() => group.close());
  return { group, stderr };
}

test("a process is started when it is first needed, and its lines are known by its name", async (t) => {
  const { port, alive, changed } = await presence(t);
  const { group, stderr } = ofChildren(t, { a: child("mcp-server", { port }), b: child("mcp-server", { port }) });
  equal(alive(), 0);
  const pid = Number((await group.callTool("a__pid")).text);
  ok(exists(pid));
  deepEqual(
    Object.values(group.status()).map(({ state }) => state),
    ["ready", "idle"],
  );
  await changed.until("1");
  await rejects(
    group.callTool("a__fail").then(({ isError }) => (isError ? Promise.reject("said") : 0)),
    /said/,
  );
  await stderr.until(/^a: error /);
  await group.close();
  equal(exists(pid), false);
});

test("a process that dies is left alone for a while and then started again", async (t) => {
  const errors: string[] = [];
  const clock = new FakeClock();
  const { group } = ofChildren(
    t,
    { a: child("mcp-server"), b: child("mcp-server") },
    { clock, backoff: { delayMs: 1000 }, onError: (error, server) => void errors.push(`${server}: ${error.message}`) },
  );
  const [first, other] = [await group.callTool("a__pid"), await group.callTool("b__pid")];
  await rejects(group.callTool("a__die"), { exitSignal: "SIGKILL" });
  const failure = await group.callTool("a__pid").catch((error: unknown) => error);
  ok(failure instanceof ServerUnavailableError);
  match(failure.message, /Server "a" is not available .* SIGKILL/);
  equal(errors.length, 1);
  match(errors[0] ?? "", /^a: Server "a" is not available/);
  const { a: status } = group.status();
  ok(status?.state === "failed");
  ok(status.retryInMs >= 500 && status.retryInMs <= 1000, `${status.retryInMs} ms`);
  clock.advance(status.retryInMs - 1);
  await rejects(group.callTool("a__pid"), ServerUnavailableError);
  clock.advance(1);
  const second = await group.callTool("a__pid");
  ok(second.text !== first.text);
  equal((await group.callTool("b__pid")).text, other.text);
});

test("a program that is not there concerns its own callers", async (t) => {
  const { group } = ofChildren(t, { none: { command: "no-such-program-here", args: [] }, a: child("mcp-server") });
  const listing = group.tools();
  ok((await listing.all()).every(({ server }) => server === "a"));
  match(listing.failures.get("none")?.message ?? "", /no-such-program-here/);
});

test("closing the group during connects leaves no process", async (t) => {
  const { port, alive, changed } = await presence(t);
  // One that serves, and two that never answer: one of these lives on when its input ends.
  const { group } = ofChildren(t, {
    a: child("mcp-server", { port }),
    deaf: child("present", String(port)),
    b: child("mcp-server", { port }),
  });
  for (let round = 0; round < 3; round++) {
    const { group: brief } = ofChildren(t, { a: child("mcp-server", { port }), b: child("mcp-server", { port }) });
    const needs = ["a", "b"].map((name) => brief.client(name).catch((error: unknown) => error));
    if (round > 0) await new Promise(setImmediate);
    if (round > 1) await changed.until("2");
    await brief.close();
    await Promise.all(needs);
  }
  const listing = group.tools().all();
  await changed.until("3");
  await group.close();
  await listing;
  while (alive() > 0) await new Promise(setImmediate);
  equal(alive(), 0);
});

test("servers at addresses: headers, and one that refuses", async (t) => {
  const seen: string[] = [];
  const server = new McpServer({ name: "web", version: "1" }).tool("who", {}, () => "web");
  await using running = await serveHttp(server, { port: 0 });
  t.after(() => server.close());
  await using group = createGroup(
    {
      mcpServers: {
        web: { type: "streamable-http", url: String(running.url), headers: { "x-key": "k" } },
        closed: { url: "http://127.0.0.1:1/mcp" },
      },
    },
    {
      client: (name) => ({
        fetch: (url, init) => {
          seen.push(`${name} ${new Headers(init.headers).get("x-key")}`);
          return fetch(url, init);
        },
      }),
    },
  );
  const listing = group.tools();
  deepEqual(
    (await listing.all()).map(({ name }) => name),
    ["web__who"],
  );
  deepEqual([...listing.failures.keys()], ["closed"]);
  ok(seen.includes("web k") && seen.includes("closed null"));
});
