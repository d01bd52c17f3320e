import { deepEqual, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { RawServer, rawError } from "../../support/server-script.js";

/** A server whose result is out of date at once, and that fails from the second read on. */
async function failing(t: TestContext, cache: { staleOnError?: boolean }) {
  let reads = 0;
  const server = new RawServer({
    era: "modern",
    capabilities: { resources: {} },
    handlers: {
      "resources/read": () =>
        ++reads > 1
          ? rawError(-32603, "down")
          : { resultType: "complete", contents: [{ uri: "a:b", text: "old" }], ttlMs: 0, cacheScope: "private" },
    },
  });
  const client = await connect({ channel: await server.open() }, { cache });
  t.after(() => client.close());
  await client.readResource("a:b");
  return client;
}

test("a result that is out of date at once is kept for when the server fails, and marked then", async (t) => {
  const client = await failing(t, { staleOnError: true });
  const { contents, _meta } = await client.readResource("a:b");
  deepEqual(contents, [{ uri: "a:b", text: "old" }]);
  deepEqual(_meta, { "bowline/stale": true });
});

test("without that option the failure is told", async (t) => {
  const client = await failing(t, {});
  await rejects(client.readResource("a:b"), { rpcCode: -32603 });
});
