import { deepEqual } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { protect } from "bowline/auth/server";
import { connect } from "bowline/client";
import { type ExtensionServer, McpServer, ServerExtension, type ServerOptions } from "bowline/server";
import { skills } from "bowline/skills/server";
import { createArrayExchange } from "bowline/testing";
import { FakeClock } from "../../support/fake-clock.js";
import { modernRequest } from "../../support/modern-request.js";

/** Collects what is printed on the standard error. */
function listen(t: TestContext): string[] {
  const printed: string[] = [];
  t.mock.method(console, "error", (...texts: unknown[]) => void printed.push(texts.join(" ")));
  return printed;
}

function serverOf(t: TestContext, options: ServerOptions = {}): McpServer {
  const server = new McpServer({ name: "s", version: "1" }, options);
  t.after(() => server.close());
  return server;
}

/** Returns the parts of a server that an extension gets. */
function hostOf(t: TestContext, options: ServerOptions = {}): ExtensionServer {
  const hosts: ExtensionServer[] = [];
  serverOf(t, options).extend(new ServerExtension({ id: "com.example/tides" }).onInstall((host) => hosts.push(host)));
  return hosts[0] as ExtensionServer;
}

async function post(server: McpServer): Promise<void> {
  const { headers, body } = modernRequest("tools/list");
  const exchange = createArrayExchange({ url: "/mcp", headers, body: JSON.stringify(body) });
  server.handle(exchange);
  await exchange.done;
}

/** Setups that are not safe, or not whole, with the line that says so. Each happens twice. */
const SETUPS: Readonly<Record<string, { run(t: TestContext, options: ServerOptions): unknown; line: string }>> = {
  "a server on all addresses that takes any Host": {
    run: (t, options) => {
      const server = serverOf(t, options);
      for (const _ of [1, 2]) server.onListening("0.0.0.0");
    },
    line: "listening on all interfaces; set http.allowedHosts",
  },
  "a gate that takes tokens for any audience": {
    run: (t, options) => {
      const verify = () => Promise.reject(new Error("no token"));
      serverOf(t, { ...options, http: { gate: protect({ verify }) } });
    },
    line: "protect: without resource, tokens for any audience are accepted; set resource, or verifierChecksAudience if the verifier checks it",
  },
  "a gate that names no principal": {
    run: async (t, options) => {
      const server = serverOf(t, { ...options, http: { gate: () => ({ auth: { subject: "ada" } }) } });
      for (const _ of [1, 2]) await post(server);
    },
    line: "the gate names no principal: nothing has an owner",
  },
  "a skill that is left out": {
    run: async (t, options) => {
      const files = new Map([["tides/SKILL.md", new TextEncoder().encode("no frontmatter")]]);
      const extension = skills({ read: async () => ({ files }) });
      serverOf(t, options).extend(extension);
      for (const _ of [1, 2]) await extension.reload();
    },
    line: "skills: tides/SKILL.md: line 1: must begin with YAML frontmatter between lines of ---",
  },
  "a page without TLS": {
    run: async (t, options) => {
      const server = serverOf(t, options).tool("pay", async (_, ctx) => {
        await ctx.elicitUrl("Pay", "http://pay.example/1");
        return "paid";
      });
      await using client = await connect(server, { onElicitUrl: () => ({ action: "accept" }) });
      for (const _ of [1, 2]) await client.callTool("pay");
    },
    line: "a URL elicitation opens a page without TLS: use https",
  },
};

for (const [title, { run, line }] of Object.entries(SETUPS))
  test(`${title} is said once on stderr without a logger, and otherwise to the logger alone`, async (t) => {
    const printed = listen(t);
    await run(t, {});
    deepEqual(printed, [`bowline: ${line}`]);
    const told: string[] = [];
    await run(t, { logger: { warn: (text) => void told.push(text) } });
    deepEqual([told[0], printed.length], [line, 1]);
  });

test("other warnings are not printed", (t) => {
  const printed = listen(t);
  serverOf(t).tool("a b", () => "");
  deepEqual(printed, []);
});

test("a warning with a text of others is one line", (t) => {
  const printed = listen(t);
  hostOf(t).warn("no \u001b[31mtide\nbowline: forged", { port: "Leith" });
  deepEqual(printed, ["bowline: no [31mtide bowline: forged"]);
});

test("warnings count among the printed errors, and no more than as many are ever printed", (t) => {
  const printed = listen(t);
  const clock = new FakeClock();
  const host = hostOf(t, { clock, limits: { maxPrintedErrors: 2 } });
  const take = () => printed.splice(0);
  host.report(new Error("late"), { where: "tides" });
  host.warn("one");
  host.warn("two");
  deepEqual(
    take().map((text) => text.split("\n")[0]),
    [
      "bowline: tides failed: Error: late",
      "bowline: one",
      "bowline: 2 errors printed, none for an hour (limits.maxPrintedErrors): set logger or onError",
    ],
  );
  clock.advance(3_600_000);
  for (const text of ["one", "two", "three", "four"]) host.warn(text);
  deepEqual(take(), ["bowline: two"]);
});

test("with limits.maxPrintedErrors: 0 nothing is printed", (t) => {
  const printed = listen(t);
  const host = hostOf(t, { limits: { maxPrintedErrors: 0 } });
  host.report(new Error("late"), { where: "tides" });
  host.warn("one");
  deepEqual(printed, []);
});
