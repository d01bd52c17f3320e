import { deepEqual, ok } from "node:assert/strict";
import { link, McpServer } from "bowline/server";
import { eachWire } from "../../support/each-wire.js";
import { verifies } from "../../support/verifies.js";

verifies("flow:tool-result:resource-link-follow", eachWire, async ({ connect }) => {
  const server = new McpServer({ name: "scenario", version: "1.0.0" })
    .tool("find", {}, () => link({ uri: "note:7", name: "seven", mimeType: "text/plain" }))
    .resource("note:{id}", { name: "note", mimeType: "text/plain" }, ({ id }) => `note ${id}`);
  const client = await connect(server);
  const [found] = (await client.callTool("find")).content;
  ok(found?.type === "resource_link");
  deepEqual((await client.readResource(found.uri)).contents, [
    { uri: "note:7", mimeType: "text/plain", text: "note 7" },
  ]);
});
