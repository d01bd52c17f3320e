import { deepEqual, equal, match } from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";

const project = join(import.meta.dirname, "../../..");

interface Report {
  readonly failures: readonly { readonly problem?: string; readonly message?: string }[];
  readonly totals?: { readonly failed: number };
  readonly runtimes?: readonly { readonly unavailable?: string }[];
}

/** Commands whose programs Debian installs, and what they choose here. Neither finds its program in PATH. */
const COMMANDS = {
  runtimes: ["runtimes/run.mjs", "chromium"],
  engines: ["scripts/engines.mjs", "engines/redis"],
};

/** Runs a command with a PATH that has nothing but an installer that fails. */
function run(t: TestContext, args: readonly string[]): Promise<{ code: number; stdout: string }> {
  const folder = mkdtempSync(join(tmpdir(), "bowline-install-"));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "apt-get"), "#!/bin/sh\necho Reading\necho 'E: no network'\nexit 100\n", { mode: 0o755 });
  const { CHROMIUM: _, REDIS_URL: __, PATH: ___, Path: ____, ...env } = process.env;
  return new Promise((resolve) =>
    execFile(process.execPath, args, { cwd: project, env: { ...env, PATH: folder } }, (error, stdout) =>
      resolve({ code: Number(error?.code ?? 0), stdout }),
    ),
  );
}

/** Without root, which only CI has, apt-get is not tried. */
const REASON = /^(?:apt-get .*update failed: E: no network|--install needs root to install \S+ by apt-get)$/;

for (const [name, command] of Object.entries(COMMANDS)) {
  test(`${name}: a program that is not there is told, and is no failure`, async (t) => {
    const { code, stdout } = await run(t, command);
    match(stdout, /chromium +not run: chromium, .* were not found; install it|redis: not tested, redis-server was not/);
    match(stdout, /\n0 passed, 0 failed\n$/);
    equal(code, 0);
  });

  test(`${name}: --install that does not install is a failure with its reason`, async (t) => {
    const { code, stdout } = await run(t, [...command, "--install"]);
    match(
      stdout,
      /^FAIL (?:chromium: -: install: |scripts\/engines.mjs: --install\n)(?:apt-get|--install needs root)/m,
    );
    match(stdout, /\n0 passed, 1 failed\n$/);
    equal(code, 1);

    const told = await run(t, [...command, "--install", "--json"]);
    const { failures } = JSON.parse(told.stdout) as Report;
    deepEqual(
      failures.map(({ problem, message = problem }) => REASON.test(message ?? "")),
      [true],
      told.stdout,
    );
    equal(told.code, 1);
  });
}
