import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { type Client, type ClientOptions, ConnectionError } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { stdioWires } from "../../support/each-wire.js";
import type { Era } from "../../support/raw-peer.js";
import { child, connectChild, exists } from "../../support/server-child.js";
import { proves, verifies } from "../../support/verifies.js";

const quick = { delayMs: 1 };

verifies("transport:stdio:restart", stdioWires, async ({ era }, t) => {
  const errors: Error[] = [];
  const closes: unknown[] = [];
  const { client, stderr } = await connectChild(
    t,
    era,
    { ...child("mcp-server"), restart: quick },
    { onError: (error) => void errors.push(error), onClose: (reason) => void closes.push(reason) },
  );
  const first = Number((await client.callTool("pid")).text);
  const waiting = client.callTool("wait");
  await stderr.until("waiting");
  process.kill(first, "SIGKILL");
  await rejects(waiting, (error) => {
    ok(error instanceof ConnectionError);
    deepEqual([error.exitSignal, error.delivery, error.code], ["SIGKILL", "sent", "connection_error"]);
    return true;
  });
  const second = Number((await client.callTool("pid")).text);
  notEqual(second, first);
  ok(exists(second) && !exists(first));
  deepEqual([errors.length, closes], [1, []]);
  match(String(errors[0]?.message), /was terminated by SIGKILL/);
  await client.close();
  equal(exists(second), false);
  deepEqual(closes, [undefined]);
  await rejects(client.callTool("pid"), { name: "ConnectionError", delivery: "not_sent" });
});

proves(
  "transport:stdio:restart",
  { wire: "modern-stdio" },
  "without a handshake, a bounded number of times, with growing delays; calls wait within their own limits",
  async (t) => {
    const clock = new FakeClock();
    const closes: (Error | undefined)[] = [];
    const { client, stderr } = await connectChild(
      t,
      "modern",
      { ...child("recorder", "modern"), restart: { attempts: 3, delayMs: 100 } },
      { clock, timeoutMs: Number.POSITIVE_INFINITY, onClose: (reason) => void closes.push(reason) },
    );
    for (const delay of [100, 200, 400]) {
      const started = clock.delays.length;
      await rejects(client.callTool("exit", { code: 4 }), { exitCode: 4 });
      await clock.started(started + 1);
      equal(clock.delays.at(-1), delay);
      const waiting = client.callTool("any");
      clock.advance(delay);
      match((await waiting).text, /^\d+$/);
    }
    const abort = new AbortController();
    await rejects(client.callTool("exit", { code: 5 }), { exitCode: 5 });
    await rejects(client.callTool("any", {}, { signal: abort.signal }), { name: "ConnectionError" });
    equal((closes[0] as ConnectionError).exitCode, 5);
    equal(
      stderr.all.some((line) => line.includes("initialize") || line.includes("discover")),
      false,
    );
    equal(clock.pending, 0);
  },
);

proves("transport:stdio:restart", { wire: "modern-stdio" }, "a call that waits for it can be given up", async (t) => {
  const clock = new FakeClock();
  const target = { ...child("recorder", "modern"), restart: true };
  const { client } = await connectChild(t, "modern", target, { clock, timeoutMs: 1000 });
  await rejects(client.callTool("exit", { code: 1 }), { exitCode: 1 });
  const abort = new AbortController();
  const given = client.callTool("any", {}, { signal: abort.signal });
  const late = client.callTool("any", {}, { timeoutMs: 50 });
  abort.abort("enough");
  await rejects(given, (reason) => reason === "enough");
  clock.advance(50);
  await rejects(late, { name: "TimeoutError" });
  const closed = client.callTool("any");
  await client.close();
  await rejects(closed, { name: "ConnectionError", delivery: "not_sent" });
  equal(clock.pending, 0);
});

