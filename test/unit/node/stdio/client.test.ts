import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { PassThrough } from "node:stream";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { childEnvironment, defaultEnvironment } from "#src/node/environment.js";
import { planEndTree } from "#src/node/process/tree.js";
import { createStdioClientChannel, type StdioClientChannel, type StdioClientOptions } from "#src/node/stdio/client.js";
import { ConnectionError } from "#src/protocol/errors.js";
import { ChannelLog } from "../../../support/channel-log.js";
import { awaitPresence } from "../../../support/presence.js";

const child = (name: string): string =>
  fileURLToPath(new URL(`../../../../../test/support/children/${name}.mjs`, import.meta.url));

type Options = Omit<StdioClientOptions, "command" | "args">;

function run(name: string, args: readonly string[] = [], options: Options = {}): StdioClientChannel {
  return createStdioClientChannel({
    command: process.execPath,
    args: [child(name), ...args],
    stderr: "pipe",
    ...options,
  });
}

const soon = { stdinMs: 50, termMs: 50 };
/** Long enough that a test which has to wait for it is seen to hang. */
const never = { stdinMs: 600_000, termMs: 600_000 };

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function asConnectionError(reason: unknown): ConnectionError {
  assert.ok(reason instanceof ConnectionError, `not a ConnectionError: ${String(reason)}`);
  return reason;
}

describe("stdio client channel: frames", { timeout: 240_000 }, () => {
  test("carries frames both ways, and closes in order without a signal", async () => {
    const channel = run("echo", [], { shutdown: never });
    assert.equal(channel.pid, undefined);
    const log = await ChannelLog.open(channel);
    assert.ok(exists(channel.pid!));
    const frames = ['{"text":"é猫🦊\u2028"}', "{}", `"${"x".repeat(300_000)}"`];
    for (const frame of frames) await channel.send(frame);
    assert.deepEqual(await log.received(3), frames);
    await channel.close();
    await channel.close();
    assert.deepEqual(log.closes, [undefined]);
    assert.deepEqual(log.problems, []);
    assert.equal(channel.pid, undefined);
  });

  test("writes what was sent before close, and delivers what the server answers until it has gone", async () => {
    const channel = run("echo", [], { shutdown: never });
    const log = await ChannelLog.open(channel);
    channel.send('{\n  "pretty": true\n}');
    await channel.close();
    assert.deepEqual(
      log.frames.map((frame) => JSON.parse(frame)),
      [{ pretty: true }],
    );
  });

  test("reads a server's output to its end while closing", async () => {
    const channel = run("flood", ["2000"], { shutdown: never });
    const log = await ChannelLog.open(channel);
    await channel.close();
    assert.equal(log.frames.length, 2000);
    assert.deepEqual(log.closes, [undefined]);
  });

  test("makes senders wait while the server does not read, and keeps their order", async () => {
    const channel = run("deaf", [], { shutdown: never });
    const log = await ChannelLog.open(channel);
    await log.received(1);
    const frames = Array.from({ length: 40 }, (_, index) => `{"n":${index},"pad":"${"x".repeat(65536)}"}`);
    const sends = frames.map((frame) => channel.send(frame));
    assert.ok(sends.at(-1) instanceof Promise);
    process.kill(channel.pid!, "SIGUSR2");
    await Promise.all(sends);
    assert.deepEqual((await log.received(41)).slice(1), frames);
    await channel.close();
  });

  test("reports half a line at the end and delivers the line before it", async () => {
    const log = await ChannelLog.open(run("half-line"));
    const reason = asConnectionError(await log.closed);
    assert.deepEqual(log.frames, ['{"whole":1}']);
    assert.deepEqual(
      log.problems.map((problem) => problem.message),
      ["The input ended in the middle of a line; its 8 bytes were dropped"],
    );
    assert.equal(reason.exitCode, 0);
  });

  test("reports an oversized line and ends the channel", async () => {
    const channel = run("echo", [], { limits: { maxLineBytes: 10 } });
    const log = await ChannelLog.open(channel);
    channel.send("x".repeat(10));
    channel.send("x".repeat(11));
    const reason = asConnectionError(await log.closed);
    assert.deepEqual(log.frames, ["x".repeat(10)]);
    assert.deepEqual([log.problems.length, reason.cause], [1, log.problems[0]]);
    // However the process takes the end of its input: that is not why it ended.
    assert.match(reason.message, /wrote a line that is too long .* limit of 10 bytes; raise maxLineBytes$/);
    assert.equal(reason.likelyCause, undefined);
  });
});

