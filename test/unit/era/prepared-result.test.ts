import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { PreparedResult } from "#src/era/server-era.js";

test("a prepared result is written once for each key", () => {
  const prepared = new PreparedResult({ tools: [] });
  const written: unknown[] = [];
  const write = (key: string) =>
    prepared.textFor(key, (result) => {
      written.push([key, result]);
      return `${key}: ${JSON.stringify(result)}` as never;
    });
  for (const key of ["one", "other", "one", "other"]) equal(write(key), `${key}: {"tools":[]}`);
  deepEqual(written, [
    ["one", { tools: [] }],
    ["other", { tools: [] }],
  ]);
});