proves("transport:stdio:restart", { wire: "modern-stdio" }, "a server that has lived is counted anew", async (t) => {
  const clock = new FakeClock();
  const target = { ...child("recorder", "modern"), restart: { attempts: 1, delayMs: 100 } };
  const { client } = await connectChild(t, "modern", target, { clock, timeoutMs: Number.POSITIVE_INFINITY });
  for (let life = 0; life < 3; life++) {
    clock.advance(60_000);
    await rejects(client.callTool("exit", { code: 1 }), { exitCode: 1 });
    const waiting = client.callTool("any");
    await clock.started(life + 1);
    clock.advance(100);
    await waiting;
  }
});

proves(
  "transport:stdio:restart",
  { wire: "legacy-stdio" },
  "closing ends an attempt that is under way, with its process and the calls that wait for it",
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "bowline-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const closes: unknown[] = [];
    const { client, stderr } = await connectChild(
      t,
      "legacy",
      { ...child("silent-later", join(folder, "started")), restart: quick },
      { timeoutMs: Number.POSITIVE_INFINITY, onClose: (reason) => void closes.push(reason) },
    );
    await rejects(client.callTool("exit"), { exitCode: 7 });
    const pid = Number((await stderr.until(/^silent /)).split(" ")[1]);
    ok(exists(pid));
    t.after(() => exists(pid) && process.kill(pid, "SIGKILL"));
    const waiting = client.callTool("any");
    await Promise.all([client.close(), rejects(waiting, { name: "ConnectionError" })]);
    equal(exists(pid), false);
    deepEqual(closes, [undefined]);
  },
);

/** A client whose server process has exited, and is started again when the clock says so. */
async function connectDown(
  t: TestContext,
  era: Era,
  options: ClientOptions = {},
  prepare?: (client: Client) => unknown,
) {
  const clock = new FakeClock();
  const target = { ...child("recorder", era), restart: { delayMs: 100 } };
  const limits = { clock, timeoutMs: Number.POSITIVE_INFINITY, ...options };
  const { client, stderr } = await connectChild(t, era, target, limits);
  await prepare?.(client);
  await rejects(client.callTool("exit", { code: 1 }), { exitCode: 1 });
  while (clock.delays.at(-1) !== 100) await clock.started(clock.delays.length + 1);
  const before = stderr.all.length;
  return { clock, client, stderr, sinceDown: () => stderr.all.slice(before) };
}

verifies(
  "transport:stdio:restart",
  "a notification waits for the next process, and a cancellation of a lost call does not",
  stdioWires,
  async ({ era }, t) => {
    const { clock, client, stderr, sinceDown } = await connectDown(t, era);
    let isSent = false;
    const sent = client.notify("vendor/late", { n: 1 }).then(() => {
      isSent = true;
    });
    await client.notify("notifications/cancelled", { requestId: 1 });
    await new Promise(setImmediate);
    equal(isSent, false);
    clock.advance(100);
    await sent;
    await stderr.until(/"vendor\/late"/);
    await client.callTool("any");
    await stderr.until(/"any"/);
    equal(sinceDown().filter((line) => line.includes("vendor/late")).length, 1);
    equal(
      sinceDown().some((line) => line.includes("cancelled")),
      false,
    );
  },
);

verifies(
  "transport:stdio:restart",
  "a notification that waits for a process rejects when there will be none",
  stdioWires,
  async ({ era }, t) => {
    const { client } = await connectDown(t, era);
    const late = rejects(client.notify("vendor/late"), { name: "ConnectionError", delivery: "not_sent" });
    await client.close();
    await late;
    await client.notify("vendor/later");
  },
);

verifies("transport:stdio:restart", "the next process learns the log level", stdioWires, async ({ era }, t) => {
  const { clock, client, stderr, sinceDown } = await connectDown(t, era, {}, (client) => client.setLogLevel("error"));
  clock.advance(100);
  await client.callTool("any");
  await stderr.until(/"any"/);
  const told = sinceDown().find((line) => line.includes('"error"')) ?? "";
  const { method, params } = JSON.parse(told.slice(2)) as {
    method: string;
    params: { level?: string; _meta?: object };
  };
  if (era === "legacy") deepEqual([method, params.level], ["logging/setLevel", "error"]);
  else {
    equal(method, "tools/call");
    equal(Object.entries(params._meta ?? {}).find(([key]) => key.endsWith("/logLevel"))?.[1], "error");
  }
});

