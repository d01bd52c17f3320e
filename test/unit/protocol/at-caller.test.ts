import { equal, match, ok } from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { introspectionVerifier } from "bowline/auth/server";
import { connect, createGroup } from "bowline/client";
import { storeCluster } from "bowline/cluster";
import { readServers, serveHttp, serveStdio, toNodeListener } from "bowline/node";
import { DefinitionError, inputRequired, McpServer, ServerExtension } from "bowline/server";
import { McpServer as ModernServer } from "bowline/server/modern";
import { SkillCatalogue } from "bowline/skills/client";
import { defineState } from "bowline/state";
import { atCaller } from "#src/protocol/at-caller.js";

const server = () =>
  new McpServer({ name: "s", version: "1" }).tool("t", () => "").resource("a://b", { name: "b" }, none);
const extension = () => new ServerExtension({ id: "a.b/c", serverOnly: true });
const taskOnly = () => server().tool("long", { task: "required" }, none);
const none = (() => "") as never;
const unknown = { unknown: true } as never;

/** Reads a configuration with this text. */
async function readText(text: string): Promise<unknown> {
  const path = join(tmpdir(), `${crypto.randomUUID()}.json`);
  await writeFile(path, text);
  try {
    return await readServers(path);
  } finally {
    await rm(path);
  }
}

/** Mistakes in other things than options, which test/project/options.test.ts has. */
const MISTAKES: Readonly<Record<string, () => unknown>> = {
  "new McpServer": () => new McpServer({ name: "s" } as never),
  "new McpServer of the modern era": () => new ModernServer({ name: "s", version: "1" }, unknown),
  tool: () => server().tool("t", none),
  prompt: () => server().prompt("p", 5 as never),
  resource: () => server().resource("a://{", { name: "b" }, none),
  method: () => server().method("tools/list", none),
  onNotification: () => server().onNotification("notifications/x", unknown, none),
  use: () => server().use(5 as never),
  extend: () => server().extend(5 as never),
  "edit.tool": () => server().edit.tool("missing"),
  "edit.prompt": () => server().edit.prompt("missing"),
  "edit.resource": () => server().edit.resource("missing"),
  "edit.tool().update": () => server().edit.tool("t").update(unknown),
  "edit.tool().disable": () => {
    const own = server();
    const editor = own.edit.tool("t");
    own.removeTool("t");
    editor.disable();
  },
  "new ServerExtension": () => new ServerExtension({ id: "no prefix" }),
  "ServerExtension.method": () => extension().method("a/b", none).method("a/b", none),
  inputRequired: () => inputRequired({}),
  defineState: () => defineState("a name"),
  storeCluster: () => storeCluster({} as never, { sealKeys: [] }),
  introspectionVerifier: () => introspectionVerifier({} as never),
  "new SkillCatalogue": () => new SkillCatalogue({}, {} as never),
  createGroup: () => createGroup({ mcpServers: { a: {} } } as never),
  toNodeListener: () => toNodeListener({} as never),
  "serveHttp, at once": () => serveHttp(server(), { port: -1 }),
  "serveHttp, later": async () => await serveHttp(taskOnly()),
  "serveHttp with workers": async () => await serveHttp(server(), { workers: 0 }),
  serveStdio: async () => await serveStdio(taskOnly()),
  "connect, at once": () => connect({ command: "none", restart: { maxMissedPings: 2 } }),
  "connect, later": async () => await connect(taskOnly()),
  "readServers, no file": async () => await readServers("missing.json"),
  "readServers, no object": async () => await readText("5"),
};

for (const [name, mistake] of Object.entries(MISTAKES)) {
  test(`${name}: the stack of a DefinitionError begins with the line of the author`, async () => {
    const error = await (async () => mistake())().then(
      () => undefined,
      (error: unknown) => error,
    );
    ok(error instanceof DefinitionError, String(error));
    const [first = ""] = (error.stack ?? "").split("\n").filter((line) => /^ +at /.test(line));
    match(first, /at-caller\.test\./, error.stack);
  });
}

test("a method still returns what it returned, and its server", () => {
  const own = server();
  equal(
    own.tool("other", {}, () => ""),
    own,
  );
  equal(
    own.use((call, next) => next(call)),
    own,
  );
});

test("the stack of a promise that nobody awaits is kept", async () => {
  const failed = atCaller(test, () => Promise.reject(new DefinitionError("wrong")));
  const error = await failed.then(
    () => undefined,
    ({ stack = "" }: Error) => stack,
  );
  match(error ?? "", /at-caller\.test\./);
});
