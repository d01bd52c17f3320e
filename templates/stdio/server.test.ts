import { strict as assert } from "node:assert";
import { test } from "node:test";
import { connect } from "bowline/client";
import { server } from "./server.js";

test("greets", async (t) => {
  const client = await connect(server);
  t.after(() => client.close());
  const { structured } = await client.callTool("greet", { name: "Ada" });
  assert.deepEqual(structured, { greeting: "Hello, Ada!" });
});

test("refuses an empty name", async (t) => {
  const client = await connect(server);
  t.after(() => client.close());
  const { isError } = await client.callTool("greet", { name: "" });
  assert.equal(isError, true);
});