for (const [maxMissedPings, wires] of [
  [undefined, ["legacy"]],
  [3, ["legacy", "modern"]],
] as const) {
  for (const era of wires) {
    const title = `the next process is pinged as well, with maxMissedPings ${maxMissedPings}`;
    proves("transport:stdio:restart", { wire: `${era}-stdio` }, title, async (t) => {
      const clock = new FakeClock();
      const target = {
        ...child("recorder", era),
        restart: { delayMs: 100, ...(maxMissedPings && { maxMissedPings }) },
      };
      const pings = { intervalMs: 1000, timeoutMs: 500 };
      const { client, stderr } = await connectChild(t, era, target, { clock, pings, timeoutMs: 60_000 });
      await rejects(client.callTool("exit", { code: 1 }), { exitCode: 1 });
      while (clock.delays.at(-1) !== 100) await clock.started(clock.delays.length + 1);
      const before = stderr.all.length;
      clock.advance(100);
      const { text: pid } = await client.callTool("any");
      const heard = (what: RegExp) => stderr.all.slice(before).filter((line) => what.test(line)).length;
      for (let round = 1; round <= 2; round++) {
        clock.advance(pings.intervalMs);
        await new Promise(setImmediate);
        equal((await client.callTool("any")).text, pid);
        // The process says what it reads in the order in which it came.
        while (heard(/"any"/) <= round) await new Promise(setImmediate);
        equal(heard(/"method":"(ping|server\/discover)"/), round);
      }
    });
  }
}

verifies("transport:stdio:restart-relisten", stdioWires, async ({ era }, t) => {
  const target = { ...child("mcp-server"), restart: quick };
  const { client, stderr } = await connectChild(t, era, target);
  const kept = await client.watch({ toolsListChanged: true });
  const closed = await client.watch({ toolsListChanged: true });
  await closed.close();
  const changes = kept[Symbol.asyncIterator]();
  await client.callTool("change");
  deepEqual((await changes.next()).value, { kind: "tools" });
  await rejects(client.callTool("die"), { exitSignal: "SIGKILL" });
  // The watch is made again beside the calls: it says from when on it hears, and what it may have missed before.
  const resync = (await changes.next()).value;
  ok(resync?.kind === "resync");
  deepEqual(resync.missed, [{ kind: "tools" }]);
  match(resync.reason?.message ?? "", /SIGKILL/);
  await client.callTool("change");
  deepEqual((await changes.next()).value, { kind: "tools" });
  equal(kept.ended, undefined);
  await client.close();
  await stderr.until("closed");
});

proves(
  "transport:stdio:restart-relisten",
  { wire: "modern-stdio" },
  "exactly one listen request with a new id is sent again; without restart, the watch is lost",
  async (t) => {
    const { client, stderr } = await connectChild(t, "modern", { ...child("listener"), restart: quick });
    const kept = await client.watch({ toolsListChanged: true });
    const changes = kept[Symbol.asyncIterator]();
    deepEqual((await changes.next()).value, { kind: "tools" });
    await (await client.watch({ promptsListChanged: true })).close();
    equal((await stderr.count(2, "listen ")).length, 2);
    await rejects(client.callTool("exit"), { exitCode: 7 });
    // The server tells of a change together with its acknowledgment.
    const both = [(await changes.next()).value?.kind, (await changes.next()).value?.kind];
    deepEqual(both.sort(), ["resync", "tools"]);
    const listens = await stderr.count(3, "listen ");
    equal(listens.length, 3);
    match(listens[2] ?? "", /toolsListChanged/);
    equal(new Set(listens.map((line) => line.split(" ")[1])).size, 3);

    const { client: brief } = await connectChild(t, "modern", child("listener"));
    const lost = await brief.watch({ promptsListChanged: true });
    await rejects(brief.callTool("exit"), { exitCode: 7 });
    await rejects(lost[Symbol.asyncIterator]().next(), { name: "ConnectionError", delivery: "answer_lost" });
    equal(lost.ended, "lost");
  },
);
