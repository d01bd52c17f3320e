import { deepEqual, equal, match, throws } from "node:assert/strict";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { runnerPath } from "#src/cli/package.js";
import { planRunner } from "#src/cli/run-file.js";
import { emptyFolder } from "../../support/command.js";

const readsTypes = typeof (process.features as { readonly typescript?: unknown }).typescript === "string";

test("JavaScript runs as it is, with the name of the export", () => {
  const { command, args } = planRunner("/x/server.mjs", "other");
  deepEqual([command, args], [process.execPath, [runnerPath(), "/x/server.mjs", "other"]]);
});

test("TypeScript that Node does not read needs tsx of the project", (t) => {
  const folder = realpathSync(emptyFolder(t));
  // No version of Node reads JSX.
  for (const name of ["server.tsx", ...(readsTypes ? [] : ["server.ts"])]) {
    const file = join(folder, name);
    throws(
      () => planRunner(file, undefined),
      (error: Error) => {
        equal(error.name, "UsageError");
        match(error.message, /does not read (?:JSX|TypeScript), and the project has no tsx; install it: npm install/);
        return true;
      },
    );
  }
  mkdirSync(join(folder, "node_modules/tsx"), { recursive: true });
  writeFileSync(join(folder, "node_modules/tsx/index.js"), "");
  const loader = pathToFileURL(join(folder, "node_modules/tsx/index.js")).href;
  const file = join(folder, "server.tsx");
  deepEqual(planRunner(file, undefined).args, ["--import", loader, runnerPath(), file]);
  if (readsTypes) deepEqual(planRunner(join(folder, "a.ts"), undefined).args?.[0], runnerPath());
});