describe("stdio client channel: a server that goes away", { timeout: 240_000 }, () => {
  test("tells its exit code and last lines on stderr", async () => {
    const channel = run("exit-three");
    const log = await ChannelLog.open(channel);
    channel.send("{}");
    const reason = asConnectionError(await log.closed);
    assert.equal(reason.exitCode, 3);
    assert.equal(reason.exitSignal, null);
    assert.deepEqual(reason.stderr, ["cannot open the store", "its lock is held"]);
    assert.deepEqual(channel.stderrTail, reason.stderr);
    assert.ok(reason.message.includes(`"${process.execPath}" exited with code 3`), reason.message);
    assert.ok(reason.message.includes("its lock is held"), reason.message);
    await channel.close();
    assert.equal(log.closes.length, 1);
  });

  test("tells the signal that ended it, and refuses frames from then on", async () => {
    const channel = run("echo");
    const log = await ChannelLog.open(channel);
    process.kill(channel.pid!, "SIGKILL");
    const reason = asConnectionError(await log.closed);
    assert.equal(reason.exitSignal, "SIGKILL");
    await assert.rejects(async () => channel.send("{}"), ConnectionError);
  });

  test("rejects a send that waits when the server dies", async () => {
    const channel = run("deaf");
    const log = await ChannelLog.open(channel);
    await log.received(1);
    const sends = Array.from({ length: 20 }, () => channel.send("x".repeat(65536)));
    process.kill(channel.pid!, "SIGKILL");
    await assert.rejects(async () => sends.at(-1), { name: "ConnectionError", delivery: "sent" });
    await log.closed;
  });

  test("ends a server that has closed its output", async () => {
    const channel = run("mute", [], { shutdown: never });
    const log = await ChannelLog.open(channel);
    asConnectionError(await log.closed);
    assert.equal(channel.pid, undefined);
  });

  test("tells of a crash although a descendant holds the pipes, and ends the descendant", async () => {
    using grandchild = await awaitPresence();
    const channel = run("wrapper", [String(grandchild.port), "pipes", "same", "crash"], { shutdown: never });
    const log = await ChannelLog.open(channel);
    await grandchild.arrived;
    channel.send("crash");
    assert.equal(asConnectionError(await log.closed).exitCode, 1);
    await grandchild.gone;
  });
});

