import { deepEqual, equal, match } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadScript } from "./load-script.js";

interface Selection {
  readonly files: readonly string[];
  readonly patterns: readonly string[];
}

interface Choice {
  readonly filters?: readonly string[];
  readonly titles?: readonly string[];
  readonly wire?: string;
}

const { selectTests } = await loadScript<{ selectTests(all: readonly string[], choice: Choice): Selection }>(
  "scripts/lib/select-tests.mjs",
);
const built = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const cancel = built("build/test/scenarios/cancel/calls.test.js");
const sse = built("build/test/unit/http/sse/sse.test.js");
const both = [cancel, sse];

const isChosen = ({ patterns }: Selection, title: string) =>
  patterns.length === 0 || patterns.some((pattern) => new RegExp(pattern).test(title));

test("a filter that is a part of a path chooses files, by the built path or the source", () => {
  deepEqual(selectTests(both, { filters: ["sse"] }), { files: [sse], patterns: [] });
  deepEqual(selectTests(both, { filters: ["build/test/scenarios"] }).files, [cancel]);
  deepEqual(selectTests(both, { filters: ["test/scenarios/cancel/calls.test.ts"] }).files, [cancel]);
  deepEqual(selectTests(both, {}), { files: both, patterns: [] });
});

test("a filter that no path has is a part of a title, in the chosen files alone", () => {
  const chosen = selectTests(both, { filters: ["sse", "a (blank) line"] });
  deepEqual(chosen.files, [sse]);
  equal(isChosen(chosen, "ends at a (blank) line"), true);
  equal(isChosen(chosen, "ends at a blank line"), false);
});

test("a title that is a part of a path too is given by name", () => {
  const chosen = selectTests(both, { filters: ["cancel"], titles: ["sse"] });
  deepEqual(chosen.files, [cancel]);
  equal(isChosen(chosen, "ends an sse stream"), true);
  equal(isChosen(chosen, "ends a stream"), false);
});

test("a wire, an era or a transport chooses by the end of the title", () => {
  const wires = ["modern-stdio", "legacy-stdio", "legacy-node"];
  const on = (choice: Choice) => wires.filter((wire) => isChosen(selectTests(both, choice), `a:b: title [${wire}]`));
  deepEqual(on({ wire: "modern-stdio" }), ["modern-stdio"]);
  deepEqual(on({ wire: "stdio" }), ["modern-stdio", "legacy-stdio"]);
  deepEqual(on({ wire: "legacy" }), ["legacy-stdio", "legacy-node"]);
  deepEqual(on({ wire: "legacy", titles: ["title"] }), ["legacy-stdio", "legacy-node"]);
  deepEqual(on({ wire: "legacy", titles: ["other"] }), []);
  equal(isChosen(selectTests(both, { wire: "stdio" }), "speaks stdio"), false);
});

test("node runs the chosen test on the chosen wire alone, and titles of proofs have their wire", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "bowline-select-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "scenario.mjs");
  const helper = new URL("../support/verifies.js", import.meta.url).href;
  writeFileSync(
    file,
    `import { proves, verifies } from ${JSON.stringify(helper)};
    const wires = ["legacy-memory", "modern-memory"].map((name) => ({ name, open: () => name }));
    verifies("a:b", "first", wires, (name) => console.log("ran first", name));
    verifies("a:b", "second", wires, (name) => console.log("ran second", name));
    proves("c:d", { wire: "modern-memory" }, "proof first", () => console.log("ran proof"));`,
  );
  const { patterns } = selectTests(both, { titles: ["first"], wire: "modern-memory" });
  const { NODE_TEST_CONTEXT: _, BOWLINE_PROOFS: __, ...env } = process.env;
  const options = ["--test-reporter=tap", ...patterns.map((pattern) => `--test-name-pattern=${pattern}`)];
  const { stdout } = spawnSync(process.execPath, [...options, file], { env, encoding: "utf8" });
  deepEqual(stdout.match(/ran \w+.*/g), ["ran first modern-memory", "ran proof"]);
  match(stdout, /c:d: proof first \[modern-memory\]/);
});
