import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { Tool } from "bowline";
import {
  type Channel,
  type ClientInterceptor,
  ConnectionError,
  createGroup,
  type GroupOptions,
  type ServerEntries,
  ServerUnavailableError,
  type Target,
} from "bowline/client";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { gate } from "../../../support/gate.js";
import { RawServer, rawError } from "../../../support/server-script.js";

const named = (name: string) =>
  new McpServer({ name, version: "1" })
    .tool("who", {}, () => name)
    .tool(
      "wait",
      {},
      (_, ctx) => new Promise<string>((_resolve, reject) => ctx.signal.addEventListener("abort", reject)),
    )
    .prompt("greet", {}, () => `I am ${name}`)
    .resource("note://1", { name: "note" }, () => `of ${name}`);

/** A group with errors kept by server. */
function grouped(mcpServers: ServerEntries, options: GroupOptions = {}) {
  const errors: [string, Error][] = [];
  const group = createGroup(
    { mcpServers },
    { onError: (error, server) => void errors.push([server, error]), ...options },
  );
  return { group, errors };
}

const never = () => new Promise<Target>(() => {});
const down = () => {
  throw new ConnectionError("nobody there");
};

test("one catalogue of many servers, in the order of the configuration", async () => {
  const { group, errors } = grouped({ b: named("b"), a: named("a") });
  await using _ = group;
  deepEqual(group.servers, ["b", "a"]);
  deepEqual(group.status(), { b: { state: "idle" }, a: { state: "idle" } });
  const tools = await group.tools().all();
  deepEqual(
    tools.map(({ name, server, originalName }) => [name, server, originalName]),
    [
      ["b__who", "b", "who"],
      ["b__wait", "b", "wait"],
      ["a__who", "a", "who"],
      ["a__wait", "a", "wait"],
    ],
  );
  equal(group.status().a?.state, "ready");
  equal((await group.callTool("a__who")).text, "a");
  deepEqual(
    (await group.prompts().all()).map(({ name }) => name),
    ["b__greet", "a__greet"],
  );
  const [message] = (await group.getPrompt("b__greet")).messages;
  deepEqual(message?.content, { type: "text", text: "I am b" });
  const resources: string[] = [];
  for await (const { server, uri } of group.resources()) resources.push(`${server} ${uri}`);
  deepEqual(resources, ["b note://1", "a note://1"]);
  deepEqual(await group.resourceTemplates().all(), []);
  const { contents } = await group.readResource("a", "note://1");
  equal((contents[0] as { text: string }).text, "of a");
  equal((await group.client("a")).server.info?.name, "a");
  deepEqual(errors, []);
});

test("names of no server are refused at once", async () => {
  await using group = createGroup({ mcpServers: { a: named("a") } });
  await rejects(group.callTool("b__who"), { code: "unknown_server", message: /names begin with one of a__/ });
  await rejects(group.client("b"), { code: "unknown_server", message: /no server "b"; it has: a/ });
  equal(group.status().a?.state, "idle");
});

test("names that are too long or foreign are called by what the listing gave", async () => {
  const long = "l".repeat(128);
  const raw = new RawServer({
    era: "legacy",
    capabilities: { tools: {} },
    handlers: {
      "tools/list": () => ({ tools: [long, "drôle", "drôle", "fine"].map((name) => tool(name)) }),
      "tools/call": ({ name }) => ({ content: [{ type: "text", text: String(name) }] }),
    },
  });
  const { group, errors } = grouped({ raw: async () => ({ channel: await raw.open() }) });
  await using _ = group;
  const tools = await group.tools().all();
  deepEqual(
    tools.map(({ originalName }) => originalName),
    [long, "drôle", "fine"],
  );
  for (const { name, originalName } of tools) {
    match(name, /^raw__[A-Za-z0-9_.-]{1,123}$/);
    equal((await group.callTool(name)).text, originalName);
  }
  deepEqual(
    errors.map(([server, error]) => [server, (error as { code?: string }).code]),
    [["raw", "duplicate_name"]],
  );
});

