import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import { PassThrough, Writable } from "node:stream";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createStdioClientChannel } from "#src/node/stdio/client.js";
import { createStdioServerChannel } from "#src/node/stdio/server.js";
import { guardStdout } from "#src/node/stdio/stdout-guard.js";
import { ConnectionError } from "#src/protocol/errors.js";
import { ChannelLog } from "../../../support/channel-log.js";

/** An output that takes a write only when told to. */
class SlowOutput extends Writable {
  readonly taken: string[] = [];
  #waiting: (() => void)[] = [];

  constructor() {
    super({ highWaterMark: 16, decodeStrings: false });
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.taken.push(chunk);
    this.#waiting.push(done);
  }

  takeOne(): void {
    this.#waiting.shift()?.();
  }
}

const bytes = (text: string) => Buffer.from(text);

describe("stdio server channel", { timeout: 240_000 }, () => {
  test("delivers lines and writes each frame as one line ended by LF", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const channel = createStdioServerChannel({ input, output });
    const log = await ChannelLog.open(channel);
    input.write(bytes('\ufeff{"a":1}\r\n\n{"b":'));
    input.write(bytes("2}\n"));
    assert.deepEqual(await log.received(2), ['{"a":1}', '{"b":2}']);
    channel.send('{"text":"\\n\u2028"}');
    channel.send('{\r\n"pretty":1}');
    await channel.close();
    const written = output.end().setEncoding("utf8").toArray();
    assert.equal((await written).join(""), '{"text":"\\n\u2028"}\n{  "pretty":1}\n');
    assert.deepEqual(log.closes, [undefined]);
  });

  test("ends with its input: reports half a line, closes once, and refuses frames", async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const channel = createStdioServerChannel({ input, output });
    const log = await ChannelLog.open(channel);
    input.end('{"a":1}\n{"half');
    assert.equal(await log.closed, undefined);
    assert.deepEqual([log.frames, log.problems.length], [['{"a":1}'], 1]);
    await assert.rejects(async () => channel.send("{}"), ConnectionError);
    await channel.close();
    assert.equal(log.closes.length, 1);
  });

  test("notices input that ended before it was opened", async () => {
    const input = new PassThrough();
    input.end();
    input.resume();
    await once(input, "close");
    const log = await ChannelLog.open(createStdioServerChannel({ input, output: new PassThrough() }));
    assert.equal(await log.closed, undefined);
  });

  test("can be closed by whoever hears that it closes", async () => {
    const input = new PassThrough();
    const channel = createStdioServerChannel({ input, output: new PassThrough() });
    const reasons: (Error | undefined)[] = [];
    const closed = new Promise<void>((resolve) => {
      channel.open({
        onFrame() {},
        onProblem() {},
        onClose(reason) {
          reasons.push(reason);
          resolve(channel.close());
        },
      });
    });
    input.end();
    await closed;
    assert.deepEqual(reasons, [undefined]);
  });

  test("makes senders wait for room, and close for what was sent", async () => {
    const output = new SlowOutput();
    const channel = createStdioServerChannel({ input: new PassThrough(), output });
    const log = await ChannelLog.open(channel);
    assert.equal(channel.send('"1"'), undefined);
    const second = channel.send(`"${"2".repeat(20_000)}"`);
    assert.ok(second instanceof Promise);
    output.takeOne();
    output.takeOne();
    await second;
    assert.equal(channel.send('"3"'), undefined);
    const closing = channel.close();
    assert.deepEqual(log.closes, []);
    output.takeOne();
    await closing;
    assert.deepEqual(output.taken, ['"1"\n', `"${"2".repeat(20_000)}"\n`, '"3"\n']);
    assert.deepEqual(log.closes, [undefined]);
  });

  test("writes the first frame of a turn at once, and what follows on its heels together", async () => {
    const output = new SlowOutput();
    const channel = createStdioServerChannel({ input: new PassThrough(), output });
    await ChannelLog.open(channel);
    channel.send('"1"');
    assert.equal(output.writableLength, 4);
    channel.send('"2"');
    channel.send('"3"');
    await new Promise((resolve) => process.nextTick(resolve));
    assert.equal(output.writableLength, 12);
    output.takeOne();
    output.takeOne();
    await channel.close();
    assert.deepEqual(output.taken, ['"1"\n', '"2"\n"3"\n']);
  });

  test("what a handler says that works long without a pause goes out while it works", async () => {
    const output = new SlowOutput();
    const channel = createStdioServerChannel({ input: new PassThrough(), output });
    await ChannelLog.open(channel);
    for (let step = 1; step <= 3; step++) {
      const begun = performance.now();
      while (performance.now() - begun < 5);
      channel.send(`"${step}"`);
      assert.equal(output.writableLength, 4 * step);
    }
    for (let step = 1; step <= 3; step++) output.takeOne();
    await channel.close();
  });

  test("what was sent is written, also when the process is ended in the same turn", async () => {
    const program = `
      import { createStdioServerChannel } from "bowline/node";
      const channel = createStdioServerChannel();
      channel.open({ onFrame() {}, onProblem() {}, onClose() {} });
      channel.send('"first"');
      channel.send('"last words"');
      process.exit(0);`;
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program]);
    assert.equal(stdout, '"first"\n"last words"\n');
  });

  test("does not wait for ever for an output that nobody reads", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const output = new SlowOutput();
    const channel = createStdioServerChannel({ input: new PassThrough(), output, drainMs: 1000 });
    const log = await ChannelLog.open(channel);
    const sent = channel.send("x".repeat(20_000));
    const closing = channel.close();
    t.mock.timers.tick(1000);
    await closing;
    await assert.rejects(async () => sent, { name: "ConnectionError", delivery: "sent" });
    assert.deepEqual([log.closes, output.destroyed], [[undefined], true]);
  });

  test("closes with the cause when its output breaks or its input fails", async () => {
    for (const side of ["output", "input"] as const) {
      const streams = { input: new PassThrough(), output: new PassThrough() };
      const log = await ChannelLog.open(createStdioServerChannel(streams));
      const cause = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
      streams[side].destroy(cause);
      const reason = await log.closed;
      assert.ok(reason instanceof ConnectionError);
      assert.equal(reason.cause, cause);
      assert.match(reason.message, new RegExp(`^The ${side} of the stdio channel failed`));
      assert.equal(log.closes.length, 1);
    }
  });

  test("serves a socket, whose half-close is the end of the input", async () => {
    const listener = createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
    await once(listener, "listening");
    const client = dial({ port: (listener.address() as AddressInfo).port, host: "127.0.0.1", allowHalfOpen: true });
    const [socket] = (await once(listener, "connection")) as [Socket];
    const channel = createStdioServerChannel({ input: socket, output: socket });
    const log = await ChannelLog.open(channel);
    const answer = client.setEncoding("utf8").toArray();
    client.write("{}\n");
    await log.received(1);
    channel.send(`"${"x".repeat(500_000)}"`);
    client.end();
    assert.equal(await log.closed, undefined);
    assert.equal((await answer).join("").length, 500_003);
    listener.close();
  });
});

