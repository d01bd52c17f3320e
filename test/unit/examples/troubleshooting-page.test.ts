import { equal } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { serveHttp } from "bowline/node";
import type { McpServer } from "bowline/server";
import { transformSync } from "esbuild";

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const read = (page: string) => readFileSync(join(root, "docs", page), "utf8");
const page = read("troubleshooting.md");
const folder = mkdtempSync(join(root, "build/troubleshooting-page-"));
let server: McpServer;

/** Puts the server of the tutorial into a folder below the project, where its imports are found. */
before(async () => {
  for (const [, name, code = ""] of read("tutorial.md").matchAll(/^```ts\n\/\/ (notes|stdio)\.ts\n(.*?)^```$/gms)) {
    const { code: script } = transformSync(code, { loader: "ts", format: "esm", target: "esnext" });
    writeFileSync(join(folder, `${name}.mjs`), script.replace("./notes.ts", "./notes.mjs"));
  }
  ({ server } = await import(pathToFileURL(join(folder, "notes.mjs")).href));
});

after(() => rmSync(folder, { recursive: true }));

/** Returns the commands of the part of the page that begins with a title, and what they print. */
function partOf(title: string): readonly [commands: string, printed: string] {
  const part = page.slice(page.indexOf(`**${title}.**`));
  const [, commands = "", printed = ""] = /^```sh\n(.*?)^```\n+```\w*\n(.*?)^```$/ms.exec(part) ?? [];
  return [commands, printed];
}

/** Runs a command of curl that posts to the server, and returns the response. */
function post(url: string, command: string, more: Readonly<Record<string, string>> = {}): Promise<Response> {
  const headers = [...command.matchAll(/-H '([\w-]+): ([^']+)'/g)].map(([, name = "", value = ""]) => [name, value]);
  const [, body = ""] = /-d '([^']+)'/.exec(command) ?? [];
  return fetch(url, { method: "POST", headers: { ...Object.fromEntries(headers), ...more }, body });
}

test("the answers that the page about troubleshooting prints are those of the tutorial's server over HTTP", async (t) => {
  const running = await serveHttp(server, { port: 0 });
  t.after(() => running.close());

  const [modern, printed] = partOf("curl, 2026-07-28");
  equal(`${await (await post(running.url, modern)).text()}\n`, printed);

  const [legacy, events] = partOf("curl, 2025-11-25");
  const [common = "", ...commands] = legacy.split(/^post /m);
  const posted = (command: string, session?: string) =>
    post(running.url, common + command, session === undefined ? {} : { "mcp-session-id": session });
  const [hello = "", ...others] = commands;
  const answer = await posted(hello);
  let output = await answer.text();
  for (const command of others)
    output += await (await posted(command, answer.headers.get("mcp-session-id") ?? "")).text();
  equal(output.trimEnd(), events.trimEnd());
});

test("the answer that the page prints for a pipe is that of the tutorial's server", () => {
  const [command, printed] = partOf("A pipe");
  const [, input = ""] = /echo '([^']+)'/.exec(command) ?? [];
  const { stdout } = spawnSync(process.execPath, [join(folder, "stdio.mjs")], {
    input: `${input}\n`,
    encoding: "utf8",
  });
  equal(stdout, printed);
});