test("a server that hangs, fails or lies does not hurt the others", async () => {
  const clock = new FakeClock();
  const asked = gate();
  const liar = new RawServer({
    era: "legacy",
    capabilities: { tools: {} },
    handlers: { "tools/list": () => ({ tools: "all of them" }) as never },
  });
  const mute = new RawServer({
    era: "legacy",
    capabilities: { tools: {} },
    handlers: {
      "tools/list": () => {
        asked.open();
        return new Promise(() => {});
      },
    },
  });
  const { group, errors } = grouped(
    {
      good: named("good"),
      hung: never,
      dead: down,
      liar: async () => ({ channel: await liar.open() }),
      mute: async () => ({ channel: await mute.open() }),
    },
    { clock, listTimeoutMs: 100, connectTimeoutMs: 1000 },
  );
  await using _ = group;
  const listing = group.tools();
  const reading = listing[Symbol.asyncIterator]();
  const names = [(await reading.next()).value?.name, (await reading.next()).value?.name];
  deepEqual(names, ["good__who", "good__wait"]);
  await asked.opened;
  while (!listing.failures.has("liar")) await new Promise(setImmediate);
  clock.advance(100);
  equal((await reading.next()).done, true);
  deepEqual([...listing.failures.keys()].sort(), ["dead", "hung", "liar", "mute"]);
  match(listing.failures.get("mute")?.message ?? "", /Server mute did not return its list within 100 ms/);
  match(listing.failures.get("liar")?.message ?? "", /tools of the result must be/);
  match(listing.failures.get("dead")?.message ?? "", /Server "dead" is not available .*nobody there/);
  deepEqual(errors.map(([server]) => server).sort(), ["dead", "hung", "liar", "mute"]);
  equal(group.status().hung?.state, "connecting");
  clock.advance(900);
  await rejects(group.client("hung"), { name: "ServerUnavailableError", message: /not connected within 1000 ms/ });
  equal((await group.callTool("good__who")).text, "good");
});

test("a server that hangs holds a listing up for a grace after another has listed; a watch says when it is there", async () => {
  const clock = new FakeClock();
  const arrives = gate<Target>();
  const { group, errors } = grouped({ slow: () => arrives.opened, good: named("good") }, { clock });
  await using _ = group;
  const changes = group.watch()[Symbol.asyncIterator]();
  const listing = group.tools();
  const tools = listing.all();
  while (!clock.delays.includes(3000)) await new Promise(setImmediate);
  clock.advance(2999);
  equal(listing.failures.size, 0);
  clock.advance(1);
  deepEqual(
    (await tools).map(({ server }) => server),
    ["good", "good"],
  );
  match(
    listing.failures.get("slow")?.message ?? "",
    /Server slow did not return its list within 3000 ms after another server/,
  );
  deepEqual(
    errors.map(([server]) => server),
    ["slow"],
  );
  equal(group.status().slow?.state, "connecting");
  arrives.open(named("slow"));
  const change = (await changes.next()).value;
  deepEqual([change?.server, change?.kind], ["slow", "resync"]);
  deepEqual([...new Set((await group.tools().all()).map(({ server }) => server))], ["slow", "good"]);
});

test("a listing waits for all servers where its grace has no end, and leaves no timer", async () => {
  const clock = new FakeClock();
  const arrives = gate<Target>();
  const listGraceMs = Number.POSITIVE_INFINITY;
  const { group } = grouped({ slow: () => arrives.opened, good: named("good") }, { clock, listGraceMs });
  await using _ = group;
  const tools = group.tools().all();
  while (group.status().good?.state !== "ready") await new Promise(setImmediate);
  clock.advance(14_000);
  arrives.open(named("slow"));
  equal((await tools).length, 4);
  equal(clock.pending, 0);
});

