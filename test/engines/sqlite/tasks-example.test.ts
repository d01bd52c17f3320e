import { deepEqual, equal, match } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Scope } from "#src/testing/contract/world.js";
import { freePort } from "../../support/engines/nginx.js";
import { killAfterUs, removeAfterUs } from "../../support/engines/orphans.js";

/** Program of examples/tasks, with the lines that it prints. */
class Program {
  readonly lines: string[] = [];
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
  #heard: () => void = () => {};

  constructor(t: Scope, name: string, args: readonly string[]) {
    const path = fileURLToPath(new URL(`../../../../examples/dist/tasks/${name}.js`, import.meta.url));
    const child = spawn(process.execPath, [path, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    this.child = child;
    const spare = killAfterUs(child.pid);
    this.ended = once(child, "close").finally(spare);
    t.after(() => {
      child.kill("SIGKILL");
      return this.ended;
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.lines.push(line);
      this.#heard();
    });
  }

  /** Resolves with the first line that matches. Rejects if the program ends without it. */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => pattern.test(line));
      if (found !== undefined) return found;
      if (this.child.exitCode !== null) throw new Error(`no line ${pattern} in ${this.lines.join("\n")}`);
      await Promise.race([
        this.ended,
        new Promise<void>((resolve) => {
          this.#heard = resolve;
        }),
      ]);
    }
  }
}

test("the task of examples/tasks continues after its server was killed and started again", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-tasks-"));
  removeAfterUs(folder);
  const port = String(await freePort());
  const serve = () => new Program(t, "server", [join(folder, "harbour.db"), port]);
  const url = `http://127.0.0.1:${port}/mcp`;

  const first = serve();
  await first.line(/^http:/);
  const client = new Program(t, "client", [url]);
  const [, id = ""] = (await client.line(/^task /)).split(" ");
  await client.line(/^sounding 3 of 5/);
  first.child.kill("SIGKILL");
  await first.ended;

  const second = serve();
  await client.ended;
  equal(client.child.exitCode, 0, client.lines.join("\n"));
  match(client.lines.at(-1) ?? "", /^north: 11, 12, 13, 14, 15 m, published at https:/);
  equal(client.lines.filter((line) => line.startsWith("Publish ")).length, 1, "the question is asked once");
  const repeated = second.lines.filter((line) => /^sounded [12]$/.test(line));
  deepEqual(repeated, [], "steps that were done are not repeated");

  const later = new Program(t, "client", [url, id]);
  await later.ended;
  equal(later.lines.at(-1), client.lines.at(-1), "the task can be taken up by its id");
  second.child.kill("SIGTERM");
  await second.ended;
  equal(second.child.exitCode, 0);
});
