import { equal } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { until } from "../support/census.js";

const MODULE = pathToFileURL(join(import.meta.dirname, "../support/engines/orphans.js")).href;

/** Program with a child that is stopped, so that it notices nothing, one that has ended, and a folder. */
const PROGRAM = `
import { spawn } from "node:child_process";
import { once } from "node:events";
import { killAfterUs, removeAfterUs } from ${JSON.stringify(MODULE)};
removeAfterUs(process.argv[1]);
const ended = spawn("true", { stdio: "ignore" });
const spare = killAfterUs(ended.pid);
const stopped = spawn("sleep", ["600"], { stdio: ["ignore", "inherit", "ignore"] });
killAfterUs(stopped.pid);
await once(ended, "exit");
spare();
stopped.kill("SIGSTOP");
process.stdout.write("ready");
setInterval(() => {}, 60_000);
`;

for (const signal of ["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"] as const) {
  test(`a process that ends by ${signal} leaves no stopped process and no folder`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "bowline-orphans-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const args = ["--input-type=module", "--eval", PROGRAM, folder];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => child.kill("SIGKILL"));
    const [text] = await once(child.stdout, "data");
    equal(String(text), "ready");
    // The stopped process inherits the output, which closes with the last process that has it.
    const closed = once(child.stdout, "close");
    child.stdout.resume();
    child.kill(signal);
    await closed;
    await until("the folder is removed", () => !existsSync(folder));
  });
}