test("a server that floods is cut off", async () => {
  let page = 0;
  const flood = new RawServer({
    era: "legacy",
    capabilities: { tools: {} },
    handlers: {
      "tools/list": () => ({ tools: [0, 1, 2].map((n) => tool(`t${page}-${n}`)), nextCursor: String(page++) }),
    },
  });
  const { group, errors } = grouped(
    { flood: async () => ({ channel: await flood.open() }), good: named("good") },
    { maxItems: 10 },
  );
  await using _ = group;
  equal((await group.tools().all()).filter(({ server }) => server === "flood").length, 10);
  deepEqual(
    errors.map(([server, error]) => `${server}: ${error.message}`),
    ["flood: tools: only the first 10 are used (option maxItems)"],
  );
});

test("after failures a server is left alone for longer and longer, up to a bound; calls fail at once and say so", async () => {
  const clock = new FakeClock();
  let tries = 0;
  const flaky = () => {
    if (++tries <= 5) throw new ConnectionError(`no. ${tries}`);
    return named("flaky");
  };
  const { group } = grouped({ flaky }, { clock, backoff: { delayMs: 100, maxDelayMs: 400 } });
  await using _ = group;
  for (const [index, most] of [100, 200, 400, 400, 400].entries()) {
    await rejects(group.callTool("flaky__who"), ServerUnavailableError);
    const status = group.status().flaky;
    ok(status?.state === "failed");
    equal(status.failures, index + 1);
    ok(status.retryInMs >= most / 2 && status.retryInMs <= most, `${status.retryInMs} of ${most}`);
    await rejects(group.callTool("flaky__who"), (error: ServerUnavailableError) => {
      equal(error.code, "server_unavailable");
      equal(error.server, "flaky");
      equal(error.retryInMs, status.retryInMs);
      equal(error.cause.message, `no. ${index + 1}`);
      match(error.message, new RegExp(`a call can connect again in ${status.retryInMs} ms.*no. ${index + 1}`));
      return true;
    });
    equal(tries, index + 1);
    clock.advance(status.retryInMs);
  }
  equal((await group.callTool("flaky__who")).text, "flaky");
  equal(group.status().flaky?.state, "ready");
});

test("reset forgets failures", async () => {
  let tries = 0;
  const { group } = grouped({ a: () => (tries++ === 0 ? down() : named("a")) });
  await using _ = group;
  await rejects(group.client("a"), ServerUnavailableError);
  await group.reset("a");
  deepEqual(group.status().a, { state: "idle" });
  equal((await group.callTool("a__who")).text, "a");
  await group.reset("a");
  equal((await group.callTool("a__who")).text, "a");
  equal(tries, 3);
});

test("those who need a server at the same time share one attempt, and each gives up for itself", async () => {
  let tries = 0;
  const may = gate();
  const slow = async () => {
    tries++;
    await may.opened;
    return named("slow");
  };
  const { group } = grouped({ slow });
  await using _ = group;
  const abort = new AbortController();
  const given = group.callTool("slow__who", {}, { signal: abort.signal });
  const kept = group.callTool("slow__who");
  abort.abort("enough");
  await rejects(given, (reason) => reason === "enough");
  may.open();
  equal((await kept).text, "slow");
  equal(tries, 1);
  const clock = new FakeClock();
  const { group: late } = grouped({ never }, { clock });
  const waiting = late.callTool("never__x", {}, { deadlineMs: 50 });
  clock.advance(50);
  await rejects(waiting, { name: "TimeoutError", message: /Server never was not connected within 50 ms/ });
  await late.close();
});

test("options are known by the server's name, and single servers may differ", async () => {
  const seen: string[] = [];
  const told =
    (who: string): ClientInterceptor =>
    (call, next) => {
      seen.push(`${who} ${call.method}`);
      return next(call);
    };
  const asking = (name: string) =>
    new McpServer({ name, version: "1" }).tool("ask", {}, async (_, ctx) => {
      const answer = await ctx.elicit("who?", { type: "object", properties: { name: { type: "string" } } });
      return String(answer.action === "accept" ? answer.content.name : answer.action);
    });
  const { group } = grouped(
    { a: asking("a"), b: asking("b") },
    {
      client: (server) => ({
        onElicit: () => ({ action: "accept", content: { name: `for ${server}` } }),
        interceptors: [told(server)],
      }),
      servers: {
        b: { era: "legacy", interceptors: [told("own")] },
      },
    },
  );
  await using _ = group;
  equal((await group.callTool("a__ask")).text, "for a");
  equal((await group.callTool("b__ask")).text, "for b");
  deepEqual(seen, ["a tools/call", "b tools/call", "own tools/call"]);
  const { a, b } = group.status();
  deepEqual([a?.state === "ready" && a.era, b?.state === "ready" && b.era], ["modern", "legacy"]);
});

