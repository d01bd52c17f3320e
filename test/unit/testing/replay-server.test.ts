import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { createChannelPair, FakeClock, Recording, ReplayError, replayServer, withFaults } from "bowline/testing";
import {
  connectReplay,
  fetchInto,
  HTTP_URL,
  harbour,
  RECORDED_WIRES,
  type RecordedWire,
} from "../../support/recorded-wires.js";

/** What a caller sees of one run: results, errors, progress, questions, in their order. */
async function run(client: Client, seen: unknown[]): Promise<void> {
  const settle = (name: string, call: Promise<{ readonly text?: string; readonly isError?: boolean }>) =>
    call.then(
      ({ text, isError }) => seen.push([name, text, isError]),
      ({ name: kind, code, delivery, retrySafe }) => seen.push([name, kind, code, delivery, retrySafe]),
    );
  const onProgress = ({ progress, total, message }: { progress: number; total?: number; message?: string }) =>
    seen.push(["progress", progress, total, message]);
  await settle("moor", client.callTool("moor", { ship: "Maria" }, { onProgress }));
  await settle("cast-off", client.callTool("cast-off", { berth: "n1" }));
  await settle("run-aground", client.callTool("run-aground"));
  await settle("unknown", client.callTool("unknown"));
  const aborter = new AbortController();
  const onToot = () => {
    seen.push("toot");
    aborter.abort(new DOMException("enough", "AbortError"));
  };
  await settle("horn", client.callTool("sound-the-horn", {}, { signal: aborter.signal, onProgress: onToot }));
  seen.push((await client.readResource("berth://n1")).contents);
  const { tools } = await client.listTools();
  seen.push(tools.map(({ name }) => name));
}

function asking(seen: unknown[]): ClientOptions {
  return {
    onElicit: ({ message }) => {
      seen.push(["asked", message]);
      return { action: "accept", content: { sure: true } };
    },
  };
}

/** Records a run and returns what was seen. */
async function record(wire: RecordedWire, recording: Recording): Promise<readonly unknown[]> {
  const server = harbour();
  const seen: unknown[] = [];
  const client = await wire.connect(server, recording, asking(seen));
  await run(client, seen);
  await client.close();
  await recording.close();
  await server.close();
  return seen;
}

