import { deepEqual, match } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { BUILT_IN_EXTENSIONS } from "bowline";
import { proves } from "../support/verifies.js";

const page = readFileSync(new URL("../../../docs/extensions.md", import.meta.url), "utf8");

proves("extensions:documented", {}, "the page lists what is built in, and what becomes of it alone", () => {
  const section = page.split("\n## ").find((part) => part.startsWith("Built-in extensions")) ?? "";
  const rows = section
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split(" | "));
  deepEqual(rows.map(([id]) => id?.slice(3, -1)).sort(), Object.values(BUILT_IN_EXTENSIONS).sort());
  for (const [, turnOn, alone] of rows) {
    match(turnOn ?? "", /`\w+\(/);
    match(alone ?? "", /\w/);
  }
});
