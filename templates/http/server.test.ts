import { strict as assert } from "node:assert";
import { test } from "node:test";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { server } from "./server.js";

test("greets over HTTP", async (t) => {
  const running = await serveHttp(server, { port: 0 });
  t.after(() => running.close());
  const client = await connect(running.url);
  t.after(() => client.close());
  const { structured } = await client.callTool("greet", { name: "Ada" });
  assert.deepEqual(structured, { greeting: "Hello, Ada!" });
});
