import { equal, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

interface Load {
  run(call: string, options: object): Promise<{ readonly calls: number }>;
  close(): void;
}

const { HttpLoad } = await loadScript<{ HttpLoad: new (port: number, wire: object, facts: object) => Load }>(
  "bench/load/http-load.mjs",
);

async function loadOn(t: TestContext, listener: RequestListener): Promise<{ server: Server; load: Load }> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const load = new HttpLoad((server.address() as AddressInfo).port, { transport: "http", modern: true }, {});
  t.after(() => {
    load.close();
    server.closeAllConnections();
    server.close();
  });
  return { server, load };
}

const window = { concurrency: 4, most: 20, ms: 60_000 };

test("the load opens connections again that the server has closed between windows", async (t) => {
  const { server, load } = await loadOn(t, (_request, response) => void response.end("{}"));
  equal((await load.run("echo", window)).calls, 20);
  for (let round = 0; round < 3; round++) {
    server.closeAllConnections();
    equal((await load.run("echo", window)).calls, 20);
  }
});

test("the load fails if a server closes a connection instead of answering", async (t) => {
  const { load } = await loadOn(t, (request) => void request.socket.destroy());
  await rejects(load.run("echo", window), /closed the connection/);
});
