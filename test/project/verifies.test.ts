import { deepEqual, equal, throws } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { proves, verifies } from "../support/verifies.js";

interface Proof {
  readonly id: string;
  readonly wire?: string;
  readonly passed: boolean;
}

const helper = new URL("../support/verifies.js", import.meta.url).href;

/** Runs a scenario file in a process of its own and reads the proofs it leaves. */
function proofsOf(t: TestContext, body: string): readonly Proof[] {
  const folder = mkdtempSync(join(tmpdir(), "bowline-proofs-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "scenario.mjs");
  writeFileSync(file, `import { proves, verifies } from ${JSON.stringify(helper)};\n${body}`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  spawnSync(process.execPath, [file], { env: { ...env, BOWLINE_PROOFS: folder } });
  const records = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  const lines = records.flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"));
  return lines.map((line) => JSON.parse(line) as Proof);
}

const states = (proofs: readonly Proof[]) => proofs.map(({ id, wire, passed }) => [id, wire, passed]);

test("each id is recorded on each wire", (t) => {
  const wires = '[{ name: "legacy-memory", open: () => 1 }, { name: "modern-memory", open: () => 2 }]';
  const proofs = proofsOf(
    t,
    `verifies(["a:b", "c:d"], ${wires}, (world) => { if (world !== 1) throw new Error("no"); });`,
  );
  deepEqual(states(proofs), [
    ["a:b", "legacy-memory", true],
    ["c:d", "legacy-memory", true],
    ["a:b", "modern-memory", false],
    ["c:d", "modern-memory", false],
  ]);
});

test("a proof without a wire has none", (t) => {
  deepEqual(states(proofsOf(t, 'proves("a:b", {}, "title", () => {});')), [["a:b", undefined, true]]);
});

test("a wire that does not open or close proves nothing", (t) => {
  const open = '[{ name: "legacy-memory", open() { throw new Error("no"); } }]';
  deepEqual(states(proofsOf(t, `verifies("a:b", ${open}, () => {});`)), [["a:b", "legacy-memory", false]]);
  const close = '[{ name: "legacy-memory", open(t) { t.after(() => { throw new Error("no"); }); } }]';
  const proofs = proofsOf(t, `verifies("a:b", ${close}, () => {});`);
  equal(proofs.filter(({ passed }) => passed).length, 0);
});

test("a scenario without an id or a wire is refused", () => {
  throws(() => proves([], {}, "title", () => {}), /names the requirements/);
  throws(() => verifies("a:b", [], () => {}), /no wire/);
});