for (const era of ["modern", "legacy"] as const) {
  test(`changes of all servers come in one stream [${era}]`, async () => {
    const servers = { a: named("a"), b: named("b") };
    const { group } = grouped(servers, { client: { era } });
    const watch = group.watch();
    const changes = watch[Symbol.asyncIterator]();
    equal(group.status().a?.state, "idle");
    await group.tools().all();
    // The watch listens beside the calls: it does so when the server says so.
    if (era === "modern") {
      const open = () => [servers.a, servers.b].map((server) => server.stats().subscriptions).join();
      while (open() !== "1,1") await new Promise(setImmediate);
    }
    servers.a.tool("more", {}, () => "");
    deepEqual((await changes.next()).value, { server: "a", kind: "tools" });
    servers.b.changes.promptsChanged();
    deepEqual((await changes.next()).value, { server: "b", kind: "prompts" });
    await (await group.client("b")).close();
    deepEqual((await changes.next()).value, { server: "b", kind: "lost", reason: undefined });
    await group.client("b");
    const resync = (await changes.next()).value;
    ok(resync?.kind === "resync");
    equal(resync.server, "b");
    deepEqual(
      resync.missed.map(({ kind }) => kind),
      ["tools", "prompts", "resources"],
    );
    await group.reset("a");
    deepEqual((await changes.next()).value, { server: "a", kind: "lost", reason: undefined });
    await group.close();
    equal((await changes.next()).done, true);
  });
}

test("close ends all members at once, whatever they are doing", async () => {
  const { group } = grouped({ hung: never, a: named("a"), b: named("b") });
  const hung = rejects(group.client("hung"), { code: "group_closed" });
  const calls = ["a__wait", "b__wait"].map((name) => rejects(group.callTool(name), ConnectionError));
  await Promise.all([group.client("a"), group.client("b")]);
  const listing = group.tools().all();
  await group.close();
  await group.close();
  await Promise.all([hung, ...calls]);
  await listing;
  deepEqual(
    Object.values(group.status()).map(({ state }) => state),
    ["closed", "closed", "closed"],
  );
  await rejects(group.callTool("a__who"), { code: "group_closed" });
});

test("close waits for the end of a connection that was being made", async () => {
  const [dialed, closing, gone] = [gate(), gate(), gate()];
  const channel: Channel = {
    open: () => {},
    send: () => dialed.open(),
    close: () => {
      closing.open();
      return gone.opened;
    },
  };
  const { group } = grouped({ a: () => ({ channel }) });
  const needed = rejects(group.client("a"), { code: "group_closed" });
  await dialed.opened;
  let isClosed = false;
  const closed = group.close().then(() => {
    isClosed = true;
  });
  await Promise.all([needed, closing.opened]);
  await new Promise(setImmediate);
  equal(isClosed, false);
  gone.open();
  await closed;
});

test("a watch says when a server keeps ending its subscription", async () => {
  const clock = new FakeClock();
  const server = new RawServer({
    era: "modern",
    capabilities: { tools: { listChanged: true } },
    handlers: {
      "subscriptions/listen": ({ notifications }, id) => {
        const _meta = { "io.modelcontextprotocol/subscriptionId": id };
        server.notify("notifications/subscriptions/acknowledged", { notifications, _meta });
        return { resultType: "complete", _meta };
      },
    },
  });
  await using group = grouped({ a: async () => ({ channel: await server.open() }) }, { clock }).group;
  const changes = group.watch({ toolsListChanged: true })[Symbol.asyncIterator]();
  const next = changes.next();
  let change: Awaited<typeof next> | undefined;
  void next.then((found) => {
    change = found;
  });
  await group.client("a");
  for (let round = 0; change?.value?.kind !== "lost"; round++) {
    ok(round < 10_000, `nothing but ${change?.value?.kind} was told`);
    await new Promise(setImmediate);
    clock.advance(60_000);
    if (change?.value?.kind === "resync") {
      change = undefined;
      void changes.next().then((found) => {
        change = found;
      });
    }
  }
  equal(change.value.server, "a");
});

