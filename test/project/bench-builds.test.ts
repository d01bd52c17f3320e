import { doesNotThrow, equal, throws } from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

const { makeHostFolders, assertOwnPackage } = await loadScript<{
  makeHostFolders<Name extends string>(packages: Readonly<Record<Name, string>>): Readonly<Record<Name, string>>;
  assertOwnPackage(url: string, folder: string): void;
}>("bench/lib/builds.mjs");

test("each host folder resolves its own package by its exports, however its files are laid out", (t) => {
  const parent = mkdtempSync(join(tmpdir(), "bench-builds-"));
  t.after(() => rmSync(parent, { recursive: true, force: true }));
  const folders = makeHostFolders({
    old: fakePackage(parent, "bundled/server.js"),
    new: fakePackage(parent, "dist/server.js"),
  });
  t.after(() => rmSync(join(folders.old, ".."), { recursive: true, force: true }));
  const [old, current] = [resolvedIn(folders.old), resolvedIn(folders.new)];
  equal(old.endsWith("/old/node_modules/bowline/bundled/server.js"), true, old);
  equal(current.endsWith("/new/node_modules/bowline/dist/server.js"), true, current);
  doesNotThrow(() => assertOwnPackage(old, folders.old));
  throws(() => assertOwnPackage(old, folders.new), /not in the package to measure/);
});

/** A package whose server entry is one file. */
function fakePackage(parent: string, file: string): string {
  const folder = mkdtempSync(join(parent, "package-"));
  mkdirSync(join(folder, file, ".."), { recursive: true });
  writeFileSync(join(folder, file), "export {};\n");
  const manifest = { name: "bowline", type: "module", exports: { "./server": { node: `./${file}` } } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  return folder;
}

/** What the adapter in a host folder loads as the server. */
function resolvedIn(folder: string): string {
  const program = join(folder, "adapters", "bowline", "resolve.mjs");
  writeFileSync(program, 'process.stdout.write(import.meta.resolve("bowline/server"));\n');
  return execFileSync(process.execPath, [program], { encoding: "utf8" });
}
