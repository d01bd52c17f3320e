import { deepEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** A code where an error is made: by the base class, by a subclass, or by the one function that takes a code. */
const MADE = /\b(?:McpError|InputRequiredError|SkillError|TaskError|cannotAsk|super)\(\s*"([a-z]+(?:_[a-z]+)*)"/g;
/** Every other way to make an `McpError` would hide its code from this test. */
const HIDDEN = /\bnew McpError\(\s*[^"\s]\w*/g;

/** Errors of verbs go from the inspector to its own page. `src/inspect/protocol.ts` has their codes. */
const OF_THE_INSPECTOR = /^inspect[\\/]/;

function sources(): readonly { readonly path: string; readonly text: string }[] {
  return readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !OF_THE_INSPECTOR.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, "src", path), "utf8") }));
}

it("every code of an error is on the page, and every code on the page is one", () => {
  const made = sources().flatMap(({ text }) => [...text.matchAll(MADE)].map(([, code]) => code));
  const failures = readFileSync(join(root, "src/cluster/error.ts"), "utf8").matchAll(/^ {2}\| "([a-z_]+)"/gm);
  made.push(...[...failures].map(([, failure]) => `cluster_${failure}`));
  const page = readFileSync(join(root, "docs/errors.md"), "utf8");
  const listed = [...page.matchAll(/^\| `([a-z_]+)` \|/gm)].map(([, code]) => code);
  ok(made.length > listed.length);
  deepEqual(listed.toSorted(), [...new Set(made)].toSorted());
});

it("no code is hidden in a variable, but for the function that asks a session", () => {
  const hidden = sources().flatMap(({ path, text }) => [...text.matchAll(HIDDEN)].map(([made]) => `${path}: ${made}`));
  deepEqual(hidden, ["era/legacy/server/http-session.ts: new McpError(code"]);
});
