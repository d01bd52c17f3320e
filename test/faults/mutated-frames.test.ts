import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { connect, McpError } from "bowline/client";
import { type Channel, type ChannelEvents, McpServer } from "bowline/server";
import { createChannelPair, FakeClock } from "bowline/testing";
import * as z from "zod";
import { callOf, type Era, requestOf, resultOf, speaking } from "../support/raw-peer.js";
import { mutate, Seeded } from "../support/seeded.js";

const FRAMES = 25_000;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

async function usedMegabytes(): Promise<number> {
  for (let turn = 0; turn < 5; turn++) {
    await new Promise(setImmediate);
    collectGarbage();
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** Fails the test for an error that nobody caught. */
async function unharmed(body: () => Promise<void>): Promise<void> {
  const seen: unknown[] = [];
  const listen = (reason: unknown) => void seen.push(reason);
  process.on("unhandledRejection", listen).on("uncaughtException", listen);
  try {
    await body();
    await new Promise(setImmediate);
  } finally {
    process.off("unhandledRejection", listen).off("uncaughtException", listen);
  }
  assert.deepEqual(seen, []);
}

function aServer(): McpServer {
  const server = new McpServer({ name: "target", version: "1.0.0" });
  server
    .tool("say", { input: z.object({ text: z.string() }) }, ({ text }) => text)
    .resource("note://{id}", { name: "note" }, ({ id }) => `note ${id}`)
    .prompt("review", { arguments: z.object({ code: z.string() }) }, ({ code }) => `Review ${code}`);
  return server;
}

function clientFrames(era: Era): string[] {
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "m", version: "1" } };
  return [
    callOf(era, 1, "say", { text: "hello" }),
    requestOf(era, 2, "tools/list"),
    requestOf(era, "three", "resources/read", { uri: "note://1" }),
    requestOf(era, 4, "prompts/get", { name: "review", arguments: { code: "x" } }),
    requestOf(era, 5, "server/discover"),
    requestOf(era, 6, "subscriptions/listen", { notifications: { toolsListChanged: true } }),
    requestOf(era, 7, "initialize", initialize),
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1, reason: "x" } },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: 8, result: { action: "accept", content: {} } },
    { jsonrpc: "2.0", id: 9, error: { code: -32000, message: "no" } },
  ].map((message) => JSON.stringify(message));
}

function serverFrames(era: Era, id: unknown): string[] {
  const acknowledged = {
    notifications: { toolsListChanged: true },
    _meta: { "io.modelcontextprotocol/subscriptionId": 1 },
  };
  return [
    resultOf(era, id, "hello"),
    { jsonrpc: "2.0", id, error: { code: -32602, message: "no", data: { why: ["x"] } } },
    { jsonrpc: "2.0", id, result: { resultType: "input_required", inputRequests: {}, requestState: "x" } },
    { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: id, progress: 1, total: 2 } },
    { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: { x: 1 } } },
    { jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: acknowledged },
    { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } },
    {
      jsonrpc: "2.0",
      id: "q",
      method: "elicitation/create",
      params: { message: "?", requestedSchema: { type: "object" } },
    },
    { jsonrpc: "2.0", id: "p", method: "ping" },
  ].map((message) => JSON.stringify(message));
}

const deaf: ChannelEvents = { onFrame() {}, onProblem() {}, onClose() {} };

describe("mutated frames", { timeout: 240_000 }, () => {
  for (const era of ["modern", "legacy"] as const) {
    test(`${era}: 50000 into a server leave it working and nothing behind`, () =>
      unharmed(async () => {
        const server = aServer();
        const attack = async (frames: number, seed: number) => {
          const [ours, theirs] = createChannelPair();
          const connection = await server.accept(theirs);
          await ours.open(deaf);
          const random = new Seeded(seed);
          const originals = clientFrames(era);
          for (let frame = 0; frame < frames; frame++) {
            await ours.send(mutate(random.pick(originals), random));
            if (frame % 100 === 0) await new Promise(setImmediate);
          }
          await ours.close();
          await connection.closed;
        };
        await attack(2000, 7);
        const before = await usedMegabytes();
        for (let round = 0; round < 2; round++) await attack(FRAMES, 1000 + round);
        const client = await connect(server, speaking(era));
        assert.equal((await client.callTool("say", { text: "still here" })).text, "still here");
        await client.close();
        assert.deepEqual([server.stats().running, server.stats().connections], [0, 0]);
        const grown = (await usedMegabytes()) - before;
        assert.ok(grown < 4, `${grown} MB are left behind`);
      }));

    test(`${era}: 25000 into a client settle each of its calls once and leave nothing behind`, () =>
      unharmed(async () => {
        const attack = async (frames: number, seed: number) => {
          const [ours, theirs] = createChannelPair();
          const random = new Seeded(seed);
          let last: unknown = 0;
          await answering(theirs, era, (id) => {
            last = id;
          });
          const clock = new FakeClock();
          let settled = 0;
          let made = 0;
          const client = await connect(
            { channel: ours },
            {
              ...speaking(era),
              onElicit: () => ({ action: "decline" }),
              limits: { maxRounds: 2 },
              timeoutMs: Number.POSITIVE_INFINITY,
              clock,
            },
          );
          const call = () => {
            made++;
            client.callTool("say", { text: "x" }, { onProgress: () => {} }).then(
              () => settled++,
              (error: unknown) => {
                settled++;
                assert.ok(error instanceof McpError, String(error));
              },
            );
          };
          for (let frame = 0; frame < frames; frame++) {
            if (client.pending < 3) call();
            await theirs.send(mutate(random.pick(serverFrames(era, last)), random));
            // A call may pause between two rounds.
            if (frame % 10 === 0) clock.advance(5000);
            if (frame % 100 === 0) await new Promise(setImmediate);
          }
          assert.ok(settled > frames / 100, `only ${settled} calls settled`);
          await client.close();
          await new Promise(setImmediate);
          assert.equal(settled, made);
          assert.equal(client.pending, 0);
        };
        await attack(2000, 7);
        const before = await usedMegabytes();
        await attack(FRAMES, 2000);
        const grown = (await usedMegabytes()) - before;
        assert.ok(grown < 4, `${grown} MB are left behind`);
      }));
  }
});

/** A server that answers the handshake, and otherwise only remembers the id of the last request. */
async function answering(channel: Channel, era: Era, onId: (id: unknown) => void): Promise<void> {
  await channel.open({
    ...deaf,
    onFrame: (text) => {
      const { id, method } = JSON.parse(text) as { id?: unknown; method?: string };
      if (method !== undefined && id !== undefined) onId(id);
      if (era === "modern" || method !== "initialize") return;
      const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "m", version: "1" } };
      void channel.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
    },
  });
}
