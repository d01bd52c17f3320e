import { deepEqual, equal } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadScript } from "./load-script.js";

const { execTsc } = await loadScript<{
  execTsc(args: readonly string[]): Promise<{ readonly output: string }>;
}>("scripts/lib/exec.mjs");

const PROGRAM = `
import { connect, createGroup } from "bowline/client";
import { memoryCluster } from "bowline/cluster";
import { McpServer } from "bowline/server";
import * as z from "zod";
const server = new McpServer({ name: "weather", version: "1.0.0" })
  .tool("forecast", { input: z.object({ city: z.string() }) }, () => "sun")
  .tool("history", { input: z.object({ city: z.string() }) }, () => "rain")
  .prompt("review", { arguments: z.object({ code: z.string() }) }, ({ code }) => code)
  .prompt("greet", {}, () => "hello");
const client = await connect<typeof server>(server);
const group = createGroup<{ weather: typeof server }>({ mcpServers: { weather: server } });
await client.callTool("forcast", { city: "Oslo" });
await client.callTool("forecast", { town: "Oslo" });
await client.getPrompt("reveiw", { code: "x" });
await group.callTool("weather__forcast", { city: "Oslo" });
const cluster = memoryCluster();
new McpServer({ name: "a", version: "1" }, { cluster });
declare const maybe: typeof cluster | undefined;
new McpServer({ name: "a", version: "1" }, { cluster: maybe, stateKeys: [] });
`;

test("a typed client that is called wrongly prints the names that there are, not its own type", async (t) => {
  const folder = mkdtempSync(fileURLToPath(new URL("../../type-errors-", import.meta.url)));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "wrong.ts"), PROGRAM);
  const compilerOptions = { noEmit: true, composite: false, incremental: false };
  const settings = { extends: "../../tsconfig.base.json", compilerOptions, files: ["wrong.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const { output } = await execTsc(["-p", folder, "--pretty", "false"]);
  const messages = output.split("\n").flatMap((line) => line.match(/error TS\d+: (.+)/)?.[1] ?? []);
  deepEqual(messages, [
    `Argument of type '"forcast"' is not assignable to parameter of type '"forecast" | "history"'.`,
    "Object literal may only specify known properties, and 'town' does not exist in type '{ city: string; }'.",
    `Argument of type '"reveiw"' is not assignable to parameter of type '"greet" | "review"'.`,
    `Argument of type '"weather__forcast"' is not assignable to parameter of type '"weather__forecast" | "weather__history"'.`,
    "Argument of type '{ cluster: Cluster; }' is not assignable to parameter of type 'ServerOptions | undefined'.",
  ]);
  const problem = output.trim().split("\n").at(-1)?.trim();
  equal(
    problem,
    "Property 'stateKeys' is missing in type '{ cluster: Cluster; }' but required in type 'WithStateKeys'.",
  );
});
