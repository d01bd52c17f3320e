import { watch } from "node:fs";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { loadSkills } from "@modelcontextprotocol/server/ext/skills/node";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import "../../servers/ledger.js";
import { listen } from "../../servers/listen.js";
import { skillsIn } from "../fixture.js";

/** The skills of the official SDK, version 2, in both eras: `node v2.js stdio|http <folder>`. */
const [mode, folder = ""] = process.argv.slice(2);

const root = skillsIn(folder);
const skills = await loadSkills(root, { pageSize: 2, strict: true });
function build(): McpServer {
  const server = new McpServer({ name: "interop-skills", version: "1.0.0" });
  skills.attach(server);
  return server;
}

/** Loads the skills again when a file changes. The SDK does not watch the folder. */
function follow(onChange: () => void): void {
  watch(root, { recursive: true, persistent: false }, async () => {
    const changes = await skills.reload().catch(() => undefined);
    if (changes?.listChanged) onChange();
  });
}

if (mode === "stdio") {
  follow(() => {});
  serveStdio(build);
} else {
  const handler = createMcpHandler(build);
  follow(() => handler.notify.resourcesChanged());
  await listen(toNodeHandler(handler));
}