for (const wire of RECORDED_WIRES)
  describe(`replay as a server, recorded over ${wire.name}`, () => {
    for (const time of ["none", "recorded"] as const)
      it(`has the same outcomes, progress, questions and cancellations (time: ${time})`, async () => {
        const recording = new Recording();
        const expected = await record(wire, recording);
        for (const part of ["asked", "toot", "line 3 of Maria", "AbortError"])
          ok(JSON.stringify(expected).includes(part), part);
        const server = await replayServer(recording, { answers: "check", order: "strict", time });
        const seen: unknown[] = [];
        const client = await connectReplay(wire, server, asking(seen));
        await run(client, seen);
        server.assertDone();
        await client.close();
        deepEqual(seen, expected);
        await server.close();
      });

    it("serves the other kind of wire too", async () => {
      const recording = new Recording();
      const expected = await record(wire, recording);
      const server = await replayServer(recording.text());
      const other = RECORDED_WIRES.find(
        ({ era, isHttp }) => era === wire.era && isHttp !== wire.isHttp,
      ) as RecordedWire;
      const seen: unknown[] = [];
      const client = await connectReplay(other, server, asking(seen));
      await run(client, seen);
      server.assertDone();
      await client.close();
      deepEqual(seen, expected);
    });

    it("keeps a call that was cancelled open until it is cancelled again", async () => {
      const recording = new Recording();
      await record(wire, recording);
      const client = await connectReplay(wire, await replayServer(recording));
      const aborter = new AbortController();
      let state = "open";
      const tooted = new Promise<void>((resolve) => {
        const options = { signal: aborter.signal, onProgress: () => resolve() };
        void client.callTool("sound-the-horn", {}, options).catch((error: Error) => {
          state = error.name;
        });
      });
      await tooted;
      await client.readResource("berth://n1");
      equal(state, "open");
      aborter.abort();
      await client.listTools();
      equal(state, "AbortError");
      await client.close();
    });

    it("loses an answer again", async (t) => {
      const server = harbour();
      t.after(() => server.close());
      const recording = new Recording();
      let isCut = false;
      const client = await wire.connect(
        server,
        recording,
        {},
        {
          channel: (inner) => {
            const faulty = withFaults(inner, {
              receive: { fate: (frame) => (frame.includes("is moored") ? cutAt() : "pass") },
            });
            const cutAt = () => {
              faulty.cut();
              return "drop" as const;
            };
            return faulty;
          },
          fetch: (inner) => async (url, init) => {
            const response = await inner(url, init);
            if (isCut || !String(init.body).includes('"moor"')) return response;
            isCut = true;
            await response.body?.cancel();
            const body = new ReadableStream({ start: (controller) => controller.error(new Error("reset")) });
            return new Response(body, { headers: response.headers });
          },
        },
      );
      const lost = (error: { code: string; delivery: string; retrySafe: boolean }) => {
        deepEqual([error.code, error.retrySafe], ["connection_error", false]);
        deliveries.push(error.delivery);
        return true;
      };
      const deliveries: string[] = [];
      await rejects(client.callTool("moor", { ship: "Maria" }), lost);
      await client.close();
      const replayed = await connectReplay(wire, await replayServer(recording));
      await rejects(replayed.callTool("moor", { ship: "Maria" }), lost);
      await replayed.close();
      equal(deliveries[0], deliveries[1]);
    });
  });