describe("stdio server channel in a process", { timeout: 240_000 }, () => {
  const program = fileURLToPath(new URL("../../../../../test/support/children/server.mjs", import.meta.url));
  const sources = new URL("../../", import.meta.resolve("#src/node/stdio/server.js")).href;
  const start = (manner: string, onStderr: (line: string) => void = () => {}) =>
    createStdioClientChannel({
      command: process.execPath,
      args: [program, sources, manner],
      stderr: onStderr,
      shutdown: { stdinMs: 600_000, termMs: 600_000 },
    });

  test("exits by itself at the end of its input, after a large answer has been written", async () => {
    const lines: string[] = [];
    const channel = start("echo", (line) => lines.push(line));
    const log = await ChannelLog.open(channel);
    const frame = `"${"x".repeat(3_000_000)}"`;
    channel.send(frame);
    await channel.close();
    assert.deepEqual(lines, ["closed in order"]);
    assert.ok(log.frames[0] === frame);
  });

  test("closes once and exits by itself when nobody reads its output any more", async () => {
    const server = spawn(process.execPath, [program, sources, "stream"]);
    const told = server.stderr.setEncoding("utf8").toArray();
    server.stdin.write('{"again":true}\n');
    await once(server.stdout, "data");
    server.stdout.destroy();
    const [code] = (await once(server, "exit")) as [number | null];
    assert.equal(code, 0);
    assert.deepEqual((await told).join("").trim().split("\n").sort(), ["ConnectionError", "closed EPIPE"]);
  });

  test("keeps stray output off the wire until it has closed", async () => {
    const lines: string[] = [];
    const channel = start("noise", (line) => lines.push(line));
    const log = await ChannelLog.open(channel);
    channel.send("{}");
    await log.received(1);
    await channel.close();
    assert.deepEqual(log.frames, ["{}", "restored"]);
    assert.deepEqual(lines, ["noise by console", "noise by stream", "closed in order"]);
  });
});

describe("guardStdout", () => {
  test("nests, restores once, and does not undo what someone else has put on top", () => {
    const original = process.stdout.write;
    const [first, second] = [guardStdout(), guardStdout()];
    const diverted = process.stdout.write;
    assert.notEqual(diverted, original);
    first.restore();
    first.restore();
    assert.equal(process.stdout.write, diverted);
    const onTop = ((...args: Parameters<typeof diverted>) => diverted.apply(process.stdout, args)) as typeof diverted;
    process.stdout.write = onTop;
    second.restore();
    assert.equal(process.stdout.write, onTop);
    process.stdout.write = original;
  });
});
