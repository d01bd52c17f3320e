import { equal } from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** Programs of clients. Each is a process of its own, since a warning is given once per process. */
const CLIENTS: readonly (readonly [title: string, warnings: string, options: string, use: string])[] = [
  ["is not warned of if the client does nothing with it", "", "", ""],
  ["is not warned of in a legacy connection", "", 'era: "legacy", logLevel: "info"', ""],
  ["is warned of if the options have a level", "deprecated_logging", 'logLevel: "info"', ""],
  [
    "is warned of if the options have a handler",
    "deprecated_logging",
    'notifications: { "notifications/message": () => {} }',
    "",
  ],
  ["is warned of if the client sets a level", "deprecated_logging", "", 'await client.setLogLevel("info");'],
  [
    "is warned of if a call has a level",
    "deprecated_logging",
    "",
    'await client.callTool("t", {}, { logLevel: "info" });',
  ],
];

for (const [title, warnings, options, use] of CLIENTS)
  test(`logging ${title}`, async () => {
    const program = `
      import { connect } from "bowline/client";
      import { McpServer } from "bowline/server";
      const server = new McpServer({ name: "s", version: "1" }, { capabilities: { logging: true } }).tool("t", () => "");
      const logger = { warn: (text, { code }) => console.log(code) };
      const client = await connect(server, { logger, ${options} });
      await client.callTool("t");
      ${use}
      await client.close();`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
      cwd: root,
    });
    equal(stdout.trim(), warnings);
  });
