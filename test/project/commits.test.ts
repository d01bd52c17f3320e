import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

const { problemOf } = await loadScript<{ problemOf(subject: string): string | undefined }>("scripts/check-commits.mjs");

test("a subject of the agreed form passes", () => {
  equal(problemOf("fix(server): keep the order of notifications"), undefined);
  equal(problemOf("feat(auth)!: drop the implicit grant"), undefined);
});

test("a subject without a type, a scope or a text is refused", () => {
  for (const subject of [
    "Keep the order",
    "fix: keep the order",
    "feature(server): keep",
    "fix(server):",
    "fix(server): ",
  ])
    match(problemOf(subject) ?? "", /type\(scope\): imperative/, subject);
});

test("a subject with a full stop, or with more than 72 characters, is refused", () => {
  match(problemOf("fix(server): keep the order.") ?? "", /type\(scope\)/);
  equal(problemOf(`fix(server): ${"x".repeat(59)}`), undefined);
  match(problemOf(`fix(server): ${"x".repeat(60)}`) ?? "", /^73 characters/);
});
