import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { PassThrough, Writable } from "node:stream";
import { type TestContext, test } from "node:test";
import { ConnectionError, connect } from "bowline/client";
import { createStdioClientChannel, createStdioServerChannel } from "bowline/node";
import { McpServer } from "bowline/server";
import { ChannelLog } from "../../../support/channel-log.js";
import { child, NEVER } from "../../../support/server-child.js";

/** An output whose reader has stopped. */
class StuckOutput extends Writable {
  override _write(): void {}
}

test("a server gives up a client that is too far behind, and says which limit that is", async () => {
  const [input, output] = [new PassThrough(), new StuckOutput()];
  const channel = createStdioServerChannel({ input, output, limits: { maxBehindBytes: 10_000 }, drainMs: 1 });
  const log = await ChannelLog.open(channel);
  // One frame may be longer than the limit: it is what waits already that counts.
  void channel.send("x".repeat(20_000));
  deepEqual(log.closes, []);
  await rejects(async () => channel.send("{}"), { name: "ConnectionError", message: /maxBehindBytes/ });
  const reason = (await log.closed) as ConnectionError;
  ok(reason instanceof ConnectionError);
  match(reason.message, /The client has not read 20001 bytes, more than the limit of 10000; raise maxBehindBytes/);
  await channel.close();
});

test("exactly as many bytes may wait for a client as the limit says", async () => {
  const [input, output] = [new PassThrough(), new StuckOutput()];
  const channel = createStdioServerChannel({ input, output, limits: { maxBehindBytes: 10_000 }, drainMs: 1 });
  const log = await ChannelLog.open(channel);
  void channel.send("x".repeat(9_999));
  equal(output.writableLength, 10_000);
  void channel.send("");
  deepEqual(log.closes, []);
  await rejects(async () => channel.send("{}"), { name: "ConnectionError", message: /has not read 10001 bytes/ });
  await channel.close();
});

test("what a server sends by itself is bounded, too, where the client does not read", async (t) => {
  const [input, output] = [new PassThrough(), new StuckOutput()];
  const reports: string[] = [];
  const server = new McpServer({ name: "s", version: "1" }, { onError: (error) => reports.push(String(error)) });
  server.tool("flood", {}, async (_, ctx) => {
    for (let step = 0; !ctx.signal.aborted; step++) {
      void ctx.progress(step, undefined, "x".repeat(1000));
      await new Promise(setImmediate);
    }
  });
  t.after(() => server.close());
  const channel = createStdioServerChannel({ input, output, limits: { maxBehindBytes: 50_000 }, drainMs: 1 });
  const connection = await server.accept(channel);
  const _meta = {
    progressToken: 1,
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: "flood", arguments: {}, _meta };
  input.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params })}\n`);
  await connection.closed;
  ok(output.writableLength < 60_000, `${output.writableLength} bytes wait`);
  match(reports.join("\n"), /maxBehindBytes/);
});

test("a client refuses calls to a server that is too far behind, until that reads again", async () => {
  const channel = createStdioClientChannel({
    ...child("deaf"),
    stderr: "ignore",
    shutdown: NEVER,
    limits: { maxBehindBytes: 1e6 },
  });
  const log = await ChannelLog.open(channel);
  await log.received(1);
  const frame = `"${"x".repeat(100_000)}"`;
  const sends: unknown[] = [];
  let refused: unknown;
  while (refused === undefined) {
    const sent = Promise.resolve(channel.send(frame));
    sent.catch(() => {});
    sends.push(sent);
    refused = await Promise.race([sent, new Promise((resolve) => setImmediate(resolve, undefined))]).catch((e) => e);
    ok(sends.length < 100, "nothing is refused");
  }
  ok(refused instanceof ConnectionError);
  equal(refused.delivery, "not_sent");
  match(refused.message, /more than the limit of 1000000; raise maxBehindBytes/);
  process.kill(channel.pid as number, "SIGUSR2");
  await Promise.all(sends.slice(0, -1));
  await channel.send('"again"');
  equal((await log.received(sends.length + 1)).at(-1), '"again"');
  await channel.close();
});

const talkative = (lines: number, text: string) => ({
  command: process.execPath,
  args: ["-e", `for (let n = 0; n < ${lines}; n++) console.error("${text}" + n); process.exitCode = 9`],
});

test("of what a server says on stderr, as many lines and characters are kept as the options say", async () => {
  for (const [limits, kept] of [
    [{}, 50],
    [{ limits: { maxStderrLines: 3 } }, 3],
    [{ limits: { maxStderrChars: 100 } }, 1],
  ] as const) {
    const target = { ...talkative(100, "word ".repeat(10)), stderr: () => {}, ...limits };
    await rejects(connect(target), (error) => {
      ok(error instanceof ConnectionError);
      equal(error.stderr.length, kept);
      match(error.stderr.at(-1) as string, / 99$/);
      return true;
    });
  }
});

test("text on stderr that nobody reads is dropped beyond the limit", async () => {
  const options = {
    ...talkative(100, "x".repeat(1000)),
    stderr: "pipe",
    limits: { maxUnreadStderrBytes: 10_000 },
  } as const;
  const channel = createStdioClientChannel(options);
  const log = await ChannelLog.open(channel);
  await log.closed;
  await channel.close();
  const bytes = Buffer.concat((await channel.stderr?.toArray()) as Buffer[]).length;
  // What comes at once is taken or dropped as a whole.
  ok(bytes >= 10_000 && bytes < 100_000, `${bytes} bytes were kept`);
});

test("text on stderr is dropped where the host's own is not read", async (t) => {
  const written = copiedToHost(t, 2 * 1024 * 1024);
  await rejects(connect({ ...talkative(3, "dropped "), stderr: "inherit" }), { exitCode: 9 });
  equal(written.count, 0);
  written.waiting = 0;
  await rejects(connect({ ...talkative(3, "copied "), stderr: "inherit" }), { exitCode: 9 });
  ok(written.count > 0);
});

/** Watches the standard error of this process, which is as far behind as the test says. */
function copiedToHost(t: TestContext, waiting: number) {
  const host = { waiting, count: 0 };
  const write = process.stderr.write;
  process.stderr.write = () => {
    host.count++;
    return true;
  };
  Object.defineProperty(process.stderr, "writableLength", { configurable: true, get: () => host.waiting });
  t.after(() => {
    process.stderr.write = write;
    Reflect.deleteProperty(process.stderr, "writableLength");
  });
  return host;
}