describe("stdio client channel: close by force", { timeout: 240_000 }, () => {
  /** Resolves for each line on stderr in turn. */
  function stderrLines(): { readonly take: (line: string) => void; next(): Promise<string> } {
    const stream = new PassThrough({ objectMode: true });
    const lines = stream[Symbol.asyncIterator]();
    return { take: (line) => stream.write(line), next: async () => (await lines.next()).value as string };
  }

  test("sends SIGTERM to a server that outlives the end of its input, when the time is over", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const stderr = stderrLines();
    const channel = run("stubborn", [], { stderr: stderr.take, shutdown: { stdinMs: 1000, termMs: 1000 } });
    const log = await ChannelLog.open(channel);
    await log.received(1);
    const closing = channel.close();
    assert.equal(await stderr.next(), "end of input");
    t.mock.timers.tick(999);
    assert.ok(exists(channel.pid!));
    t.mock.timers.tick(1);
    assert.equal(await stderr.next(), "SIGTERM");
    await closing;
    assert.deepEqual(log.closes, [undefined]);
  });

  test("kills a server that outlives SIGTERM too", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const stderr = stderrLines();
    const channel = run("stubborn", ["term"], { stderr: stderr.take });
    const log = await ChannelLog.open(channel);
    await log.received(1);
    const pid = channel.pid!;
    const closing = channel.close();
    assert.equal(await stderr.next(), "end of input");
    t.mock.timers.tick(2000);
    assert.equal(await stderr.next(), "SIGTERM");
    t.mock.timers.tick(1999);
    assert.ok(exists(pid));
    t.mock.timers.tick(1);
    await closing;
    assert.equal(exists(pid), false);
    assert.deepEqual(channel.stderrTail, ["end of input", "SIGTERM"]);
    assert.deepEqual(log.closes, [undefined]);
  });

  for (const pipes of ["pipes", "no-pipes"]) {
    test(`ends what the server has started (${pipes})`, async () => {
      using grandchild = await awaitPresence();
      const channel = run("wrapper", [String(grandchild.port), pipes, "same", "stay"], { shutdown: soon });
      const log = await ChannelLog.open(channel);
      await grandchild.arrived;
      await channel.close();
      await grandchild.gone;
      assert.deepEqual(log.closes, [undefined]);
    });
  }

  test("does not wait for a descendant out of reach that holds the pipes", async () => {
    using grandchild = await awaitPresence();
    const shutdown = { stdinMs: 300, termMs: 600_000 };
    const channel = run("wrapper", [String(grandchild.port), "pipes", "own", "leave"], { shutdown });
    const log = await ChannelLog.open(channel);
    await grandchild.arrived;
    await channel.close();
    assert.ok(grandchild.here);
    assert.deepEqual(log.closes, [undefined]);
  });

  test("finishes although a write is stuck in a pipe that nobody reads", async () => {
    const channel = run("deaf", [], { shutdown: soon });
    const log = await ChannelLog.open(channel);
    await log.received(1);
    channel.send("x".repeat(4_000_000));
    await channel.close();
    assert.deepEqual(log.closes, [undefined]);
  });

  test("ends a server whose start is under way", async () => {
    const channel = run("stubborn", ["term"], { shutdown: soon });
    const log = new ChannelLog();
    const opened = channel.open(log);
    await channel.close();
    await opened;
    assert.deepEqual(log.closes, [undefined]);
  });

  test("leaves no listener on the process", async () => {
    const before = process.listenerCount("exit");
    const channel = run("echo");
    await ChannelLog.open(channel);
    assert.equal(process.listenerCount("exit"), before + 1);
    await channel.close();
    assert.equal(process.listenerCount("exit"), before);
  });
});

describe("stdio client channel: its host process", { timeout: 240_000 }, () => {
  const module = import.meta.resolve("#src/node/stdio/client.js");
  const host = (...args: string[]): StdioClientChannel => run("host", [module, ...args], { shutdown: never });

  test("exits by itself after close, although the server had to be killed", async () => {
    const log = await ChannelLog.open(host("close", child("stubborn"), "term"));
    const reason = asConnectionError(await log.closed);
    assert.deepEqual([log.frames[1], reason.exitCode], ["closed", 0]);
  });

  test("takes the server with it when it exits without close", async () => {
    using server = await awaitPresence();
    const log = await ChannelLog.open(host("exit", child("present"), String(server.port)));
    assert.equal(asConnectionError(await log.closed).exitCode, 0);
    await server.gone;
  });
});