describe("replay as a server", () => {
  const recorded = async (): Promise<Recording> => {
    const recording = new Recording();
    const client = await connect(...recording.client(harbour(), { era: "modern" }));
    await client.callTool("moor", { ship: "Maria" });
    await client.callTool("moor", { ship: "Anna" });
    await client.close();
    return recording;
  };

  it("answers what was not recorded with the difference to the nearest request, and reports it", async () => {
    const server = await replayServer(await recorded());
    const client = await connect(server, { era: "modern" });
    await rejects(client.callTool("moor", { ship: "Mary" }), (error: Error & { rpcCode: number; data: unknown }) => {
      equal(error.rpcCode, -32_603);
      match(
        error.message,
        /Replay: nothing is recorded for tools\/call moor; the request of line \d+ differs at \/arguments\/ship: recorded "Maria", now "Mary"/,
      );
      return true;
    });
    await client.callTool("moor", { ship: "Anna" });
    await client.close();
    throws(
      () => server.assertDone(),
      (error: ReplayError) => {
        ok(error instanceof ReplayError);
        deepEqual([error.code, error.problems.length], ["replay_mismatch", 2]);
        match(error.problems[0] as string, /nothing is recorded for tools\/call moor/);
        match(error.problems[1] as string, /^tools\/call moor \(line \d+\) was not sent$/);
        return true;
      },
    );
  });

  it("demands the recorded order if told so", async () => {
    const server = await replayServer(await recorded(), { order: "strict" });
    const client = await connect(server, { era: "modern" });
    await rejects(client.callTool("moor", { ship: "Anna" }), { rpcCode: -32_603 });
    await client.close();
    throws(() => server.assertDone(), { code: "replay_mismatch" });
  });

  it("lets listings be repeated, and nothing else", async () => {
    const recording = new Recording();
    const client = await connect(...recording.client(harbour(), { cache: false }));
    await client.listTools();
    await client.callTool("moor", { ship: "Maria" });
    await client.close();
    const server = await replayServer(recording);
    const again = await connect(server, { cache: false });
    for (let time = 0; time < 3; time++) equal((await again.listTools()).tools.length, 4);
    await again.callTool("moor", { ship: "Maria" });
    await rejects(again.callTool("moor", { ship: "Maria" }), /was sent more often, or in another order/);
    await again.close();
  });

  it("compares answers if told so", async () => {
    for (const era of ["modern", "legacy"] as const) {
      const recording = new Recording();
      const answer = (sure: boolean) => ({ era, onElicit: () => ({ action: "accept" as const, content: { sure } }) });
      const client = await connect(...recording.client(harbour(), answer(true)));
      await client.callTool("cast-off", { berth: "n1" });
      await client.close();
      for (const answers of ["check", "ignore"] as const) {
        const server = await replayServer(recording, { answers });
        const other = await connect(server, answer(false));
        equal((await other.callTool("cast-off", { berth: "n1" })).text, "off");
        await other.close();
        if (answers === "ignore") server.assertDone();
        else throws(() => server.assertDone(), /sure: recorded true, now false/, era);
      }
    }
  });

  it("waits as the recorded server did, by the clock of the test", async () => {
    const recorder = new FakeClock();
    const recording = new Recording({ clock: recorder });
    const [ours, theirs] = createChannelPair();
    const server = harbour();
    await server.accept(theirs);
    const delayed = withFaults(ours, {
      receive: { fate: (frame) => (frame.includes("is moored") ? { delayMs: 2_000 } : "pass") },
      clock: recorder,
    });
    const client = await connect({ channel: recording.channel(delayed) }, { era: "modern" });
    const call = client.callTool("moor", { ship: "Maria" });
    await recorder.started(1);
    recorder.advance(2_000);
    await call;
    await client.close();
    const clock = new FakeClock();
    const replay = await replayServer(recording, { time: "recorded", clock });
    const again = await connect(replay, { era: "modern" });
    let isDone = false;
    const slow = again.callTool("moor", { ship: "Maria" }).then(() => {
      isDone = true;
    });
    await clock.started(1);
    clock.advance(1_999);
    await new Promise(setImmediate);
    equal(isDone, false);
    clock.advance(1);
    await slow;
    await again.close();
  });

  it("repeats changes that the server told by itself, when the client is as far", async () => {
    for (const wire of RECORDED_WIRES) {
      const server = harbour();
      const recording = new Recording();
      const watch = async (client: Client, change: () => void, seen: string[]) => {
        const changes = await client.watch({ resources: ["berth://n1"] });
        await client.callTool("moor", { ship: "Maria" });
        change();
        for await (const heard of changes) {
          seen.push(heard.kind);
          break;
        }
      };
      const seen: string[] = [];
      const client = await wire.connect(server, recording, { cache: false });
      await watch(client, () => server.changes.resourceUpdated("berth://n1"), seen);
      await client.close();
      await server.close();
      const replay = await replayServer(recording);
      const again = await connectReplay(wire, replay, { cache: false });
      await watch(again, () => {}, seen);
      await again.close();
      await replay.close();
      deepEqual(seen, ["resource", "resource"], wire.name);
    }
  });

  it("finds a request with a secret by the value that it is given", async () => {
    const values = { BERTH_KEY: "tide-table-4711" };
    const recording = new Recording({ redaction: { values } });
    const client = await connect(...recording.client(harbour()));
    await client.callTool("moor", { ship: values.BERTH_KEY });
    await client.close();
    ok(!recording.text().includes(values.BERTH_KEY));
    const server = await replayServer(recording, { values });
    const again = await connect(server);
    equal((await again.callTool("moor", { ship: values.BERTH_KEY })).text, "<env:BERTH_KEY> is moored");
    server.assertDone();
    await again.close();
  });

  it("answers over HTTP with the recorded status and headers", async () => {
    const recording = new Recording();
    const refusing = async () =>
      new Response("come back later", { status: 503, headers: { "retry-after": "7", "content-type": "text/plain" } });
    await rejects(
      connect(...recording.client(HTTP_URL, { era: "modern", versions: ["2026-07-28"], fetch: refusing })).then(
        (client) => client.callTool("moor", { ship: "a" }),
      ),
      { name: "ConnectionError", status: 503 },
    );
    const server = await replayServer(recording);
    const client = await connect(HTTP_URL, { era: "modern", versions: ["2026-07-28"], fetch: fetchInto(server) });
    await rejects(client.callTool("moor", { ship: "a" }), { status: 503, retryAfterMs: 7_000 });
    await client.close();
  });
});

