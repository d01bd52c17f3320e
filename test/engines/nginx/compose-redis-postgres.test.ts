import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect } from "bowline/client";
import { type Scope, until } from "#src/testing/contract/world.js";
import { freePort, startNginx } from "../../support/engines/nginx.js";
import { findOrStartPostgres } from "../../support/engines/postgres.js";
import { anyRedis } from "../../support/engines/redis.js";

const example = (path: string) => new URL(`../../../../examples/${path}`, import.meta.url);

/** Starts the nginx of the example in front of these ports. Returns the address of the server. */
async function openNginx(t: Scope, nodes: readonly number[]): Promise<string> {
  const text = readFileSync(example("cluster/nginx.conf"), "utf8");
  const { port, end } = await startNginx((own) =>
    text
      .replace(/node-(\d):3000/g, (_, digit) => `127.0.0.1:${nodes[Number(digit) - 1]}`)
      .replace("listen 8080;", `listen 127.0.0.1:${own};`),
  );
  t.after(end);
  return `http://127.0.0.1:${port}/mcp`;
}

const engines = {
  async redis(t: Scope) {
    const server = await anyRedis();
    t.after(() => server.end());
    return server.url;
  },
  async postgres(t: Scope) {
    const server = await findOrStartPostgres();
    t.after(() => server.close());
    return server.url;
  },
};

/** Starts three nodes of the example. Returns their ports and a function that kills one. */
async function openNodes(t: Scope, url: string) {
  const STATE_KEYS = `1:${randomBytes(32).toString("base64")}`;
  const start = async (NODE_NAME: string) => {
    const PORT = String(await freePort());
    const env = { ...process.env, STATE_KEYS, NODE_NAME, PORT, HOST: "127.0.0.1", CLUSTER_URL: url };
    const child = spawn(process.execPath, [fileURLToPath(example("dist/cluster/server.js"))], {
      env: { ...env, ALLOWED_HOSTS: "127.0.0.1" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const exit = once(child, "exit");
    const kill = async () => {
      child.kill("SIGKILL");
      await exit;
    };
    t.after(kill);
    let text = "";
    child.stdout.on("data", (chunk) => {
      text += chunk;
    });
    await until(() => text.includes("listens at") || child.exitCode !== null, `${NODE_NAME} listens`);
    return { port: Number(PORT), kill };
  };
  return Promise.all(["node-1", "node-2", "node-3"].map(start));
}

for (const [name, open] of Object.entries(engines))
  for (const era of ["legacy", "modern"] as const)
    test(`${name}, ${era}: each node of the example serves the client`, { timeout: 240_000 }, async (t) => {
      const nodes = await openNodes(t, await open(t));
      const url = await openNginx(
        t,
        nodes.map(({ port }) => port),
      );
      await using client = await connect(url, {
        ...(era === "legacy" ? { era } : ({ versions: ["2026-07-28"] } as const)),
        onElicit: () => ({ action: "accept", content: { sure: true } }),
      });
      const served = new Set<string>();
      for (let call = 0; call < 8; call++) served.add(await textOf(client.callTool("node")));
      deepEqual([...served].sort(), ["node-1", "node-2", "node-3"]);
      for (let call = 0; call < 4; call++) equal(await textOf(client.callTool("cast-off")), "it is off");
      const steps: number[] = [];
      await client.callTool("tow", {}, { onProgress: ({ progress }) => steps.push(progress) });
      deepEqual(steps, [1, 2, 3]);
      await using watch = await client.watch({ resources: ["signal://mast"] });
      const changes = watch[Symbol.asyncIterator]();
      for (let call = 0; call < 2; call++) {
        await client.callTool("raise");
        deepEqual((await changes.next()).value, { kind: "resource", uri: "signal://mast" });
      }
      await nodes[0]?.kill();
      for (let call = 0; call < 4; call++) notEqual(await textOf(client.callTool("node")), "node-1");
    });

async function textOf(calling: Promise<{ readonly content: readonly object[] }>): Promise<string> {
  const [block] = (await calling).content as readonly { readonly text?: string }[];
  return block?.text ?? "";
}

test("a POST that was sent to a node is not sent to another one", async (t) => {
  let received = 0;
  const start = async () => {
    const server = createServer((request) => {
      received++;
      request.socket.destroy();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    return (server.address() as AddressInfo).port;
  };
  const url = await openNginx(t, [await start(), await start(), await start()]);
  const response = await fetch(url, { method: "POST", body: "{}" });
  equal(response.status, 502);
  equal(received, 1);
});

test("an event reaches the client while its response goes on", async (t) => {
  const events = ["data: 1\n\n", "data: 2\n\n"];
  let next = () => {};
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(events[0]);
    next = () => response.end(events[1]);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const response = await fetch(await openNginx(t, [port, port, port]));
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  ok(reader);
  equal((await reader.read()).value, events[0]);
  next();
  equal((await reader.read()).value, events[1]);
});
