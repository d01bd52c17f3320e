import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { FakeClock } from "../../support/fake-clock.js";
import { aborted, gate } from "../../support/gate.js";
import { modernRequest } from "../../support/modern-request.js";
import { askPort, initialize } from "../../support/plain-http.js";
import { proves } from "../../support/verifies.js";

const me = { name: "closing", version: "1.0.0" };

function createServer(clock?: FakeClock) {
  const started = { quick: gate(), endless: gate() };
  const release = gate();
  const ended: string[] = [];
  const server = new McpServer(me, clock === undefined ? {} : { clock })
    .tool("quick", {}, async () => {
      started.quick.open();
      await release.opened;
      return "done";
    })
    .tool("endless", {}, async (_, ctx) => {
      started.endless.open();
      await aborted(ctx.signal);
      ended.push("endless");
    })
    .tool("late", {}, () => {
      ended.push("late");
      return "never";
    });
  return { server, started, release, ended };
}

for (const era of ["modern", "legacy"]) {
  proves(
    "hosting:http:graceful-shutdown",
    { wire: `${era}-http` },
    "what runs may finish, what does not is ended",
    async (t) => {
      const clock = new FakeClock();
      const { server, started, release, ended } = createServer(clock);
      const running = await serveHttp(server);
      t.after(() => running.close());
      const client = await connect(running.url, { era });
      t.after(() => client.close());
      const quick = client.callTool("quick");
      const endless = client.callTool("endless");
      const watching = era === "modern" ? await client.watch({ toolsListChanged: true }) : undefined;
      await Promise.all([started.quick.opened, started.endless.opened]);
      if (era === "legacy") equal(server.stats().sessions, 1);
      ok(running.ready);
      const drained = running.drain(5000);
      ok(!running.ready);
      // New requests are refused at once, also on the connections that are open.
      const refused = await askPort(running.port, era === "modern" ? modernRequest("tools/list") : initialize());
      equal(refused.status, 503);
      await rejects(client.callTool("late"));
      release.open();
      equal((await quick).text, "done");
      deepEqual(ended, []);
      clock.advance(5000);
      await rejects(endless);
      await drained;
      deepEqual(ended, ["endless"]);
      if (watching !== undefined) for await (const change of watching) ok(change === undefined, "nothing changed");
      equal(watching?.ended, era === "modern" ? "graceful" : undefined);
      const { sessions = 0, streams = 0, openRequests = 0 } = server.stats();
      deepEqual([sessions, streams, openRequests], [0, 0, 0]);
      equal(running.server.listening, false);
      await running.drain(5000);
      await running.close();
    },
  );
}

proves("hosting:http:graceful-shutdown", { wire: "http" }, "it is over as soon as the last call is", async () => {
  for (const era of ["modern", "legacy"]) {
    const clock = new FakeClock();
    const { server, started, release } = createServer(clock);
    const running = await serveHttp(server);
    const client = await connect(running.url, { era });
    const quick = client.callTool("quick");
    await started.quick.opened;
    const drained = running.drain(1_000_000);
    release.open();
    equal((await quick).text, "done");
    await drained;
    await client.close();
  }
});

proves("hosting:http:graceful-shutdown", { wire: "http" }, "the process exits by itself", async () => {
  const program = `
    import { serveHttp } from "bowline/node";
    import { connect } from "bowline/client";
    import { McpServer } from "bowline/server";
    const server = new McpServer({ name: "a", version: "1" }).tool("wait", {}, (_, ctx) => new Promise((_, no) =>
      ctx.signal.addEventListener("abort", () => no(ctx.signal.reason))));
    const running = await serveHttp(server);
    for (const era of ["modern", "legacy"]) {
      const client = await connect(running.url, { era });
      client.callTool("wait").catch(() => {});
    }
    await running.drain(50);
    console.log("drained");
  `;
  const cwd = fileURLToPath(new URL("../../../../", import.meta.url));
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], { cwd, timeout: 20_000 });
  equal(stdout, "drained\n");
});

proves("hosting:http:shutdown-body-race", { wire: "http" }, "what arrives too late is not dispatched", async () => {
  for (const request of [modernRequest("tools/call", { params: { name: "late", arguments: {} } }), initialize()]) {
    const { server, ended } = createServer();
    const arrived = gate();
    const inner = createArrayExchange(request as { headers: Record<string, string>; body: unknown });
    const text = inner.text.bind(inner);
    inner.text = async (limit) => {
      await arrived.opened;
      return text(limit);
    };
    server.handle(inner);
    await server.close();
    arrived.open();
    await inner.done;
    equal(inner.status, 503);
    deepEqual([ended, server.stats().sessions], [[], 0]);
  }
});
