import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { DefinitionError, McpServer, RpcError } from "bowline/server";
import { eachWire } from "../../../support/each-wire.js";
import { gate } from "../../../support/gate.js";
import { LegacyEndpoint, status, until } from "../../../support/legacy-endpoint.js";
import { modernRequest } from "../../../support/modern-request.js";

const me = { name: "line", version: "1.0.0" };

/** A tool that lets two in, and holds them until it is told to let go. */
function createBusy(maxWaiting?: number) {
  const release = gate();
  let started = 0;
  const server = new McpServer(me).tool(
    "busy",
    { concurrency: 2, ...(maxWaiting === undefined ? undefined : { maxWaiting }) },
    async () => {
      started++;
      await release.opened;
      return "done";
    },
  );
  return { server, release, started: () => started };
}

for (const wire of eachWire) {
  for (const more of [0, 1, 36]) {
    test(`two calls run, four wait, ${more} more are refused at once [${wire.name}]`, async (t) => {
      const { connect } = await wire.open(t);
      const { server, release, started } = createBusy();
      const client = await connect(server);
      const served = Array.from({ length: 6 }, () => client.callTool("busy"));
      await until(() => server.stats().waiting === 4);
      deepEqual([started(), server.stats().running], [2, 6]);
      for (let n = 0; n < more; n++) {
        const error = await client.callTool("busy").catch((error: unknown) => error);
        ok(error instanceof RpcError);
        match(error.message, /^Tool busy is busy: 4 calls already wait for it \(maxWaiting\)$/);
        deepEqual([error.rpcCode, error.data], [-32005, { limit: "maxWaiting", retryAfterMs: 1000, refused: true }]);
      }
      equal(started(), 2);
      release.open();
      for (const { text } of await Promise.all(served)) equal(text, "done");
      deepEqual([started(), server.stats().refused], [6, more]);
      await until(() => server.stats().running === 0);
      equal(server.stats().waiting, 0);
    });
  }
}

test("over HTTP a full line is a 503 that says when to come again, in both eras", async () => {
  const endpoint = new LegacyEndpoint();
  const release = gate();
  endpoint.server.tool("busy", { concurrency: 1, maxWaiting: 0 }, async () => {
    await release.opened;
    return "done";
  });
  const client = await endpoint.open();
  const held = client.call(1, "busy");
  await until(() => endpoint.stats.running === 1);
  const { headers, body } = modernRequest("tools/call", { params: { name: "busy" } });
  for (const refused of [client.call(2, "busy"), endpoint.send("POST", body, { headers })]) {
    await status(refused, 503);
    equal(refused.headers["retry-after"], "1");
  }
  release.open();
  await status(held, 200);
});

test("a call that is cancelled in line makes room for another", async (t) => {
  const wire = eachWire.find(({ name }) => name === "modern-memory");
  const world = await wire?.open(t);
  ok(world !== undefined);
  const { server, release, started } = createBusy(1);
  const client = await world.connect(server);
  const running = [client.callTool("busy"), client.callTool("busy")];
  const abort = new AbortController();
  const cancelled = client.callTool("busy", {}, { signal: abort.signal }).catch(() => "cancelled");
  await until(() => server.stats().waiting === 1);
  abort.abort();
  equal(await cancelled, "cancelled");
  await until(() => server.stats().waiting === 0);
  const next = client.callTool("busy");
  await until(() => server.stats().waiting === 1);
  release.open();
  equal((await next).text, "done");
  await Promise.all(running);
  equal(started(), 3);
  deepEqual([server.stats().running, server.stats().waiting], [0, 0]);
});

test("a bound of the line that makes no sense is refused where it is written", () => {
  const define = (options: object) => () => new McpServer(me).tool("t", options, () => "");
  throws(define({ maxWaiting: 1 }), new DefinitionError('tool "t": maxWaiting requires concurrency'));
  for (const maxWaiting of [-1, 0.5, Number.NaN]) {
    throws(define({ concurrency: 1, maxWaiting }), /maxWaiting must be a whole number of 0 or more, or Infinity/);
  }
  for (const maxWaiting of [0, Number.POSITIVE_INFINITY]) define({ concurrency: 1, maxWaiting })();
});
