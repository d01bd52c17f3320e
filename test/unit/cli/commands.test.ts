import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { assertShape, bowline, documentOf, emptyFolder } from "../../support/command.js";
import { createHarbour, harbourProgram, serve, WIRES } from "../../support/harbour.js";

for (const { name, place } of WIRES) {
  test(`${name}: read, prompt and a template with variables`, async (t) => {
    const read = await bowline(t, await place(t, ["read", "berth://{name}", "--name", "n1"]));
    deepEqual([read.code, read.stdout], [0, "free\n"], read.stderr);
    documentOf(await bowline(t, await place(t, ["read", "berth://n1", "--json"])), "contents");
    const prompt = await bowline(t, await place(t, ["prompt", "log-entry", "--ship", "Maria", "--text"]));
    deepEqual([prompt.code, prompt.stdout], [0, "Write a log entry for the Maria.\n"], prompt.stderr);
    documentOf(await bowline(t, await place(t, ["prompt", "log-entry", "--ship", "Maria", "--json"])), "messages");
  });
}

test("read writes bytes to a new file, or to stdout", async (t) => {
  const cwd = emptyFolder(t);
  const server = new McpServer({ name: "a", version: "1" }).resource(
    "bin://a",
    { name: "a" },
    () => new Uint8Array([1, 2, 3]),
  );
  const url = await serve(t, server);
  match((await bowline(t, ["read", url, "bin://a"])).stdout, /^\[.*, 3 bytes; --out saves it\]\n$/);
  equal((await bowline(t, ["read", url, "bin://a", "--out", "-"])).stdout, "\u0001\u0002\u0003");
  const saved = await bowline(t, ["read", url, "bin://a", "--out", "x/a.bin", "--json"], { cwd });
  documentOf(saved, "saved");
  deepEqual([...readFileSync(join(cwd, "x/a.bin"))], [1, 2, 3]);
  equal((await bowline(t, ["read", url, "bin://a", "--out", "x/a.bin"], { cwd })).code, 2, "no file is replaced");
});

for (const era of ["auto", "legacy"]) {
  test(`${era}: watch prints changes, runs a command for each, and ends`, async (t) => {
    const cwd = emptyFolder(t);
    const harbour = createHarbour();
    const url = await serve(t, harbour);
    const change = () => harbour.changes.resourceUpdated("berth://n1");
    const args = [
      "watch",
      url,
      "berth://n1",
      "--count",
      "1",
      "--json",
      "--era",
      era,
      "--exec",
      'printf "%s" "$MCP_KIND $MCP_URI" > seen',
    ];
    const ran = await bowline(t, args, { cwd, types: [[/watching berth:\/\/n1/, change]] });
    equal(ran.code, 0, ran.stderr);
    const line = JSON.parse(ran.stdout) as object;
    assertShape(line, "change");
    deepEqual(line, { kind: "resource", uri: "berth://n1" });
    equal(readFileSync(join(cwd, "seen"), "utf8"), "resource berth://n1");

    const timed = await bowline(t, ["watch", url, "berth://n2", "--for", "10ms", "--era", era]);
    deepEqual([timed.code, timed.stdout], [0, ""], timed.stderr);
    const stopped = await bowline(t, ["watch", url, "berth://n2", "--era", era], {
      types: [[/watching/, ({ interrupt }) => interrupt()]],
    });
    equal(stopped.code, 130);
  });
}

test("an interrupted watch ends what --exec has started", async (t) => {
  const cwd = emptyFolder(t);
  const harbour = createHarbour();
  const url = await serve(t, harbour);
  const exec = "(echo started >&2; sleep 5; touch late); true";
  const ran = await bowline(t, ["watch", url, "berth://n1", "--exec", exec], {
    cwd,
    types: [
      [/watching/, () => harbour.changes.resourceUpdated("berth://n1")],
      [/started/, ({ interrupt }) => interrupt("SIGTERM")],
    ],
  });
  equal(ran.code, 143, ran.stderr);
  ok(!existsSync(join(cwd, "late")), "the command of the change ran on");
});

test("read --watch reads again on each change", async (t) => {
  let text = "one";
  const server: McpServer = new McpServer({ name: "a", version: "1" }).resource("note://a", { name: "a" }, () => text);
  const url = await serve(t, server);
  const ran = await bowline(t, ["read", url, "note://a", "--watch", "--json", "-v"], {
    types: [
      [
        /watching[\s\S]*<- resources\/read/,
        () => {
          text = "two";
          server.changes.resourceUpdated("note://a");
        },
      ],
      [/<- resources\/read/, ({ interrupt }) => interrupt()],
    ],
  });
  equal(ran.code, 130, ran.stderr);
  const lines = ran.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { contents: { text: string }[] });
  assertShape(lines.pop());
  for (const line of lines) assertShape(line, "contents");
  deepEqual(
    lines.map(({ contents }) => contents[0]?.text),
    ["one", "two"],
  );
});

