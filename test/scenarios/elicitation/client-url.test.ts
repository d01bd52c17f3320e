import { deepEqual, equal, match } from "node:assert/strict";
import processes from "node:child_process";
import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { type AddressInfo, createServer } from "node:net";
import type { TestContext } from "node:test";
import { McpServer } from "bowline/server";
import { eachWire, type World } from "../../support/each-wire.js";
import { askingServers } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const page = (url: string) => ({ mode: "url", message: "Please look", url, elicitationId: "e1" });

verifies(
  "elicitation:url:basic",
  "the handler gets the address character for character",
  askingServers,
  async (server) => {
    const seen: string[] = [];
    await server.connect({
      onElicitUrl: ({ url }) => {
        seen.push(url);
        return { action: "accept" };
      },
    });
    const urls = ["https://EXAMPLE.test:443/A%2fb/../c?q=%C3%A9#Frag", "http://localhost/%7Ea"];
    for (const url of urls) deepEqual((await server.ask("elicitation/create", page(url))).answer, { action: "accept" });
    deepEqual(seen, urls);
  },
);

verifies("elicitation:url:client-scheme-check", askingServers, async (server) => {
  let ran = 0;
  await server.connect({
    onElicitUrl: () => {
      ran++;
      return { action: "accept" };
    },
  });
  for (const url of ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "//example.test", ""]) {
    const reply = await server.ask("elicitation/create", page(url));
    match(reply.message ?? "", /\/url/);
    if (server.era === "legacy") equal(reply.code, -32602);
  }
  equal(ran, 0);
});

verifies("elicitation:url:no-credentials", askingServers, async (server) => {
  let ran = 0;
  await server.connect({
    onElicitUrl: () => {
      ran++;
      return { action: "accept" };
    },
  });
  for (const user of ["user:password@", "user@", ":password@", "www.bank.example%2flogin@"]) {
    const reply = await server.ask("elicitation/create", page(`https://${user}example.test/`));
    match(reply.message ?? "", /\/url must be a URL without user name and password/);
    equal(reply.message?.includes("password@"), false);
    if (server.era === "legacy") equal(reply.code, -32602);
  }
  equal(ran, 0);
  await server.ask("elicitation/create", page("https://example.test/@user:a?b@c"));
  equal(ran, 1);
});

verifies("elicitation:url:no-prefetch", eachWire, async ({ connect, era }: World, t) => {
  let connections = 0;
  const listener = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => listener.close());
  const origin = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const server = new McpServer({ name: "harbour", version: "2" })
    .tool("ask", {}, async (_, ctx) => (await ctx.elicitUrl("Please look", `${origin}/consent?a=1#b`)).action)
    .prompt("ask", {}, async (_, ctx) => (await ctx.elicitUrl("Please look", `${origin}/consent`)).action);
  const client = await connect(server, { onElicitUrl: () => ({ action: "accept" }) });
  const fetched = t.mock.method(globalThis, "fetch");
  const spawned = spyOnProcesses(t);
  equal((await client.callTool("ask")).text, "accept");
  deepEqual((await client.getPrompt("ask")).messages[0]?.content, { type: "text", text: "accept" });
  await client.close();
  if (era === "modern") equal(client.wire.requests("tools/call").length, 2, "the call is retried");
  const addresses = fetched.mock.calls.map(({ arguments: [input] }) => String(Object(input).url ?? input));
  deepEqual(
    addresses.filter((address) => address.startsWith(origin)),
    [],
  );
  deepEqual(spawned(), 0);
  equal(connections, 0);
});

/** Counts the processes that are started from here on. */
function spyOnProcesses(t: TestContext): () => number {
  const names = ["spawn", "spawnSync", "exec", "execFile", "fork"] as const;
  const spies = names.map((name) => t.mock.method(processes, name));
  syncBuiltinESMExports();
  t.after(() => {
    for (const { mock } of spies) mock.restore();
    syncBuiltinESMExports();
  });
  return () => spies.reduce((sum, { mock }) => sum + mock.callCount(), 0);
}

verifies("elicitation:url:no-prefetch", "without a handler nothing is accepted", askingServers, async (server) => {
  await server.connect({ onElicit: () => ({ action: "accept", content: {} }) });
  equal((await server.ask("elicitation/create", page("https://x.test"))).answer, undefined);
});

verifies(
  ["elicitation:url:action:accept-no-content", "elicitation:url:decline", "elicitation:url:cancel"],
  "the answer is the action alone",
  askingServers,
  async (server) => {
    const actions = ["accept", "decline", "cancel"] as const;
    let at = 0;
    await server.connect({ onElicitUrl: () => ({ action: actions[at++] as "accept", content: { card: "4242" } }) });
    for (const action of actions) {
      deepEqual((await server.ask("elicitation/create", page("https://x.test"))).answer, { action });
    }
  },
);
