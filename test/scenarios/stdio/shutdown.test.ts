import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import childProcess, { spawn } from "node:child_process";
import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import { connect } from "bowline/client";
import { createStdioClientChannel, type StdioClientOptions } from "bowline/node";
import { type LaunchPlatform, planLaunch } from "#src/node/process/launch.js";
import { planEndTree } from "#src/node/process/tree.js";
import { stdioWires } from "../../support/each-wire.js";
import { awaitPresence } from "../../support/presence.js";
import { type Era, speaking, type TestContext } from "../../support/raw-peer.js";
import { child, exists, held, Lines, NEVER, program, SOON } from "../../support/server-child.js";
import { proves, verifies } from "../../support/verifies.js";

/** A client of the recording server, its channel, and what the server tells. */
async function dial(t: TestContext, era: Era, manners: readonly string[], options: Partial<StdioClientOptions> = {}) {
  const told = new Lines();
  const channel = createStdioClientChannel({
    ...child("recorder", era, ...manners),
    stderr: told.take,
    shutdown: NEVER,
    ...options,
  });
  const client = await connect({ channel }, speaking(era));
  t.after(() => client.close());
  return { client, channel, told };
}

const messages = (told: Lines) =>
  told.all.filter((line) => line.startsWith("> ")).map((line) => JSON.parse(line.slice(2)) as Record<string, unknown>);

verifies("transport:stdio:stdin-purity", stdioWires, async ({ era }, t) => {
  const { client, told } = await dial(t, era, []);
  await client.callTool("any", { text: "a\nb" }, { onProgress: () => {} });
  const abort = new AbortController();
  const waiting = client.callTool("never", {}, { signal: abort.signal });
  await told.until(/"never"/);
  abort.abort("enough");
  await rejects(waiting, (reason) => reason === "enough");
  await client.close();
  equal(told.all.at(-1), "rest 0");
  const handshake = era === "legacy" ? ["initialize", "notifications/initialized"] : [];
  deepEqual(
    messages(told).map(({ method }) => method),
    [...handshake, "tools/call", "tools/call", "notifications/cancelled"],
  );
  for (const message of messages(told)) equal(message.jsonrpc, "2.0");
});

verifies(
  ["transport:stdio:shutdown-escalation", "transport:stdio:shutdown-grace-configurable"],
  stdioWires,
  async ({ era }, t) => {
    for (const manner of ["deaf-to-end", "deaf-to-term"]) {
      const shutdown = { stdinMs: 150, termMs: 100 };
      const { client, channel, told } = await dial(t, era, [manner], { shutdown });
      await client.callTool("any");
      const { pid } = channel;
      const started = performance.now();
      const closing = client.close();
      await told.until("rest 0");
      await told.until("SIGTERM");
      const termAfter = performance.now() - started;
      await closing;
      const took = performance.now() - started;
      ok(termAfter >= 149, `SIGTERM after ${termAfter} ms`);
      ok(manner === "deaf-to-end" || took >= 249, `killed after ${took} ms`);
      deepEqual(told.all.slice(-2), ["rest 0", "SIGTERM"]);
      equal(exists(pid), false);
    }
  },
);

verifies("transport:stdio:shutdown-grace-configurable", "the defaults are finite", stdioWires, async ({ era }, t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const told = new Lines();
  const channel = createStdioClientChannel({ ...child("recorder", era, "deaf-to-term"), stderr: told.take });
  const client = await connect({ channel }, { ...speaking(era), timeoutMs: Number.POSITIVE_INFINITY });
  const { pid } = channel;
  await client.callTool("any");
  const closing = client.close();
  await told.until("rest 0");
  t.mock.timers.tick(2000);
  await told.until("SIGTERM");
  t.mock.timers.tick(2000);
  await closing;
  equal(exists(pid), false);
});

verifies("transport:stdio:shutdown-no-early-signal", stdioWires, async ({ era }, t) => {
  const before = await held();
  const { client, told } = await dial(t, era, ["slow-exit"], { shutdown: { stdinMs: 5000, termMs: 5000 } });
  await client.callTool("any");
  await client.close();
  deepEqual(told.all.slice(-1), ["rest 0"]);
  equal(told.all.includes("SIGTERM"), false);
  deepEqual(await held(), before);
});

verifies("transport:stdio:shutdown-drains-output", stdioWires, async ({ era }, t) => {
  const { client, told } = await dial(t, era, ["flood"]);
  await client.callTool("any");
  await client.close();
  deepEqual(told.all.slice(-2), ["rest 0", "flooded"]);
});

verifies("transport:stdio:shutdown-flushes-input", stdioWires, async ({ era }, t) => {
  const { client, told } = await dial(t, era, []);
  await client.callTool("any");
  const notes = Array.from({ length: 100 }, (_, index) => ({ note: `${index}`.padEnd(6000) }));
  for (const note of notes) void client.notify("notifications/mine", note);
  await client.close();
  const received = messages(told).filter(({ method }) => method === "notifications/mine");
  deepEqual(
    received.map(({ params }) => params),
    notes,
  );

  const channel = createStdioClientChannel({ ...child("deaf"), stderr: "ignore", shutdown: SOON });
  const closed = new Promise((resolve) => {
    channel.open({ onFrame: () => void channel.send("x".repeat(4_000_000)), onProblem() {}, onClose: resolve });
  });
  await new Promise<void>((resolve) => setImmediate(resolve));
  await channel.close();
  equal(await closed, undefined);
});