test("a task is started, shown, followed and cancelled", async (t) => {
  const server = new McpServer({ name: "survey", version: "1" })
    .extend(tasks({ pollIntervalMs: 10 }))
    .tool("survey", { task: { support: "required" } }, async (_, ctx) => {
      const answer = await ctx.elicit("Go on?", {
        type: "object",
        properties: { sure: { type: "boolean" } },
        required: ["sure"],
      });
      return answer.action === "accept" ? "deep" : "unknown";
    });
  const url = await serve(t, server);
  const waited = await bowline(t, ["call", url, "survey", "--answer", "sure=y"]);
  deepEqual([waited.code, waited.stdout], [0, "deep\n"], waited.stderr);

  const started = documentOf(await bowline(t, ["call", url, "survey", "--task", "--json"]), "task");
  const { taskId } = (started.result as { task: { taskId: string } }).task;
  const shown = await bowline(t, ["tasks", url, taskId]);
  match(shown.stdout, new RegExp(`^${taskId} {2}(working|input_required) {2}`));
  const open = await bowline(t, ["tasks", url, taskId, "--result"]);
  equal(open.code, 8, open.stderr);
  documentOf(await bowline(t, ["tasks", url, taskId, "--json"]), "task");
  const followed = await bowline(t, ["tasks", url, taskId, "--follow", "--answer", "sure=n"]);
  equal(followed.code, 0, followed.stderr);
  equal(followed.stdout, "deep\n");
  match(followed.stderr, /completed/);

  const second = documentOf(await bowline(t, ["call", url, "survey", "--task", "--json"]), "task");
  const id = (second.result as { task: { taskId: string } }).task.taskId;
  const cancelled = await bowline(t, ["tasks", url, id, "--cancel"]);
  deepEqual([cancelled.code, cancelled.stdout], [0, `task ${id} is cancelled\n`], cancelled.stderr);
  equal((await bowline(t, ["tasks", url, id, "--result"])).code, 6);
});

test("skills are listed, shown, verified and saved", async (t) => {
  const cwd = emptyFolder(t);
  const skills = (...args: string[]) => bowline(t, ["skills", ...args, "--", ...harbourProgram], { cwd });
  const listed = await skills();
  match(listed.stdout, /^mooring {2}skill:\/\/mooring\/SKILL\.md, 2 files\n/);
  documentOf(await skills("--json"), "skills");
  match((await skills("mooring")).stdout, /Moor|moor/);
  documentOf(await skills("mooring", "--json"), "shownSkill");
  const verified = await skills("mooring", "--verify");
  match(verified.stdout, /^verified {2}SKILL\.md {2}\d+ bytes\n/);
  documentOf(await skills("--verify", "--json"), "skills");
  const saved = await skills("mooring", "--out", "kept");
  equal(saved.code, 0, saved.stderr);
  ok(existsSync(join(cwd, "kept/SKILL.md")));
  const missing = await skills("moring");
  deepEqual([missing.code, /did you mean "mooring"\?/.test(missing.stderr)], [2, true]);
});

test("a file that exports a server, or serves it, is a server", async (t) => {
  const cwd = emptyFolder(t);
  const entry = (name: string) => JSON.stringify(new URL(`../../../../dist/entry/${name}.js`, import.meta.url).href);
  const define = `import { McpServer } from ${entry("server")};\nimport { serveStdio } from ${entry("node")};\n`;
  const make = (name: string) => `new McpServer({ name: "${name}", version: "1" }).tool("hum", () => "hm")`;
  writeFileSync(
    join(cwd, "both.mjs"),
    `${define}export const server = ${make("one")};\nexport const other = ${make("two")};`,
  );
  writeFileSync(
    join(cwd, "served.mjs"),
    `${define}export const server = ${make("exported")};\nawait serveStdio(${make("served")});`,
  );
  writeFileSync(join(cwd, "unawaited.mjs"), `${define}serveStdio(${make("unawaited")});`);
  writeFileSync(join(cwd, "none.mjs"), "export const a = 1;");
  writeFileSync(join(cwd, "broken.mjs"), "throw new Error('no luck');");
  const nameOf = async (spec: string) => {
    const ran = await bowline(t, ["list", spec, "--json"], { cwd });
    equal(ran.code, 0, ran.stdout);
    return documentOf(ran).server.name;
  };
  equal(await nameOf("both.mjs"), "one");
  equal(await nameOf("both.mjs#other"), "two");
  equal(await nameOf("served.mjs"), "served");
  equal(await nameOf("unawaited.mjs"), "unawaited");
  const none = await bowline(t, ["list", "none.mjs"], { cwd });
  deepEqual([none.code, /serves nothing by stdio, and exports no server/.test(none.stderr)], [4, true], none.stderr);
  const broken = await bowline(t, ["list", "broken.mjs"], { cwd });
  deepEqual([broken.code, /no luck/.test(broken.stderr)], [4, true], broken.stderr);
});

test("packages are started by npx and uvx", async (t) => {
  const bin = emptyFolder(t);
  const cwd = emptyFolder(t);
  const script = (name: string) =>
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\necho ${name} "$@" > ${join(cwd, "started")}\nexec ${harbourProgram.join(" ")}\n`,
      { mode: 0o755 },
    );
  for (const name of ["npx", "uvx"]) script(name);
  // The environment of a server process is that of this process.
  const { PATH } = process.env;
  process.env.PATH = `${bin}:${PATH}`;
  t.after(() => {
    process.env.PATH = PATH;
  });
  equal((await bowline(t, ["list", "npm:@scope/pkg@1.2"], { cwd })).code, 0);
  equal(readFileSync(join(cwd, "started"), "utf8"), "npx -y @scope/pkg@1.2\n");
  equal((await bowline(t, ["list", "pypi:some-server"], { cwd })).code, 0);
  equal(readFileSync(join(cwd, "started"), "utf8"), "uvx some-server\n");
});
