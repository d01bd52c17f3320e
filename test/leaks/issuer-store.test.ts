import { ok } from "node:assert/strict";
import { test } from "node:test";
import { memoryIssuerStore } from "bowline/auth/issuer";
import { takeCensus } from "../support/census.js";

const MARKS = 20_000;

test("a memory store of an issuer that is far from full keeps nothing past its time", async () => {
  let now = 0;
  const store = memoryIssuerStore({ now: () => now });
  const add = (name: string) => store.add(`spent:${name.padEnd(43, "x")}`, true, now + 60_000, { owner: name });
  await add("first");
  const before = await takeCensus();
  for (let round = 0; round < MARKS; round++) await add(String(round));
  const full = await takeCensus();
  ok(full.heap - before.heap > MARKS * 100, "the marks are kept while they last");
  now += 120_000;
  await add("last");
  const after = await takeCensus();
  ok(after.heap - before.heap < (full.heap - before.heap) / 10, `${after.heap - before.heap} bytes are left`);
});
