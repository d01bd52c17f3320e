import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Channel, ConnectionError, connect } from "bowline/client";
import { createStdioClientChannel } from "bowline/node";
import { gate } from "../../support/gate.js";
import { Lines } from "../../support/server-child.js";

/** A program that notes that it was started, and then does what the script says. */
function programIn(t: TestContext, script: string) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const log = join(folder, "log");
  const stderr = new Lines();
  const args = ["-e", `require("node:fs").appendFileSync(process.argv[1], "start ");${script}`, log];
  return {
    target: { command: process.execPath, args, stderr: stderr.take },
    starts: () => readFileSync(log, "utf8"),
  };
}

const readsFirst = (then: string) => `process.stdin.once("data", () => { ${then} })`;

for (const [what, script, code, signal, said] of [
  ["exits at once and says why", 'console.error("no key");process.exit(1)', 1, null, ["no key"]],
  ["is killed", 'process.kill(process.pid, "SIGKILL")', null, "SIGKILL", []],
  ["cannot initialize", 'console.error("failed to initialize the store");process.exit(2)', 2, null, 1],
] as const) {
  test(`a program that ${what} is started once, and told with its exit and last words`, async (t) => {
    const { target, starts } = programIn(t, script);
    await rejects(connect(target), (error) => {
      ok(error instanceof ConnectionError, String(error));
      deepEqual([error.exitCode, error.exitSignal], [code, signal]);
      if (typeof said === "number") equal(error.stderr.length, said);
      else deepEqual(error.stderr, said);
      equal(error.command, process.execPath);
      match(error.message, signal === null ? /exited with code/ : /was terminated by SIGKILL/);
      return true;
    });
    equal(starts(), "start ");
  });
}

for (const [what, script, code] of [
  ["reads and exits without a word", readsFirst("process.exit(4)"), 4],
  ["exits at once", "process.exit(3)", 3],
  ["has nothing to do", "", 0],
] as const) {
  test(`a program that ${what} may be an older server, and is started once more`, async (t) => {
    for (const [era, times] of [
      ["auto", 2],
      ["modern", 1],
      ["legacy", 1],
    ] as const) {
      const { target, starts } = programIn(t, script);
      await rejects(connect(target, { era }), { name: "ConnectionError", exitCode: code });
      equal(starts(), "start ".repeat(times), era);
    }
  });
}

for (const [when, delayed] of [
  ["before the probe is written", "gone"],
  ["while its end is not told yet", "going"],
] as const) {
  test(`the exit is told, too, of a program that is gone ${when}`, async (t) => {
    for (const era of ["auto", "modern", "legacy"] as const) {
      const { target } = programIn(t, 'console.error("no key");process.exit(1)');
      await rejects(connect({ channel: slowToOpen(createStdioClientChannel(target), delayed) }, { era }), (error) => {
        ok(error instanceof ConnectionError, String(error));
        deepEqual([error.exitCode, error.stderr], [1, ["no key"]]);
        match(error.message, /exited with code 1/);
        return true;
      });
    }
  });
}

/** A channel that is open when its process has gone: when that was told, or when it can be known. */
function slowToOpen(channel: ReturnType<typeof createStdioClientChannel>, until: "gone" | "going"): Channel {
  const told = gate();
  return {
    async open(events) {
      const onClose = (reason: Error | undefined) => {
        events.onClose(reason);
        told.open();
      };
      await channel.open({ ...events, onClose });
      if (until === "gone") await told.opened;
      while (channel.pid !== undefined) await new Promise(setImmediate);
    },
    send: (text) => channel.send(text),
    close: () => channel.close(),
  };
}

test("a frame for a program that is gone is refused with its exit, and the refusal needs no listener", async (t) => {
  const { target } = programIn(t, "process.exit(6)");
  const channel = createStdioClientChannel(target);
  const told = gate<Error | undefined>();
  await channel.open({ onFrame() {}, onProblem() {}, onClose: told.open });
  while (channel.pid !== undefined) await new Promise(setImmediate);
  void channel.send("{}");
  await rejects(async () => channel.send("{}"), { name: "ConnectionError", exitCode: 6, delivery: "not_sent" });
  equal(((await told.opened) as ConnectionError).exitCode, 6);
  await channel.close();
});

test("a server that leaves right behind its answer is told with its exit", async (t) => {
  const answer = `
    const { id } = JSON.parse(data);
    const result = { supportedVersions: ["2026-07-28"], capabilities: {}, resultType: "complete" };
    process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n", () => process.exit(5));`;
  const { target } = programIn(t, `process.stdin.once("data", (data) => {${answer}})`);
  await rejects(
    async () => {
      const client = await connect(target);
      t.after(() => client.close());
      // The exit takes its time to arrive: a call finds out.
      for (;;) await client.callTool("any");
    },
    (error) => error instanceof ConnectionError && error.exitCode === 5,
  );
});
