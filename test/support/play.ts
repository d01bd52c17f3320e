import { deepEqual, equal, match, ok } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { until } from "#src/testing/contract/world.js";

const program = fileURLToPath(new URL("../../../examples/dist/cluster/play.js", import.meta.url));

/** Registers the tests of examples/cluster/play.ts for some engines. */
export function playTests(engines: readonly string[]): void {
  for (const engine of engines) {
    test(`${engine}: the example survives its faults and leaves nothing behind`, { timeout: 90_000 }, async (t) => {
      const { child, folder, output } = start(t, process.execPath, [program, engine, "--for", "8"]);
      const [code] = await once(child, "exit");
      equal(code, 0, output());
      match(output(), /node-1 is killed.*node-1 is ok/s);
      match(output(), /node-2 is stopped.*node-2 is ok/s);
      match(output(), /\n\d[\d,]* calls answered, \d+ not delivered, \d+ with unknown outcome\n/);
      const [, elsewhere = "0"] = /(\d+) of them on another node/.exec(output()) ?? [];
      ok(Number(elsewhere) > 0, output());
      equal(output().includes("\u001b"), false);
      deepEqual(readdirSync(folder), []);
    });

    test(`${engine}: the children of the example end with it, also by SIGKILL`, { timeout: 240_000 }, async (t) => {
      const { child, folder, output } = start(t, process.execPath, [program, engine]);
      const isOk = (digit: number) => output().includes(`node-${digit} is ok`);
      await until(() => [1, 2, 3].every(isOk) || child.exitCode !== null, "the nodes are ok");
      const [own = ""] = readdirSync(folder);
      const config = readFileSync(join(folder, own, "nginx.conf"), "utf8");
      const ports = [...config.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => Number(port));
      equal(ports.length, 4);
      const open = async () => (await Promise.all(ports.map(accepts))).filter((isOpen) => isOpen).length;
      equal(await open(), 4);
      child.kill("SIGKILL");
      await until(async () => (await open()) === 0, "nothing listens");
    });
  }
  const [engine = ""] = engines;

  test(`${engine}: keys kill a node and quit, and a summary is left in the terminal`, {
    timeout: 240_000,
  }, async (t) => {
    const { child, folder, output, code } = startInTerminal(t, engine);
    await until(() => output().includes("node-3 is ok") || child.exitCode !== null, "the nodes are ok");
    child.stdin?.write("1");
    await until(() => output().includes("node-1 is killed"), "the key has an effect");
    child.stdin?.write("q");
    await once(child, "exit");
    const [, rest = ""] = output().split("\u001b[?1049l"); // after the view
    match(rest, /^[\d,]+ calls answered, /);
    equal(code(), 0);
    deepEqual(playFolders(folder), []);
  });

  test(`${engine}: the example ends at once by Ctrl-C while it starts`, { timeout: 240_000 }, async (t) => {
    const { child, folder, output, code } = startInTerminal(t, engine);
    await until(() => playFolders(folder).length > 0, "it has begun");
    child.stdin?.write("\u0003");
    await once(child, "exit");
    equal(output().includes("\u001b"), false, "the view was never shown");
    equal(output().includes("calls answered"), false);
    equal(code(), 1);
    deepEqual(playFolders(folder), []);
  });

  test(`${engine}: the example ends without a crash if its terminal is closed`, { timeout: 240_000 }, async (t) => {
    const { child, folder, output, code } = startInTerminal(t, engine);
    await until(() => output().includes("node-3 is ok") || child.exitCode !== null, "the nodes are ok");
    child.kill("SIGKILL");
    await until(() => code() !== undefined, "the example has ended");
    equal(code(), 128 + constants.signals.SIGHUP, readFileSync(join(folder, "stderr"), "utf8"));
    deepEqual(playFolders(folder), []);
  });
}

const playFolders = (folder: string) => readdirSync(folder).filter((name) => name.startsWith("bowline-play-"));

/** Starts the example in a terminal of its own. Its exit code is written to a file, since a closed terminal ends all others. */
function startInTerminal(t: TestContext, engine: string) {
  const run = 'trap "" HUP INT; "$NODE" "$PROGRAM" "$ENGINE" 2>"$TMPDIR/stderr"; echo $? >"$TMPDIR/code"';
  const env = { NODE: process.execPath, PROGRAM: program, ENGINE: engine, SHELL: "/bin/sh" };
  const { child, folder, output } = start(t, "script", ["--quiet", "--command", run, "/dev/null"], env);
  const file = join(folder, "code");
  const code = () => (existsSync(file) && statSync(file).size > 0 ? Number(readFileSync(file, "utf8")) : undefined);
  return { child, folder, output, code };
}

function start(t: TestContext, command: string, args: readonly string[], further: NodeJS.ProcessEnv = {}) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-play-test-"));
  chmodSync(folder, 0o755); // PostgreSQL may run as another user
  const env = { ...process.env, ...further, TMPDIR: folder };
  const child: ChildProcess = spawn(command, args, { env, stdio: "pipe" });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => {
      text += chunk;
    });
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  });
  return { child, folder, output: () => text };
}

function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
  }).finally(() => socket.destroy());
}
