import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { type Client, connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { createChannelPair, FakeClock, Recording, replayClient, replayServer } from "bowline/testing";
import * as z from "zod";
import { parseRecording } from "#src/recording/reader.js";
import { fetchInto, HTTP_URL, harbour, RECORDED_WIRES } from "../../support/recorded-wires.js";

const onElicit = () => ({ action: "accept" as const, content: { sure: true } });

async function useHarbour(client: Client): Promise<void> {
  await client.callTool("moor", { ship: "Maria" }, { onProgress: () => {} });
  await client.callTool("cast-off", { berth: "n1" });
  await client.callTool("run-aground");
  const aborter = new AbortController();
  const onProgress = () => aborter.abort();
  await client.callTool("sound-the-horn", {}, { signal: aborter.signal, onProgress }).catch(() => {});
  await client.listTools();
}

for (const wire of RECORDED_WIRES)
  it(`a recording over ${wire.name} is sent again to the same server with the same results`, async (t) => {
    const server = harbour();
    t.after(() => server.close());
    const recording = new Recording();
    const client = await wire.connect(server, recording, { onElicit });
    await useHarbour(client);
    await client.close();
    const report = await replayClient(recording, server);
    report.assertSame();
    const tools = report.calls.filter(({ method }) => method === "tools/call");
    deepEqual([...new Set(tools.map(({ name }) => name))], ["moor", "cast-off", "run-aground", "sound-the-horn"]);
    ok(report.same);
    // And what it writes is a recording that plays the server.
    const replay = await replayServer(report.text);
    const other = await replayClient(recording, replay);
    other.assertSame();
    replay.assertDone();
  });

/** Server whose results differ from run to run. */
function ticking(start: number): McpServer {
  let now = start;
  return new McpServer({ name: "clock", version: "1.0.0" }).tool(
    "time",
    { input: z.object({}), output: z.object({ time: z.number(), zone: z.string() }) },
    async (_args, ctx) => {
      await ctx.progress(1, 1, "looking");
      return { time: now++, zone: "UTC" };
    },
  );
}

async function recordClock(): Promise<Recording> {
  const recording = new Recording();
  const client = await connect(...recording.client(ticking(1)));
  await client.callTool("time", {}, { onProgress: () => {} });
  await client.close();
  return recording;
}

describe("replay as a client", () => {
  it("reports differences, or compares without some places, or by shape", async () => {
    const recording = await recordClock();
    const report = await replayClient(recording, ticking(7));
    equal(report.same, false);
    const call = report.calls.find(({ method }) => method === "tools/call");
    deepEqual(
      call?.differences.map(({ path }) => path),
      ["/result/content/0/text", "/result/structuredContent/time"],
    );
    throws(() => report.assertSame(), {
      code: "replay_mismatch",
      message: /tools\/call time \(line \d+\): .*\/result\/structuredContent\/time: recorded 1, now 7/,
    });
    const ignore = ["/result/structuredContent/time", "/result/content/*/text"];
    (await replayClient(recording, ticking(7), { ignore })).assertSame();
    (await replayClient(recording, ticking(7), { compare: "shape" })).assertSame();
  });

  it("writes the new results", async () => {
    const report = await replayClient(await recordClock(), ticking(7));
    const { events, complete } = parseRecording(report.text);
    ok(JSON.stringify(events).includes('"time":7') && !JSON.stringify(events).includes('"time":1,'));
    equal(complete, false);
    (await replayClient(report.text, ticking(7))).assertSame();
  });

  it("notices notifications that are missing", async () => {
    const recording = await recordClock();
    const quiet = new McpServer({ name: "clock", version: "1.0.0" }).tool(
      "time",
      { input: z.object({}), output: z.object({ time: z.number(), zone: z.string() }) },
      () => ({ time: 1, zone: "UTC" }),
    );
    const report = await replayClient(recording, quiet);
    const call = report.calls.find(({ method }) => method === "tools/call");
    ok(call?.differences.some(({ path }) => path.startsWith("/notifications/0")));
    const { calls } = await replayClient(recording, quiet, { notifications: false });
    deepEqual(calls.find(({ method }) => method === "tools/call")?.differences, []);
  });

  it("sends values that the live server gave in place of the recorded ones", async () => {
    for (const isHttp of [true, false]) {
      const recording = new Recording();
      const server = harbour();
      const [target, options] = isHttp
        ? recording.client(HTTP_URL, { era: "legacy", fetch: fetchInto(server), onElicit })
        : recording.client(server, { era: "modern", onElicit });
      const client = await connect(target, options);
      await client.callTool("cast-off", { berth: "n1" });
      await client.close();
      ok(recording.text().includes(isHttp ? "<session:1>" : "<state:1>"));
      (await replayClient(recording, server)).assertSame();
      await server.close();
    }
  });

  it("says what the live server did not send in time", async () => {
    const recording = await recordClock();
    const [ours, theirs] = createChannelPair();
    await theirs.open({ onFrame: () => {}, onProblem: () => {}, onClose: () => {} });
    const clock = new FakeClock();
    const replaying = replayClient(recording, { channel: ours }, { clock, timeoutMs: 500 });
    const isDone = replaying.then(() => true);
    for (let waits = 1; ; waits++) {
      const next = await Promise.race([isDone, clock.started(waits).then(() => false)]);
      if (next) break;
      clock.advance(500);
    }
    const report = await replaying;
    throws(() => report.assertSame(), /did not come within 500 ms/);
    match(String(report.calls.length), /^[1-9]/);
  });

  it("refuses to send a recording of a channel over HTTP", async () => {
    await rejects(replayClient(await recordClock(), HTTP_URL), {
      code: "definition_error",
      message: /a recording of a channel has no HTTP headers/,
    });
  });
});
