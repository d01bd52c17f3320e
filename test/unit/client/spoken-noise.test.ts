import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { ConnectionError, connect, TimeoutError } from "bowline/client";

const run = (script: string) => ({ command: process.execPath, args: ["-e", script], stderr: "pipe" as const });

for (const era of ["auto", "modern", "legacy"] as const) {
  test(`${era}: the error of a program that prints and never answers quotes what it printed`, async () => {
    const script = `for (const n of [1, 2, 3, 4, 5]) console.log("Listening on " + n);setInterval(() => {}, 1000)`;
    await rejects(connect(run(script), { era, timeoutMs: 300, probeTimeoutMs: 100 }), (error) => {
      if (era !== "modern") {
        ok(error instanceof TimeoutError, String(error));
        equal(error.kind, "idle");
        match(error.message, /: no message received for \d+ ms \(timeoutMs\); instead of messages it wrote /);
      } else match((error as Error).message, /^The server supports no version .*; instead of messages it wrote /);
      match(
        (error as Error).message,
        /"Listening on 1", "Listening on 2", "Listening on 3": a stdio server must log to stderr$/,
      );
      return true;
    });
  });

  test(`${era}: the error of a program that prints and exits quotes what it printed`, async () => {
    await rejects(connect(run(`console.log("Usage: server [options]")`), { era }), (error) => {
      ok(error instanceof ConnectionError, String(error));
      deepEqual([error.exitCode, error.delivery], [0, "sent"]);
      match(error.message, /exited with code 0; probably it does not serve over stdio: wrong program or arguments/);
      match(error.message, /; instead of messages it wrote "Usage: server \[options\]": /);
      return true;
    });
  });
}

test("an uncaught error of a process shows its last words once", async () => {
  const script = `for (let n = 0; n < 40; n++) console.error("line " + n);console.error("Error: no key");process.exit(1)`;
  const error: ConnectionError = await connect(run(script)).then(
    () => Promise.reject(new Error("connected")),
    (error) => error,
  );
  ok(error instanceof ConnectionError);
  equal(error.stderr.length, 41);
  const shown = inspect(error);
  equal(shown.split("no key").length - 1, 1);
  equal(shown.includes("line 39"), false);
  ok(shown.split("\n").length < 30, shown);
});

test("a process that closes its input and then exits is reported by its exit alone", async () => {
  const script = `const { readSync, closeSync } = require("node:fs");
  const frame = Buffer.alloc(4096);
  const { id } = JSON.parse(frame.toString("utf8", 0, readSync(0, frame)));
  closeSync(0);
  console.log(JSON.stringify({ jsonrpc: "2.0", id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } } }));
  setTimeout(() => { console.error("Error: no key"); process.exit(1); }, 200);`;
  const lost = await connect(run(script), { era: "legacy" })
    .then((client) => client.callTool("t"))
    .catch((error: unknown) => error);
  ok(lost instanceof ConnectionError);
  equal(lost.exitCode, 1);
  equal(inspect(lost).includes("EPIPE"), false, inspect(lost));
});

test("the error of a call that a process ended has no cause that repeats it", async () => {
  const script = `process.stdin.once("data", (text) => {
    console.log(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(text).id, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } } }));
    process.stdin.on("data", (text) => { if (String(text).includes("tools/call")) { console.error("Error: no key"); process.exit(3); } });
  });`;
  const client = await connect(run(script), { era: "legacy" });
  const lost = await client.callTool("t").catch((error: unknown) => error);
  ok(lost instanceof ConnectionError);
  equal(lost.exitCode, 3);
  equal(inspect(lost).split("no key").length - 1, 1, inspect(lost));
  equal(lost.cause, undefined);
  await client.close();
});
