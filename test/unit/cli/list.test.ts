import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { McpServer } from "bowline/server";
import { bowline, documentOf, emptyFolder } from "../../support/command.js";
import { createHarbour, harbourProgram, serve, WIRES } from "../../support/harbour.js";

for (const { name, place } of WIRES) {
  test(`${name}: a list shows tools with their parameters, templates and prompts`, async (t) => {
    const ran = await bowline(t, await place(t, ["list"]));
    equal(ran.code, 0, ran.stderr);
    match(ran.stdout, /^harbour 1\.0\.0, 20\d\d-\d\d-\d\d\nMoor ships, and let them go\.\n\nTools 3\n/);
    match(
      ran.stdout,
      / {2}moor --ship <text> --berth <text>\n {6}Bring a ship to a berth\n {6}returns \{ ship: string/,
    );
    match(ran.stdout, /Resource templates \d\n {2}berth:\/\/\{name\} {2}berth\n/);
    match(ran.stdout, /Prompts 1\n {2}log-entry --ship <text>\n/);
  });
}

test("a list as JSON has the definitions, and the options choose kinds and items", async (t) => {
  const url = await serve(t, createHarbour());
  const all = documentOf(await bowline(t, ["list", url, "--json"]), "list") as { result: Record<string, object[]> };
  deepEqual(Object.keys(all.result), ["instructions", "tools", "resources", "resourceTemplates", "prompts"]);
  const found = documentOf(await bowline(t, ["list", url, "--json", "--tools", "--search", "BRING ship"]), "list");
  deepEqual(
    (found.result as { tools: { name: string }[] }).tools.map((tool) => tool.name),
    ["moor"],
  );
  const text = await bowline(t, ["list", url, "--tools", "--tokens", "--schema"]);
  match(text.stdout, /moor --ship <text> --berth <text> {2}about \d+ tokens\n/);
  match(text.stdout, /"required": \[/);
});

test("a pipe is as wide as COLUMNS says, and a tool without a description is told", async (t) => {
  const description = "moor ".repeat(30).trim();
  const server = new McpServer({ name: "a", version: "1" })
    .tool("moor", { description }, () => "")
    .tool("bare", () => "");
  const url = await serve(t, server);
  const widthOf = async (COLUMNS: string) => {
    const { stdout } = await bowline(t, ["list", url], { columns: 0, env: { COLUMNS } });
    match(stdout, /\n {2}bare\n {6}\(no description\)\n/);
    return Math.max(...stdout.split("\n").map((line) => line.length));
  };
  const wide = await widthOf("");
  ok(wide > 80 && wide <= 100, `${wide}`);
  ok((await widthOf("60")) <= 60);
  equal(await widthOf("many"), wide);
});

test("a server that announces resources, and has no method for templates, is listed", async (t) => {
  const cwd = emptyFolder(t);
  const program = `
    import { createInterface } from "node:readline";
    const results = {
      initialize: { protocolVersion: "2025-06-18", capabilities: { resources: {} }, serverInfo: { name: "few", version: "1" } },
      "resources/list": { resources: [{ uri: "a://b", name: "b" }] },
    };
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method } = JSON.parse(line);
      const result = results[method];
      const answer = result ? { result } : { error: { code: -32601, message: "Method not found" } };
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });`;
  writeFileSync(join(cwd, "few.mjs"), program);
  for (const command of ["list", "types"]) {
    const ran = await bowline(t, [command, "--", process.execPath, "few.mjs"], { cwd });
    equal(ran.code, 0, ran.stderr);
  }
});

test("colours are for terminals, and not with NO_COLOR", async (t) => {
  const url = await serve(t, createHarbour());
  const plain = await bowline(t, ["list", url]);
  ok(!plain.stdout.includes("\u001b"));
  const coloured = await bowline(t, ["list", url], { tty: true });
  ok(coloured.stdout.includes("\u001b[36mmoor\u001b[39m"));
  ok(!(await bowline(t, ["list", url], { tty: true, env: { NO_COLOR: "1" } })).stdout.includes("\u001b"));
  ok((await bowline(t, ["list", url], { env: { FORCE_COLOR: "1" } })).stdout.includes("\u001b[36m"));
});

test("a URL without a path is tried at /mcp, and the list says so", async (t) => {
  const url = await serve(t, createHarbour());
  const ran = await bowline(t, ["list", new URL(url).origin]);
  equal(ran.code, 0, ran.stderr);
  match(ran.stderr, /answered at http:\/\/127\.0\.0\.1:\d+\/mcp\n/);
});

test("text of a server cannot control the terminal", async (t) => {
  const evil = "a\u001b]0;title\u0007\u001b[2J\u009b31m\u202edcba\u2066\u200b\r\u007fb\u{e0041}";
  const shown = "a␛]0;title␇␛[2J<U+009B>31m<U+202E>dcba<U+2066><U+200B>␍␡b<U+E0041>";
  const server = new McpServer({ name: "evil", version: evil }, { instructions: evil })
    .tool("look", { description: evil }, () => evil)
    .tool("fail", () => ({ isError: true, content: [{ type: "text", text: `${evil}\nsecond` }] }))
    .tool("structured", { output: { type: "object", properties: { text: { type: "string" } } } }, () => ({
      text: evil,
    }))
    .tool("progress", (_, ctx) => {
      ctx.progress(1, 2, evil);
      return "done";
    })
    .tool("ask", async (_, ctx) => {
      await ctx.elicit(evil, {
        type: "object",
        properties: { ok: { type: "boolean", title: evil, description: evil } },
      });
      return "done";
    });
  const url = await serve(t, server);
  const controls = (text: string) =>
    [...text.matchAll(/[\p{Cc}\p{Cf}]/gu)].map(([char]) => char).filter((char) => char !== "\n");

  const listed = await bowline(t, ["list", url]);
  ok(listed.stdout.includes(`evil ${shown}, `) && listed.stdout.includes(`      ${shown}\n`), listed.stdout);
  const called = await bowline(t, ["call", url, "look"]);
  equal(called.stdout, `${shown}\n`);
  const failed = await bowline(t, ["call", url, "fail"]);
  equal(failed.stderr, `The tool failed: ${shown} second\n`);
  const moving = await bowline(t, ["call", url, "progress"]);
  ok(moving.stderr.startsWith(`  1/2 ${shown}  `), moving.stderr);
  const structured = await bowline(t, ["call", url, "structured"]);
  equal((JSON.parse(structured.stdout) as { text: string }).text, evil, "JSON keeps the value");
  const json = await bowline(t, ["call", url, "look", "--json"]);
  equal((documentOf(json, "outcome").result as { content: { text: string }[] }).content[0]?.text, evil);
  for (const { stdout, stderr } of [listed, called, failed, moving, structured, json])
    deepEqual(controls(stdout + stderr), []);

  const asked = await bowline(t, ["call", url, "ask"], {
    tty: true,
    env: { NO_COLOR: "1", TERM: "dumb" },
    types: [[/y\/n/, "y\n"]],
  });
  ok(asked.stderr.includes(`asks: ${shown}`) && !asked.stderr.includes("\u001b]0"), asked.stderr);
});

test("without a server, the configured ones are listed and none is started", async (t) => {
  const cwd = emptyFolder(t);
  mkdirSync(join(cwd, ".vscode"));
  const [command, ...args] = harbourProgram;
  writeFileSync(
    join(cwd, "mcp.json"),
    JSON.stringify({
      mcpServers: { harbour: { command, args }, off: { url: "https://x.example/mcp?key=secret", disabled: true } },
    }),
  );
  writeFileSync(
    join(cwd, ".vscode/mcp.json"),
    `{ "servers": { "touch": { "command": "touch", "args": ["started"] }, }, // a comment\n}`,
  );
  const ran = await bowline(t, ["list"], { cwd });
  equal(ran.code, 0);
  match(ran.stdout, /mcp:harbour +\S+ \.\.\. .*mcp\.json\n/);
  match(ran.stdout, /mcp:off +https:\/\/x\.example\/mcp\?\.\.\. {2}\(disabled\)/);
  match(ran.stdout, /vscode:touch +touch \.\.\./);
  ok(!ran.stdout.includes("secret"));
  documentOf(await bowline(t, ["list", "--json"], { cwd }), "configured");

  const refused = await bowline(t, ["list", "--connect", "--config", "mcp.json"], { cwd });
  deepEqual([refused.code, /only with --yes/.test(refused.stderr)], [2, true]);
  const connected = await bowline(t, ["list", "--connect", "--yes", "--config", "mcp.json", "--json"], { cwd });
  const { result } = documentOf(connected, "configured") as {
    result: { servers: { server: string; tools: object[] }[] };
  };
  deepEqual(
    result.servers.map(({ server, tools }) => [server, tools.length]),
    [["mcp:harbour", 3]],
  );
});

test("a list and the help of a tool fit a narrow terminal, and no option is divided", async (t) => {
  const properties = {
    kind: { type: "string", enum: ["guest", "member", "officer"], description: "Who comes, and who may see the berth" },
    at: { type: "object", properties: { x: { type: "number" } } },
    tags: { type: "array", items: { type: "string" } },
  };
  const server = new McpServer({ name: "a", version: "1" }).tool(
    "book",
    { description: "Books a berth for a ship. ".repeat(4), input: { type: "object", required: ["kind"], properties } },
    () => "ok",
  );
  const url = await serve(t, server);
  const options = { tty: true, columns: 40, env: { NO_COLOR: "1" } };
  const list = await bowline(t, ["list", url], options);
  const help = await bowline(t, ["call", url, "book", "--help"], options);
  for (const { stdout } of [list, help])
    for (const line of stdout.split("\n")) ok(line.length <= 40 && !line.endsWith(" "), JSON.stringify(line));
  match(list.stdout, /^ {2}book --kind <guest\|member\|officer>\n {6}\[--at <json>\] \[--tags <text>\]\.\.\.\n/m);
  match(
    help.stdout,
    /^ {2}--kind <guest\|member\|officer>\n {6}required; Who comes, and who may\n {6}see the berth\n/m,
  );
  match(help.stdout, /^ {2}--at.x <number>\n/m);
});
