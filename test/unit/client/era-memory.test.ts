import { equal } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";

test("a client that was told what to speak teaches later clients nothing about the server", async () => {
  await using running = await serveHttp(new McpServer({ name: "both", version: "1.0.0" }));
  await using told = await connect(running.url, { era: "legacy" });
  equal(told.era, "legacy");
  await using free = await connect(running.url);
  equal(free.era, "modern");
});
