import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { McpServer } from "bowline/server";
import { bowline, emptyFolder } from "../../support/command.js";
import { serve } from "../../support/harbour.js";

test("completion offers commands, servers, tools, parameters and values, and starts nothing", async (t) => {
  const [cwd, home] = [emptyFolder(t), emptyFolder(t)];
  writeFileSync(join(cwd, "mcp.json"), '{ "mcpServers": { "files": { "command": "touch", "args": ["started"] } } }');
  const server = new McpServer({ name: "a", version: "1" }).tool(
    "set",
    {
      input: {
        type: "object",
        properties: { level: { type: "string", enum: ["low", "high"] }, loud: { type: "boolean" } },
      },
    },
    () => "ok",
  );
  const url = await serve(t, server);
  const run = (...argv: string[]) => bowline(t, argv, { cwd, home, platform: "linux", env: { BOWLINE_CACHE: "on" } });
  const words = async (...line: string[]) => {
    const { code, stdout } = await run("--complete", ...line);
    equal(code, 0);
    return stdout
      .split("\n")
      .filter(Boolean)
      .map((one) => one.split("\t")[0]);
  };
  deepEqual(await words("ca"), ["call"]);
  deepEqual(await words("call", ""), ["files"]);
  deepEqual(await words("call", url, ""), [], "nothing is known before the first use");
  equal((await run("list", url, "--tools")).code, 0);
  deepEqual(await words("call", url, ""), ["set"]);
  deepEqual(await words("call", url, "set", "--l"), ["--level", "--loud", "--log"]);
  deepEqual(await words("call", url, "set", "--level", "h"), ["high"]);
  deepEqual(await words("list", "--era", "a"), ["auto"]);
  deepEqual(await words("doctor", "--only", "era/p"), ["era/probe"]);
  deepEqual(await words("doctor", "--skip", "cost,stdio/e"), ["cost,stdio/exit"]);
  deepEqual(await words("doctor", "--for", "claude,g"), ["claude,gemini"]);
  deepEqual(await words("completion", ""), ["bash", "zsh", "fish"]);
  deepEqual(await words("nonsense", ""), []);
  const cache = join(home, ".cache/bowline");
  const [file = ""] = readdirSync(cache);
  equal(statSync(join(cache, file)).mode & 0o777, 0o600);
  ok(!readdirSync(cwd).includes("started"));

  for (let number = 0; number < 110; number++) writeFileSync(join(cache, `tools-${number}.json`), "{}");
  for (const name of readdirSync(cache)) if (name !== file) utimesSync(join(cache, name), 0, 0);
  equal((await run("list", url, "--tools")).code, 0);
  deepEqual([readdirSync(cache).length, readdirSync(cache).includes(file)], [100, true], "the oldest give way");
});

test("the script for bash completes, also names with a colon", async (t) => {
  const script = await bowline(t, ["completion", "bash"]);
  equal(script.code, 0);
  const folder = emptyFolder(t);
  const calls = `bowline() { shift; printf 'cursor:files\\tabout\\ncursor:notes\\tx\\nother\\n'; }\n`;
  const line = 'COMP_LINE="bowline call cursor:n"; COMP_POINT=21; COMP_WORDS=(bowline call cursor : n); COMP_CWORD=4\n';
  const program = `${script.stdout}\n${calls}${line}_bowline 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, status, error } = spawnSync("bash", ["--norc", "-c", program], { cwd: folder, encoding: "utf8" });
  if ((error as NodeJS.ErrnoException | undefined)?.code === "ENOENT") return;
  deepEqual([status, stdout], [0, "notes\n"]);
});

test("the script for bash runs nothing of the names that a server chose", async (t) => {
  const script = await bowline(t, ["completion", "bash"]);
  const folder = emptyFolder(t);
  const names = "$(touch one)\\n`touch two`\\nx;touch three\\nplain\\n";
  const calls = `bowline() { printf '${names}'; }\n`;
  const line = 'COMP_LINE="bowline call url "; COMP_POINT=17; COMP_WORDS=(bowline call url ""); COMP_CWORD=3\n';
  const use = `for word in "\${COMPREPLY[@]}"; do eval "echo $word"; done`;
  const program = `${script.stdout}\n${calls}${line}_bowline 2>/dev/null; ${use}`;
  const { stdout, status, error } = spawnSync("bash", ["--norc", "-c", program], { cwd: folder, encoding: "utf8" });
  if ((error as NodeJS.ErrnoException | undefined)?.code === "ENOENT") return;
  deepEqual([status, stdout], [0, "$(touch one)\n`touch two`\nx;touch three\nplain\n"]);
  deepEqual(readdirSync(folder), []);
});

test("scripts for zsh and fish name the command that they ask", async (t) => {
  match((await bowline(t, ["completion", "zsh"])).stdout, /^#compdef bowline\n[\s\S]*bowline --complete/);
  match((await bowline(t, ["completion", "fish"])).stdout, /complete -c bowline[\s\S]*__bowline_complete/);
});