test("a watch asks a server again that could not be listened to", async () => {
  const clock = new FakeClock();
  let asked = 0;
  const server = new RawServer({
    era: "modern",
    capabilities: { tools: { listChanged: true } },
    handlers: {
      "subscriptions/listen": ({ notifications }, id) => {
        if (asked++ < 9) return rawError(-32000, "too many subscriptions");
        const _meta = { "io.modelcontextprotocol/subscriptionId": id };
        server.notify("notifications/subscriptions/acknowledged", { notifications, _meta });
        return new Promise(() => {});
      },
    },
  });
  const { group, errors } = grouped({ a: async () => ({ channel: await server.open() }) }, { clock });
  await using _ = group;
  const changes = group.watch({ toolsListChanged: true })[Symbol.asyncIterator]();
  await group.client("a");
  equal((await changes.next()).value?.kind, "lost");
  const resync = changes.next();
  while (asked < 10) {
    await new Promise(setImmediate);
    clock.advance(60_000);
  }
  equal((await resync).value?.kind, "resync");
  equal(errors.length, 1);
});

test("who leaves the loop over a listing leaves nothing behind", async () => {
  const [asked, gone] = [gate(), gate()];
  const slow = new McpServer(
    { name: "slow", version: "1" },
    {
      interceptors: [
        (call, next) => {
          if (call.method !== "tools/list") return next(call);
          call.signal.addEventListener("abort", () => gone.open());
          asked.open();
          return new Promise(() => {});
        },
      ],
    },
  ).tool("t", {}, () => "");
  await using group = grouped({ a: named("a"), slow }).group;
  for await (const { server } of group.tools()) {
    equal(server, "a");
    await asked.opened;
    break;
  }
  await gone.opened;
  equal((await group.client("slow")).pending, 0);
});

function tool(name: string): Tool {
  return { name, inputSchema: { type: "object" } };
}

test("the time that connecting takes is part of a call's deadline", async () => {
  const clock = new FakeClock();
  const [connecting, entered, target] = [gate(), gate(), gate<Target>()];
  const slow = new McpServer({ name: "slow", version: "1" }).tool("wait", {}, () => {
    entered.open();
    return new Promise<string>(() => {});
  });
  const { group } = grouped(
    {
      slow: () => {
        connecting.open();
        return target.opened;
      },
    },
    { clock },
  );
  await using _ = group;
  let ended = false;
  clock.advance(50);
  const call = group.callTool("slow__wait", {}, { deadlineMs: 1000 }).finally(() => {
    ended = true;
  });
  call.catch(() => {});
  await connecting.opened;
  clock.advance(400);
  target.open(slow);
  await entered.opened;
  clock.advance(599);
  await new Promise(setImmediate);
  equal(ended, false);
  clock.advance(1);
  await rejects(call, {
    code: "timeout",
    kind: "deadline",
    afterMs: 1000,
    message: "tools/call: not finished within 1000 ms (deadlineMs)",
  });
  await slow.close();
});

test("a deadline is told as it was given, too, if the server was connected before", async () => {
  /** Clock on which time passes between two lines. */
  class RunningClock extends FakeClock {
    #reads = 0;
    override now(): number {
      return super.now() + ++this.#reads / 1e6;
    }
  }
  const clock = new RunningClock();
  const { group } = grouped({ a: named("a") }, { clock });
  await using _ = group;
  await group.callTool("a__who");
  const call = group.callTool("a__wait", {}, { deadlineMs: 3000 });
  const failed = rejects(call, { afterMs: 3000, message: "tools/call: not finished within 3000 ms (deadlineMs)" });
  clock.advance(3000);
  await failed;
});
