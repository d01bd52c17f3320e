import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { emptyFolder } from "../support/command.js";
import { createHarbour, harbourProgram, serve } from "../support/harbour.js";
import { loadScript } from "./load-script.js";

const { packPackage } = await loadScript<{ packPackage(folder: string): Promise<{ readonly tarball: string }> }>(
  "scripts/package.mjs",
);

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. Environment and folder are those of a user who has nothing but the package. */
function run(command: string, args: readonly string[], cwd: string, onOutput?: (text: string) => void): Promise<Ended> {
  const env = {
    PATH: process.env.PATH,
    HOME: cwd,
    TERM: "xterm",
    npm_config_cache: join(cwd, ".npm"),
    npm_config_update_notifier: "false",
  };
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (part) => {
      stdout += part;
      onOutput?.(stdout);
    });
    child.stderr.on("data", (part) => {
      stderr += part;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}

/** Installs the packed package in an empty folder, without network. */
async function installed(t: TestContext): Promise<string> {
  const home = emptyFolder(t);
  const { tarball } = await packPackage(emptyFolder(t));
  writeFileSync(join(home, "package.json"), '{ "name": "home", "private": true, "type": "module" }');
  const options = ["--offline", "--no-audit", "--no-fund", "--no-package-lock"];
  const ended = await run("npm", ["install", ...options, tarball], home);
  equal(ended.code, 0, ended.stderr);
  return home;
}

test("the command works from the packed tarball", async (t) => {
  const home = await installed(t);
  const bin = join(home, "node_modules/.bin/bowline");
  const url = await serve(t, createHarbour());

  await t.test("npx bowline list", async () => {
    const { code, stdout, stderr } = await run("npx", ["--no-install", "bowline", "list", url], home);
    equal(code, 0, stderr);
    match(stdout, /^harbour 1\.0\.0, 2026-07-28\n[\s\S]*moor --ship <text> --berth <text>/);
  });

  await t.test("a call over stdio", async () => {
    const { code, stdout } = await run(
      bin,
      ["call", "moor", "--ship", "Maria", "--berth", "n1", "--json", "--", ...harbourProgram],
      home,
    );
    equal(code, 0);
    deepEqual((JSON.parse(stdout) as { result: { structured: object } }).result.structured, {
      ship: "Maria",
      berth: "n1",
      lines: 4,
    });
  });

  await t.test("a file that exports a server uses the project's own copy of the package", async () => {
    mkdirSync(join(home, "src"));
    const code = `import { McpServer } from "bowline/server";\nexport const server = new McpServer({ name: "mine", version: "1" }).tool("hum", () => "hm");`;
    writeFileSync(join(home, "src/server.js"), code);
    const { code: exit, stdout, stderr } = await run(bin, ["call", "src/server.js", "hum"], home);
    deepEqual([exit, stdout], [0, "hm\n"], stderr);
  });

  await t.test("a call is recorded, and its recording is a server and is replayed", async () => {
    const moor = ["moor", "--ship", "Maria", "--berth", "n1"];
    const recorded = await run(bin, ["call", url, ...moor, "--record", "a.rec.ndjson"], home);
    equal(recorded.code, 0, recorded.stderr);
    const played = await run(bin, ["call", "a.rec.ndjson", ...moor], home);
    deepEqual([played.code, played.stdout], [0, recorded.stdout], played.stderr);
    const replayed = await run(bin, ["replay", "a.rec.ndjson", url], home);
    equal(replayed.code, 0, replayed.stdout);
  });

  await t.test("a tap stands between an application and a server", async () => {
    const tap = [bin, "record", "tap.rec.ndjson", "--", ...harbourProgram];
    const listed = await run(bin, ["list", "--tools", "--", ...tap], home);
    equal(listed.code, 0, listed.stderr);
    match((await run(bin, ["list", "tap.rec.ndjson", "--tools"], home)).stdout, /Tools 3\n/);
    equal((await run(bin, ["record", "--check", "tap.rec.ndjson"], home)).code, 0);
  });

  await t.test("Ctrl-C cancels, and a closed pipe is no failure", async () => {
    let isCancelled = () => {};
    const cancelled = new Promise<void>((resolve) => {
      isCancelled = resolve;
    });
    const horn = await serve(t, createHarbour(isCancelled));
    const child = spawn(bin, ["call", horn, "sound-the-horn"], { cwd: home, stdio: ["ignore", "ignore", "pipe"] });
    child.stderr.once("data", () => child.kill("SIGINT"));
    const code = await new Promise((resolve) => child.once("close", resolve));
    equal(code, 130);
    await cancelled;
    const piped = await run("bash", ["-c", `${bin} list ${url} | head -1; echo "\${PIPESTATUS[0]}"`], home);
    equal(piped.stdout, "harbour 1.0.0, 2026-07-28\n0\n", piped.stderr);
  });

  await t.test("on a terminal it draws progress and asks", async () => {
    // Node has no pseudo-terminal. test/unit/cli asks on streams that claim to be one.
    if (!hasScript()) return;
    const moored = await run("script", ["-qec", `${bin} call ${url} moor --ship Maria --berth n1`, "/dev/null"], home);
    equal(moored.code, 0, moored.stdout);
    match(moored.stdout, /[█░]{12} \d\/4 line \d made fast/);
    ok(moored.stdout.includes("\u001b[K"));
    const asked = await onTerminal(`${bin} call ${url} cast-off --berth n1`, home, /sure \(y\/n\): $/, "y\r");
    deepEqual([asked.code, /Maria is off/.test(asked.stdout)], [0, true], asked.stdout);
    const stopped = await onTerminal(`${bin} call ${url} cast-off --berth n1`, home, /sure \(y\/n\): $/, "\u0003");
    equal(stopped.code, 130, stopped.stdout);
  });
});

function hasScript(): boolean {
  return spawnSync("script", ["--version"]).stdout?.toString().includes("util-linux") === true;
}

/** Runs a command on a pseudo-terminal, and types when a text has appeared. */
function onTerminal(command: string, cwd: string, when: RegExp, what: string): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn("script", ["-qec", command, "/dev/null"], {
      cwd,
      env: { ...process.env, TERM: "xterm", NO_COLOR: "1" },
    });
    let stdout = "";
    let isTyped = false;
    child.stdout.on("data", (part) => {
      stdout += part;
      // The terminal moves the cursor behind the prompt.
      const shown = stdout.replaceAll(new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, "g"), "");
      if (isTyped || !when.test(shown)) return;
      isTyped = true;
      child.stdin.write(what);
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr: "" }));
  });
}
