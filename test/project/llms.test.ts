import { deepEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../", import.meta.url));

test("llms.txt links to every page of docs, with a description", () => {
  const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md"))
    .map((path) => `docs/${path.replaceAll("\\", "/")}`);
  const links = [...readFileSync(join(root, "llms.txt"), "utf8").matchAll(/^- \[.+\]\((docs\/.+)\): \S.+$/gm)];
  deepEqual(links.map(([, path]) => path).sort(), pages.sort());
});

test("llms.txt leads to pages of the package by their path, and to others in the repository", () => {
  const text = readFileSync(join(root, "llms.txt"), "utf8");
  for (const path of ["CHANGELOG.md", "SECURITY.md"]) ok(text.includes(`](${path})`), path);
  for (const path of ["CONTRIBUTING.md", "examples/README.md"]) ok(text.includes(`/blob/HEAD/${path})`), path);
});