verifies("transport:stdio:shutdown-on-abort", stdioWires, async ({ era }) => {
  const before = await held();
  const told = new Lines();
  const silent = createStdioClientChannel({ ...child("recorder", era, "silent"), stderr: told.take, shutdown: NEVER });
  const abort = new AbortController();
  const connecting = connect({ channel: silent }, { era, signal: abort.signal });
  await told.until(/server\/discover|initialize/);
  const { pid } = silent;
  ok(exists(pid));
  abort.abort("enough");
  await rejects(connecting, (reason) => reason === "enough");
  equal(exists(pid), false);

  const old = createStdioClientChannel({ ...child("recorder", era, "old"), stderr: "ignore", shutdown: NEVER });
  let oldPid: number | undefined;
  const channel = {
    ...old,
    open: async (events: Parameters<typeof old.open>[0]) => {
      await old.open(events);
      oldPid = old.pid;
    },
    send: (text: string) => old.send(text),
    close: () => old.close(),
  };
  // The recorder answers discovery with a tool's result, and the handshake with a version that nobody speaks.
  await rejects(connect({ channel }, { era }), /version|discover/);
  ok(oldPid !== undefined);
  equal(exists(oldPid), false);
  deepEqual(await held(), before);
});

proves("transport:stdio:tree-kill", { wire: "stdio" }, "children of the child go with it", async () => {
  using near = await awaitPresence();
  const wrapped = createStdioClientChannel({
    ...child("wrapper", String(near.port), "pipes", "same", "stay"),
    stderr: "ignore",
    shutdown: SOON,
  });
  await wrapped.open({ onFrame() {}, onProblem() {}, onClose() {} });
  await near.arrived;
  const { pid } = wrapped;
  await wrapped.close();
  await near.gone;
  equal(exists(pid), false);

  const before = await held();
  using far = await awaitPresence();
  const detached = createStdioClientChannel({
    ...child("wrapper", String(far.port), "pipes", "own", "leave"),
    stderr: "ignore",
    shutdown: { stdinMs: 300, termMs: 600_000 },
  });
  await detached.open({ onFrame() {}, onProblem() {}, onClose() {} });
  await far.arrived;
  await detached.close();
  ok(far.here);
  const pipes = (names: readonly string[]) => names.filter((name) => name === "PipeWrap" || name === "ProcessWrap");
  deepEqual(pipes(await held()), pipes(before));
});

proves(
  "transport:stdio:tree-kill",
  { wire: "stdio" },
  "a host that is killed takes along a server that hears neither the end of its input nor SIGTERM",
  async (t) => {
    using server = await awaitPresence();
    const module = import.meta.resolve("#src/node/stdio/client.js");
    const host = spawn(
      process.execPath,
      [program("host"), module, "stay", program("present"), String(server.port), "term"],
      {
        stdio: ["ignore", "pipe", "ignore"],
      },
    );
    t.after(() => host.kill("SIGKILL"));
    await Promise.all([server.arrived, once(host.stdout, "data")]);
    host.kill("SIGKILL");
    await server.gone;
    ok(true, "the server has gone");
  },
);

const STUBBED = "by a stubbed platform, not on a machine with Windows";

proves(["transport:stdio:windows", "transport:stdio:no-shell"], {}, STUBBED, () => {
  deepEqual(planEndTree(7, "SIGTERM", "win32"), {
    by: "command",
    command: "taskkill",
    args: ["/pid", "7", "/T", "/F"],
  });
  match(planEndTree(7, "SIGKILL", "linux").by, /signal/);
  const files = ["C:\\node\\npx.cmd", "C:\\node\\node.exe", "C:\\my tools\\run.bat"];
  const windows: LaunchPlatform = {
    name: "win32",
    env: { Path: "C:\\empty;C:\\node", PATHEXT: ".COM;.EXE;.BAT;.CMD", ComSpec: "C:\\cmd.exe" },
    isFile: (path) => files.includes(path),
  };
  deepEqual(planLaunch("node", ["a b"], windows), { file: "node", args: ["a b"], verbatim: false });
  const npx = planLaunch("npx", ["-y", 'a b&"c"\\'], windows);
  equal(npx.file, "C:\\cmd.exe");
  equal(npx.verbatim, true);
  // Every character that the interpreter would read is escaped, twice over for what the script passes on.
  deepEqual(npx.args.slice(0, 3), ["/d", "/s", "/c"]);
  equal(npx.args[3], '"C:\\node\\npx.cmd ^^^"-y^^^" ^^^"a^^^ b^^^&\\^^^"c\\^^^"\\\\^^^""');
  match(String(planLaunch("C:\\my tools\\run.bat", [], windows).args[3]), /my\^ tools/);
  const posix: LaunchPlatform = { ...windows, name: "linux" };
  deepEqual(planLaunch("npx", ["$HOME"], posix), { file: "npx", args: ["$HOME"], verbatim: false });
});

proves("transport:stdio:windows", { wire: "stdio" }, "no window is asked for, and no shell", async (t) => {
  const spawned = t.mock.method(childProcess, "spawn");
  syncBuiltinESMExports();
  t.after(() => {
    spawned.mock.restore();
    syncBuiltinESMExports();
  });
  const channel = createStdioClientChannel({ ...child("recorder", "modern"), stderr: "ignore", shutdown: NEVER });
  await channel.open({ onFrame() {}, onProblem() {}, onClose() {} });
  await channel.close();
  const [call] = spawned.mock.calls;
  const [file, , options] = (call?.arguments ?? []) as unknown as [string?, string[]?, childProcess.SpawnOptions?];
  equal(file, process.execPath);
  deepEqual([options?.windowsHide, options?.shell ?? false], [true, false]);
});