describe("stdio client channel: start", { timeout: 240_000 }, () => {
  const failure = (options: StdioClientOptions) => {
    const log = new ChannelLog();
    const opened = Promise.resolve(createStdioClientChannel(options).open(log));
    return opened.then(
      () => assert.fail("started"),
      (reason: unknown) => {
        assert.deepEqual(log.closes, []);
        const { message, cause } = asConnectionError(reason);
        return { message, code: (cause as NodeJS.ErrnoException).code };
      },
    );
  };

  test("names a missing program", async () => {
    const { message, code } = await failure({ command: "no-such-program", args: ["--token=secret"] });
    assert.equal(code, "ENOENT");
    assert.match(message, /"no-such-program": no such program/);
    assert.doesNotMatch(message, /secret/);
  });

  test("names a file that is not executable", async () => {
    const { message, code } = await failure({ command: child("echo") });
    assert.equal(code, "EACCES");
    assert.match(message, /echo\.mjs": it is not an executable file/);
  });

  test("names a missing working directory", async () => {
    const { message, code } = await failure({ command: process.execPath, cwd: "/no/such/folder" });
    assert.equal(code, "ENOENT");
    assert.match(message, /working directory "\/no\/such\/folder" is not a directory/);
  });

  test("rejects an argument that no process can get", async () => {
    const { code } = await failure({ command: process.execPath, args: ["a\0b"] });
    assert.equal(code, "ERR_INVALID_ARG_VALUE");
  });

  test("starts no second process", async () => {
    const channel = run("echo");
    await ChannelLog.open(channel);
    const { pid } = channel;
    await assert.rejects(ChannelLog.open(channel), { code: "already_open" });
    assert.equal(channel.pid, pid);
    await channel.close();
    await assert.rejects(ChannelLog.open(channel), { code: "already_open" });
  });

  test("can be closed without ever being opened", async () => {
    const channel = run("echo");
    await assert.rejects(async () => channel.send("{}"), ConnectionError);
    await channel.close();
    await assert.rejects(ChannelLog.open(channel), ConnectionError);
  });

  test("passes arguments as they are, the working directory, and given variables on top of the safe ones", async () => {
    process.env.BOWLINE_TEST_SECRET = "secret";
    const args = ["a b", "$HOME", '"; exit 1', "*", "é"];
    const channel = run("facts", args, { cwd: tmpdir(), env: { EXTRA: "1", HOME: "/elsewhere" } });
    const log = await ChannelLog.open(channel);
    delete process.env.BOWLINE_TEST_SECRET;
    const [line] = await log.received(1);
    const facts = JSON.parse(line!) as { args: string[]; env: Record<string, string>; cwd: string };
    assert.deepEqual(facts.args, args);
    assert.equal(facts.cwd, realpathSync(tmpdir()));
    assert.equal(facts.env.EXTRA, "1");
    assert.equal(facts.env.HOME, "/elsewhere");
    assert.equal(facts.env.PATH, process.env.PATH);
    assert.equal(facts.env.BOWLINE_TEST_SECRET, undefined);
    await channel.close();
  });
});

describe("stdio client channel: stderr", { timeout: 240_000 }, () => {
  test("gives each line to a function, and bounds what it remembers", async () => {
    const lines: string[] = [];
    const channel = run("flood", ["0"], { stderr: (line) => lines.push(line) });
    await ChannelLog.open(channel);
    await channel.close();
    assert.equal(lines.length, 4096);
    assert.ok(channel.stderrTail.length > 0);
    assert.ok(channel.stderrTail.join("").length <= 8192);
    assert.equal(channel.stderrTail.at(-1), lines.at(-1));
  });

  test("gives the text as it is to a reader of the pipe", async () => {
    const channel = run("exit-three");
    let text = "";
    channel.stderr?.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    const log = await ChannelLog.open(channel);
    channel.send("{}");
    await log.closed;
    assert.equal(text, "cannot open the store\nits lock is held\n");
  });

  test("remembers nothing of what is ignored", async () => {
    const channel = run("exit-three", [], { stderr: "ignore" });
    const log = await ChannelLog.open(channel);
    channel.send("{}");
    assert.deepEqual(asConnectionError(await log.closed).stderr, []);
  });
});

describe("what a server process is given", () => {
  test("the default environment leaves out secrets and shell functions", () => {
    const source = { PATH: "/bin", HOME: "() { :; }", TOKEN: "secret", APPDATA: "x" };
    assert.deepEqual(defaultEnvironment(source, "linux"), { PATH: "/bin" });
    assert.deepEqual(defaultEnvironment(source, "win32"), { PATH: "/bin", APPDATA: "x" });
  });

  test("given variables win, whatever their case on Windows, and undefined takes one away", () => {
    const source = { PATH: "/bin", TERM: "dumb" };
    assert.deepEqual(childEnvironment({ Path: "/own" }, source, "win32"), { Path: "/own" });
    assert.deepEqual(childEnvironment({ PATH: "/own", TERM: undefined }, source, "linux"), { PATH: "/own" });
  });

  test("a tree is ended by its group, and on Windows by taskkill", () => {
    assert.deepEqual(planEndTree(7, "SIGTERM", "linux"), { by: "signal", group: 7, signal: "SIGTERM" });
    assert.deepEqual(planEndTree(7, "SIGKILL", "win32"), {
      by: "command",
      command: "taskkill",
      args: ["/pid", "7", "/T", "/F"],
    });
  });
});
