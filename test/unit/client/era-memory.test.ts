import { equal } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { createEraMemory } from "#src/client/negotiate.js";

test("a client that was told what to speak teaches later clients nothing about the server", async () => {
  await using running = await serveHttp(new McpServer({ name: "both", version: "1.0.0" }));
  await using told = await connect(running.url, { era: "legacy" });
  equal(told.era, "legacy");
  await using free = await connect(running.url);
  equal(free.era, "modern");
});

test("the eras of 1000 servers are remembered, and the server that was used least recently is forgotten", () => {
  const memory = createEraMemory();
  for (let n = 0; n < 1000; n++) memory.set(`https://${n}.example`, "modern");
  equal(memory.get("https://0.example"), "modern");
  memory.set("https://0.example", "legacy");
  memory.set("https://more.example", "modern");
  equal(memory.get("https://0.example"), "legacy");
  equal(memory.get("https://1.example"), undefined);
  equal(memory.get("https://2.example"), "modern");
});
