import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type Client, UrlElicitationRequiredError } from "bowline/client";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { legacyWires } from "../../support/each-wire.js";
import { legacyAsking } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const COMPLETE = "notifications/elicitation/complete";
const page = { mode: "url", message: "m", url: "https://x.test/", elicitationId: "e1" };

/** Resolves when all that the server sent so far has been handled. */
async function settled(client: Client): Promise<void> {
  await client.request("ping");
}

verifies("elicitation:url:complete-unknown-ignored", legacyAsking, async (server) => {
  const problems: Error[] = [];
  let woken = 0;
  const client = await server.connect({
    onElicitUrl: () => ({ action: "accept" }),
    onError: (error) => problems.push(error),
  });
  await server.ask("elicitation/create", page);
  const waiting = client.elicitationCompleted("e1").then(() => woken++);
  server.notify(COMPLETE, { elicitationId: "unknown" });
  await settled(client);
  equal(woken, 0);
  server.notify(COMPLETE, { elicitationId: "e1" });
  server.notify(COMPLETE, { elicitationId: "e1" });
  await waiting;
  await settled(client);
  equal(woken, 1);
  deepEqual(problems, []);
});

verifies("elicitation:url:complete-wait-bounded", legacyAsking, async (server) => {
  const clock = new FakeClock();
  const client = await server.connect({ onElicitUrl: () => ({ action: "accept" }), clock });
  await server.ask("elicitation/create", page);
  const abort = new AbortController();
  const aborted = client.elicitationCompleted("e1", { signal: abort.signal });
  abort.abort("enough");
  await rejects(aborted, (reason) => reason === "enough");
  const timed = client.elicitationCompleted("e1", { timeoutMs: 1000 });
  clock.advance(1000);
  await rejects(timed, { code: "timeout" });
  server.notify(COMPLETE, { elicitationId: "e1" });
  await settled(client);
  await client.elicitationCompleted("e1", { timeoutMs: 1000 });
  equal(client.pending, 0);
});

const required = (data: unknown) => () => ({ error: { code: -32042, message: "first", data } });
const elicitations = [
  { mode: "url", message: "a", url: "https://x.test/a", elicitationId: "a" },
  { mode: "url", message: "b", url: "https://x.test/b", elicitationId: "b" },
];

verifies("elicitation:url:required-error:client", legacyAsking, async (server) => {
  const seen: string[] = [];
  const client = await server.connect({
    showRequiredUrls: true,
    onElicitUrl: ({ url }) => {
      seen.push(url);
      return { action: "accept" };
    },
  });
  server.results.set("tools/call", required({ elicitations }));
  await rejects(client.callTool("t"), (error) => {
    ok(error instanceof UrlElicitationRequiredError);
    deepEqual(error.elicitations, elicitations);
    return true;
  });
  deepEqual(seen, ["https://x.test/a", "https://x.test/b"]);
  const [first, second] = elicitations;
  const urls = ["javascript:alert(1)", "data:text/html,x", "//x.test", "", "https://bank.test%2flogin@x.test/", 5];
  const lists = [[], [{ mode: "url" }], [null], ["x"], ...urls.map((url) => [first, { ...second, url }])];
  for (const data of [undefined, {}, "no", ...lists.map((each) => ({ elicitations: each }))]) {
    server.results.set("tools/call", required(data));
    await rejects(client.callTool("t"), (error) => {
      return !(error instanceof UrlElicitationRequiredError) && (error as { rpcCode: number }).rpcCode === -32042;
    });
  }
  equal(seen.length, 2);
});

verifies("elicitation:url:required-error:client", "nothing is shown unless wanted", legacyAsking, async (server) => {
  let shown = 0;
  const client = await server.connect({
    onElicitUrl: () => {
      shown++;
      return { action: "accept" };
    },
  });
  server.results.set("tools/call", required({ elicitations }));
  await rejects(client.callTool("t"), UrlElicitationRequiredError);
  equal(shown, 0);
});

verifies("flow:elicitation:url-required-then-retry", legacyWires, async ({ connect }) => {
  let paid = false;
  const server = new McpServer({ name: "scenario", version: "1" }).tool("buy", {}, () => {
    if (paid) return "bought";
    throw new UrlElicitationRequiredError([{ message: "Pay", url: "https://x.test/pay", elicitationId: "p1" }]);
  });
  const client = await connect(server, {
    showRequiredUrls: true,
    onElicitUrl: () => {
      paid = true;
      return { action: "accept" };
    },
  });
  const error = await client.callTool("buy").catch((reason: unknown) => reason);
  ok(error instanceof UrlElicitationRequiredError);
  server.elicitationCompleted("p1");
  await client.elicitationCompleted(error.elicitations[0]?.elicitationId ?? "");
  equal((await client.callTool("buy")).text, "bought");
});
