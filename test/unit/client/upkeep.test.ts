import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { createChannelPair, FakeClock, WireRecorder } from "bowline/testing";
import { RetryWaits } from "#src/call/backoff.js";
import type { ClientCore } from "#src/client/runtime.js";
import { startUpkeep } from "#src/client/upkeep.js";
import type { WatchEvents } from "#src/era/client-era.js";

test("lists that may have changed unheard leave the cache, and are read again", async () => {
  const missed: unknown[] = [];
  const read: unknown[] = [];
  let events: WatchEvents | undefined;
  const clock = new FakeClock();
  const core = {
    clock,
    waits: new RetryWaits(),
    listening: new Set(),
    options: { onListChanged: { tools: { debounceMs: 10, onChange() {} } } },
    calls: { connected: () => ({ server: { heard: true, capabilities: { tools: { listChanged: true } } } }) },
    listen: async (_: unknown, given: WatchEvents) => {
      events = given;
      return { honoured: { toolsListChanged: true }, close() {} };
    },
    missed: (changes: unknown[]) => void missed.push(...changes),
    onProblem() {},
  };
  const client = {
    tools: (options: unknown) => {
      read.push(options);
      return { all: async () => [] };
    },
  };
  await startUpkeep(client as never, core as unknown as ClientCore);
  events?.onMissed?.({ toolsListChanged: true }, undefined as never);
  deepEqual(missed, [{ kind: "tools" }]);
  clock.advance(10);
  deepEqual(read, [{ cache: "refresh" }]);
});

test("a client names itself in each request unless it is told not to", async (t) => {
  const info = { name: "me", version: "2" };
  for (const identify of [undefined, true, false]) {
    const server = new McpServer({ name: "s", version: "1" }).tool("t", {}, () => "");
    const wire = new WireRecorder();
    const [ours, theirs] = createChannelPair();
    await server.accept(theirs);
    t.after(() => server.close());
    const options = { era: "modern", info, ...(identify === undefined ? {} : { identify }) } as const;
    const client = await connect({ channel: wire.channel(ours) }, options);
    t.after(() => client.close());
    await client.callTool("t");
    const [request] = wire.requests("tools/call");
    const meta = request?.params?._meta as Record<string, unknown>;
    const expected = identify === false ? undefined : info;
    deepEqual(meta["io.modelcontextprotocol/clientInfo"], expected);
    equal("io.modelcontextprotocol/clientInfo" in meta, identify !== false);
  }
});
