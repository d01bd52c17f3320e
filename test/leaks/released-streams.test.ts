import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { createWaiting } from "../support/abort-many.js";
import { legacyBareHttp } from "../support/bare-wire.js";
import { until } from "../support/census.js";
import { verifies } from "../support/verifies.js";

const CALLS = 100;

verifies("hosting:http:cancel-releases-stream", legacyBareHttp, async (world) => {
  const { server, counts } = createWaiting();
  const { client } = await world.connect(server);
  equal((await client.callTool("echo")).text, "here");
  await until("the client listens", () => server.stats().streams === 1);
  const before = server.stats();
  const most = { streams: 0, sockets: 0 };

  for (let n = 0; n < CALLS; n++) {
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { signal: abort.signal });
    await until("the handler runs", () => counts().started === n + 1);
    most.streams = Math.max(most.streams, server.stats().streams ?? 0);
    abort.abort("enough");
    await rejects(call, (error) => error === "enough");
    await until("the stream is released", () => {
      const { streams, running } = server.stats();
      return streams === before.streams && running === before.running;
    });
    most.sockets = Math.max(most.sockets, sockets());
  }

  equal(most.streams, 2);
  // Both ends of: the listening stream, the call, its cancellation, and what is being closed.
  ok(most.sockets <= 12, `${most.sockets} ends of connections were open at once`);
  deepEqual(server.stats(), before);
  equal((await client.callTool("echo")).text, "here");
});

function sockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
}
