import { deepEqual, rejects } from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#src/call/clock.js";
import { createStateSeal } from "#src/server/state/seal.js";

test("a sealed state may be exactly as long as the bound, when it is made and when it comes back", async () => {
  const MOST = 256 * 1024;
  let size = MOST;
  let plain = "";
  const codec = {
    encode: (text: string) => {
      plain = text;
      return "x".repeat(size);
    },
    decode: () => plain,
  };
  const refused: string[] = [];
  const seal = createStateSeal({
    codec,
    ttlMs: 1000,
    clock: systemClock,
    audience: "a",
    onRefused: (error: unknown) => void refused.push((error as Error).message),
  } as never);
  const text = await seal.seal({ a: 1 }, "b");
  deepEqual((await seal.open(text, "b")).state, { a: 1 });
  await rejects(seal.open(`${text}x`, "b"), { rpcCode: -32602 });
  deepEqual(refused, ["it is longer than 262144 characters"]);
  size = MOST + 1;
  await rejects(seal.seal({ a: 1 }, "b"), /has 262145 characters, more than the limit of 262144/);
});
