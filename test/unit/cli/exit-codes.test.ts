import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { McpServer, RpcError, ToolError } from "bowline/server";
import { EXIT } from "#src/cli/failures.js";
import { helpOf } from "#src/cli/help.js";
import { COMMANDS, EXIT_CODES } from "#src/cli/table.js";
import { bowline, documentOf, emptyFolder } from "../../support/command.js";
import { createHarbour, serve } from "../../support/harbour.js";
import { SkillScript } from "../../support/scripted-skills.js";

/** Answers each request by a status. */
async function statusServer(t: TestContext, status: number): Promise<string> {
  const server = createServer((_, response) => response.writeHead(status).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

test("help documents each exit code", () => {
  deepEqual(
    EXIT_CODES.map(([code]) => code),
    Object.values(EXIT),
  );
});

test("help aligns the options of each command", () => {
  for (const spec of COMMANDS) {
    const help = helpOf(spec);
    const columns = Object.values(spec.options).map((option) => {
      const line = help.split("\n").find((one) => one.startsWith("  -") && one.endsWith(`  ${option.help}`)) ?? "";
      return line.length - option.help.length;
    });
    ok(new Set(columns).size <= 1, `${spec.name}: ${columns}`);
  }
});

test("0: types makes the folder of its files", async (t) => {
  const cwd = emptyFolder(t);
  const url = await serve(t, createHarbour());
  const { code, stderr } = await bowline(t, ["types", url, "-o", "new/folder/harbour.mcp.ts"], { cwd });
  equal(code, 0, stderr);
  deepEqual(readdirSync(join(cwd, "new/folder")).sort(), ["harbour.mcp.lock.json", "harbour.mcp.ts"]);
});

test("0: done", async (t) => {
  equal((await bowline(t, ["--help"])).code, 0);
  equal((await bowline(t, ["call", "--help"])).code, 0);
  equal((await bowline(t, ["help", "call"])).code, 0);
  match((await bowline(t, ["--version"])).stdout, /^bowline \d+\.\d+\.\d+\n$/);
});

test("1: a file of a skill that does not match its digest", async (t) => {
  const script = new SkillScript();
  script.serve("skill://knots/SKILL.md", { "bowline.md": "over, under" });
  const url = await serve(t, script.server());
  const verify = (...more: string[]) => bowline(t, ["skills", url, "knots", "--verify", ...more]);
  equal((await verify()).code, 0);
  script.files.set("skill://knots/bowline.md", "under, over ");
  const ran = await verify();
  deepEqual([ran.code, /bowline\.md/.test(ran.stderr)], [1, true], ran.stderr);
  equal(documentOf(await verify("--json")).error.code, "skill_mismatch");
});

test("2: wrong usage is one line, and suggests what was probably meant", async (t) => {
  const url = await serve(t, createHarbour());
  const folder = emptyFolder(t);
  writeFileSync(join(folder, "broken.json"), "{\n  nonsense\n}");
  const mistakes: readonly (readonly [argv: readonly string[], told: RegExp])[] = [
    [["lst"], /no command "lst"; did you mean "list"\?/],
    [["--quiet"], /a command must come first/],
    [["list", url, "--jsn"], /unknown option --jsn; did you mean --json\?/],
    [["list", url, "more"], /unexpected argument "more"/],
    [["list", url, "--era", "old"], /--era must be auto, .* got "old"/],
    [["list", url, "--timeout", "60"], /--timeout must be a time such as 500ms/],
    [["list", url, "--header", "secret"], /--header must be 'Name: value' \(the value is not shown\)/],
    [["list", url, "--env", "A=1"], /--env is for a process/],
    [["list", url, "--version", "2020-01-01"], /2020-01-01/],
    [["list", "--", "node", "--header"], /MODULE|bad option|cannot connect/],
    [["list", "--", ...[]], /a command must follow --/],
    [["list", "127.0.0.1:3000"], /did you mean http:\/\/127\.0\.0\.1:3000\?/],
    [["list", "missing.ts"], /there is no file missing\.ts/],
    [["list", "npm:"], /names no package/],
    [["list", "nothing"], /no configured server "nothing"/],
    [["list", "a", "--config", "broken.json"], /broken\.json: is not valid JSON/],
    [["list", "a", "--config", "missing.json"], /missing\.json: cannot be read \(ENOENT\)/],
    [["call", url], /bowline call needs <tool>/],
    [["call", url, "moor", "Maria"], /unexpected argument "Maria" after the tool/],
    [["call", url, "moor", "--shp", "x"], /no parameter --shp; did you mean --ship\?/],
    [["call", url, "moor", "--ship"], /--ship needs a value/],
    [["call", url, "moor", "--ship", "--berth"], /--ship needs a value; write --ship=--berth/],
    [["call", url, "moor", "--ship", "@missing"], /--ship: missing cannot be read \(ENOENT\)/],
    [["call", url, "moor", "--args", "{"], /--args: is not valid JSON/],
    [["prompt", url, "log-entry"], /needs --ship <text>/],
    [["prompt", url, "log-entry", "--shp", "x"], /unknown option --shp; did you mean --ship\?/],
    [["read", url, "berth://{name}"], /needs --name <value>/],
    [["read", url, "berth://{name}", "--nam", "x"], /unknown option --nam/],
    [["read", url, "nothing:1"], /no resource nothing:1/],
    [["tasks", url, "--follow"], /--follow needs the id of a task/],
    [["watch", url, "--count", "0"], /--count must be a whole number above zero/],
    [["init", "broken.json"], /the folder .*broken\.json cannot be made \(EEXIST\); choose another folder/],
    [["completion", "powershell"], /completion is for bash, zsh, fish/],
  ];
  for (const [argv, told] of mistakes) {
    const ran = await bowline(t, argv, { cwd: folder });
    const isProcess = argv.includes("--") && argv.at(-1) !== "--";
    equal(ran.code, isProcess ? 4 : 2, `${argv.join(" ")}: ${ran.stderr}`);
    match(ran.stderr, told);
    match(ran.stderr, /^bowline: /);
    equal(ran.stdout, "");
  }
});

test("3: a server that wants a login", async (t) => {
  const url = await statusServer(t, 401);
  const ran = await bowline(t, ["list", url]);
  equal(ran.code, 3, ran.stderr);
  match(ran.stderr, /--header 'Authorization: Bearer <token>'/);
});

test("4: a server that is not there, or does not start", async (t) => {
  const dead = await bowline(t, ["list", "http://127.0.0.1:9/mcp"]);
  equal(dead.code, 4);
  match(dead.stderr, /^bowline: cannot connect to http:\/\/127\.0\.0\.1:9\/mcp: .*ECONNREFUSED.*\n$/);
  const missing = documentOf(await bowline(t, ["list", "--json", "--", "no-such-program-here"]));
  equal(missing.error.code, "connection_error");
  const crashed = await bowline(t, [
    "list",
    "--json",
    "--",
    process.execPath,
    "-e",
    "console.error('no token'); process.exit(3)",
  ]);
  equal(crashed.code, 4);
  const { error } = documentOf(crashed);
  deepEqual([error.exitCode, error.stderr], [3, ["no token"]]);
  equal((await bowline(t, ["list", await statusServer(t, 404)])).code, 4);
});

test("5: a tool that fails, with its reason", async (t) => {
  const server = new McpServer({ name: "a", version: "1" }).tool("fail", () => {
    throw new ToolError("no wind");
  });
  const url = await serve(t, server);
  const ran = await bowline(t, ["call", url, "fail"]);
  deepEqual([ran.code, ran.stdout, ran.stderr], [5, "", "The tool failed: no wind\n"]);
  const told = documentOf(await bowline(t, ["call", url, "fail", "--json"]));
  deepEqual([told.ok, told.error.code, told.error.message], [false, "tool_failed", "no wind"]);
});

test("6: an error of the server, which says how far the call got", async (t) => {
  const server = new McpServer({ name: "a", version: "1" }).tool("refuse", () => {
    throw new RpcError(4001, "not today", { why: "rain" });
  });
  const url = await serve(t, server);
  const ran = await bowline(t, ["call", url, "refuse"]);
  equal(ran.code, 6);
  match(ran.stderr, /^bowline: not today\n {2}The server answered with this error/);
  const { error } = documentOf(await bowline(t, ["call", url, "refuse", "--json"]));
  deepEqual([error.rpcCode, error.data, error.delivery, error.retrySafe], [4001, { why: "rain" }, "answered", false]);
});

test("7: a time limit", async (t) => {
  const url = await serve(t, createHarbour());
  const ran = await bowline(t, ["call", url, "sound-the-horn", "--deadline", "50ms", "--json"]);
  equal(ran.code, 7);
  const { error } = documentOf(ran);
  deepEqual([error.code, error.kind, error.retrySafe], ["timeout", "deadline", false]);
  match(String(error.delivery), /^(?:sent|answer_lost)$/);
  const told = await bowline(t, ["call", url, "sound-the-horn", "--deadline", "50ms"]);
  match(told.stderr, /--timeout <time> for silence, --deadline <time>/);
  match(told.stderr, /The call may have run \(delivery: \w+\)\. Sending it again may run it twice\./);
});

test("70: a defect is told as one", async (t) => {
  const ran = await bowline(t, ["list", "x"], { cwd: undefined as never, home: 7 as never });
  equal(ran.code, 70);
  match(ran.stderr, /^bowline: a defect of Bowline .*; please report it\nTypeError/);
});

test("0: a reader that has enough", async (t) => {
  const url = await serve(t, createHarbour());
  const ran = await bowline(t, ["watch", url], { types: [[/watching lists/, ({ closePipe }) => closePipe()]] });
  deepEqual([ran.code, ran.stderr], [0, "watching lists\n"]);
});

test("errors show no secret of the command line", async (t) => {
  const url = "http://127.0.0.1:9/mcp";
  const lines: readonly (readonly [argv: readonly string[], code: number, message: RegExp])[] = [
    [["list", `${url}?key=hunter2`], 4, /cannot connect to http:\/\/127\.0\.0\.1:9\/mcp\?\.\.\.: /],
    [
      ["list", "http://joe:hunter2@127.0.0.1:9/mcp"],
      2,
      /has a user name or a password, .* --header 'Authorization: Basic/,
    ],
    [["list", url, "--header", "X-Key: hunter2\nX: y"], 2, /--header X-Key: the value has a character that no header/],
    [["list", url, "--header", "X-Key: hunter2€"], 2, /--header X-Key: the value has a character that no header/],
    [["list", "--", "no-such-program-here", "--key", "hunter2"], 4, /cannot connect to no-such-program-here \.\.\.: /],
  ];
  for (const [argv, code, message] of lines) {
    const ran = await bowline(t, argv);
    equal(ran.code, code, ran.stderr);
    match(ran.stderr, message);
    ok(!/hunter2/.test(ran.stderr), ran.stderr);
  }
  const cwd = emptyFolder(t);
  const mcpServers = { a: { url: "https://joe:hunter2@example.com/mcp?key=hunter2" } };
  writeFileSync(join(cwd, "mcp.json"), JSON.stringify({ mcpServers }));
  const listed = await bowline(t, ["list"], { cwd });
  match(listed.stdout, /mcp:a {2}https:\/\/example\.com\/mcp\?\.\.\. /);
  const used = await bowline(t, ["list", "a"], { cwd });
  equal(used.code, 2, used.stderr);
  ok(!/hunter2/.test(listed.stdout + used.stderr), used.stderr);
});

test("a reader of stderr that has enough changes no exit code", async () => {
  const bin = fileURLToPath(import.meta.resolve("#src/cli/bin.js"));
  const child = spawn(process.execPath, [bin, "list", "no-such.ts"], { stdio: ["ignore", "ignore", "pipe"] });
  child.stderr.destroy();
  const [code] = await once(child, "exit");
  equal(code, 2);
});

test("143: SIGTERM", async (t) => {
  const url = await serve(t, createHarbour());
  const ran = await bowline(t, ["call", url, "sound-the-horn"], {
    types: [[/1 toot/, ({ interrupt }) => interrupt("SIGTERM")]],
  });
  equal(ran.code, 143);
});

test("a lost answer says that the call may have run, and --retry repeats what is safe", async (t) => {
  let [lists, calls] = [0, 0];
  const harbour = createHarbour();
  const server = createServer(async (request, response) => {
    const parts: Uint8Array[] = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const { method } = JSON.parse(body.toString() || "{}") as { method?: string };
    if (method === "tools/call" && calls++ === 0) return void request.socket.destroy();
    if (method === "tools/list" && lists++ === 0) return void response.writeHead(503, { "retry-after": "0" }).end();
    const headers = Object.entries(request.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    );
    const answer = await harbour.fetch(
      new Request(`http://127.0.0.1/mcp`, {
        method: request.method ?? "POST",
        headers: headers as [string, string][],
        body,
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const plain = await bowline(t, ["call", url, "moor", "--ship", "A", "--berth", "b"]);
  deepEqual([plain.code, lists, calls], [4, 1, 0], plain.stderr);
  lists = 0;
  const lost = await bowline(t, ["call", url, "moor", "--ship", "A", "--berth", "b", "--retry"]);
  deepEqual([lost.code, lists, calls], [4, 2, 1], lost.stderr);
  match(lost.stderr, /The call may have run \(delivery: sent\)\. Sending it again may run it twice\./);
});