for (const wire of RECORDED_WIRES)
  it(`calls recorded over ${wire.name} are replayed in each era, over each wire`, async () => {
    const recording = new Recording();
    const expected = await record(wire, recording);
    for (const other of RECORDED_WIRES) {
      const server = await replayServer(recording, { era: "any" });
      const seen: unknown[] = [];
      const client = await connectReplay(other, server, asking(seen));
      await run(client, seen);
      server.assertDone();
      await rejects(client.callTool("moor", { ship: "Anna" }), /Replay: .* differs at \/arguments\/ship/);
      await client.close();
      deepEqual(seen, expected, other.name);
      throws(() => server.assertDone(), { code: "replay_mismatch" });
      await server.close();
    }
  });

/** Returns a recording of stdio with these frames. */
function recordingOf(frames: readonly (readonly [d: ">" | "<", m: object])[]): string {
  const lines = [
    { mcpRecording: 1, by: "test", at: "2026-11-19T00:00:00.000Z", unit: "us", redaction: { profile: "default" } },
    { t: 0, k: "open", c: 1, wire: "stdio", role: "tap" },
    ...frames.map(([d, m], t) => ({ t, k: "frame", c: 1, d, m: { jsonrpc: "2.0", ...m } })),
  ];
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

it("a handshake that a client tried beside another, since the server was slow, is not missed", async () => {
  const tools = [{ name: "moor", inputSchema: { type: "object" } }];
  const capabilities = { tools: {} };
  const found = {
    supportedVersions: ["2026-07-28"],
    capabilities,
    resultType: "complete",
    ttlMs: 0,
    cacheScope: "private",
  };
  const server = await replayServer(
    recordingOf([
      [">", { id: 1, method: "server/discover", params: {} }],
      [">", { id: 2, method: "initialize", params: {} }],
      ["<", { id: 1, result: found }],
      [
        "<",
        { id: 2, result: { protocolVersion: "2025-11-25", capabilities, serverInfo: { name: "a", version: "1" } } },
      ],
      [">", { id: 3, method: "tools/list" }],
      ["<", { id: 3, result: { tools, resultType: "complete", ttlMs: 0, cacheScope: "private" } }],
    ]),
  );
  throws(() => server.assertDone(), /server\/discover \(line 3\) was not sent; initialize \(line 4\) was not sent/);
  const client = await connect(server);
  throws(() => server.assertDone(), { message: /: tools\/list \(line 7\) was not sent$/ });
  deepEqual((await client.listTools()).tools, tools);
  server.assertDone();
  await client.close();
  await server.close();
});

it("a question beside a listing is none of the listing, and is not repeated in another era", async () => {
  const tools = [{ name: "moor", inputSchema: { type: "object" } }];
  const serverInfo = { name: "asks", version: "1" };
  const text = recordingOf([
    [">", { id: 1, method: "initialize", params: {} }],
    ["<", { id: 1, result: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo } }],
    [">", { method: "notifications/initialized" }],
    [">", { id: 2, method: "tools/list" }],
    ["<", { id: 0, method: "roots/list" }],
    [">", { id: 0, result: { roots: [] } }],
    ["<", { id: 2, result: { tools } }],
  ]);
  for (const era of ["legacy", "modern"] as const) {
    const server = await replayServer(text, { era: "any" });
    const client = await connect(server, { era, roots: [] });
    deepEqual((await client.listTools()).tools, tools);
    await client.close();
    server.assertDone();
    await server.close();
  }
});
