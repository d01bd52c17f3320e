import { deepEqual, equal } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { type ClientOptions, connect } from "bowline/client";
import { child, spawnBare } from "../../../../support/server-child.js";

const fresh = () => [...randomBytes(32)];

/** Sends every round of a call to the next of these. */
function takingTurns(urls: readonly string[]): ClientOptions {
  let turn = 0;
  return {
    era: "modern",
    onElicit: ({ message }) => ({ action: "accept", content: { name: message } }),
    fetch: (url, init) => {
      const isCall = String(init.body).includes('"tools/call"');
      return fetch(isCall ? (urls[turn++ % urls.length] ?? url) : url, init);
    },
  };
}

test("two processes that share a key and nothing else serve one call in turns", async (t) => {
  const key = fresh();
  const processes = [spawnBare(t, child("rounds", key)), spawnBare(t, child("rounds", key))] as const;
  const urls = await Promise.all(processes.map(({ stdout }) => stdout.until(/^http/)));
  const client = await connect(urls[0] ?? "", takingTurns(urls));
  t.after(() => client.close());
  const { text, isError } = await client.callTool("ask");
  equal(isError, false);
  equal(text, "before,first,between,second,after");
  await Promise.all([processes[0].stderr.until("after"), processes[1].stderr.until("between")]);
  deepEqual(processes[0].stderr.all, ["round", "before", "round", "after"]);
  deepEqual(processes[1].stderr.all, ["round", "between"]);
});

test("processes with keys of their own refuse each other's rounds before any handler runs", async (t) => {
  const processes = [spawnBare(t, child("rounds", fresh())), spawnBare(t, child("rounds", fresh()))] as const;
  const urls = await Promise.all(processes.map(({ stdout }) => stdout.until(/^http/)));
  const client = await connect(urls[0] ?? "", takingTurns(urls));
  t.after(() => client.close());
  const failure = await client.callTool("ask").then(
    () => undefined,
    (error: { rpcCode?: number }) => error.rpcCode,
  );
  equal(failure, -32602);
  deepEqual(processes[1].stderr.all, []);
});
