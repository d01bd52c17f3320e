import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { type Client, connect } from "bowline/client";
import { createStdioClientChannel, serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { Recording, replayClient, replayServer, withFetchFaults } from "bowline/testing";
import type { RecordingEvent } from "#src/recording/events.js";
import { fetchInto, HTTP_URL, harbour } from "../../support/recorded-wires.js";
import { child } from "../../support/server-child.js";

const of = <K extends RecordingEvent["k"]>({ events }: Recording, kind: K) =>
  events.filter((event): event is Extract<RecordingEvent, { readonly k: K }> => event.k === kind);

test("a client and a server on a port are recorded, and replayed on a port", async (t) => {
  for (const era of ["modern", "legacy"] as const) {
    const [here, there] = [new Recording(), new Recording()];
    const server = harbour();
    const running = await serveHttp(there.server(server), { port: 0 });
    t.after(() => running.close());
    const headers = { authorization: "Bearer secret-token-1" };
    const client = await connect(...here.client(running.url, { era, headers }));
    const seen: number[] = [];
    const moored = await client.callTool(
      "moor",
      { ship: "Maria" },
      { onProgress: ({ progress }) => seen.push(progress) },
    );
    equal(moored.text, "Maria is moored");
    await client.close();
    const [open] = of(here, "open");
    deepEqual([open?.wire, open?.server?.url], ["http", running.url]);
    equal(of(here, "request")[0]?.path, "/mcp");
    equal(of(there, "request")[0]?.headers.authorization, "<bearer:1>");
    ok(!(here.text() + there.text()).includes("secret-token-1"));
    (await replayClient(here, running.url)).assertSame();

    const replay = await replayServer(here);
    const played = await serveHttp(replay, { port: 0 });
    t.after(() => played.close());
    const again = await connect(played.url, { era });
    const repeated: number[] = [];
    await again.callTool("moor", { ship: "Maria" }, { onProgress: ({ progress }) => repeated.push(progress) });
    await again.close();
    replay.assertDone();
    deepEqual(repeated, seen);
  }
});

test("a stream that was cut and resumed is cut and resumed again", async (t) => {
  const server = new McpServer({ name: "buoy", version: "1.0.0" }, { http: { resumable: true } }).tool(
    "drift",
    async (_args, ctx) => {
      for (let mile = 1; mile <= 3; mile++) await ctx.progress(mile);
      return "ashore";
    },
  );
  t.after(() => server.close());
  const options = { era: "legacy", reconnect: { minDelayMs: 1, firstDelayMs: 1 } } as const;
  const drift = async (client: Client): Promise<readonly number[]> => {
    const miles: number[] = [];
    const result = await client.callTool("drift", {}, { onProgress: ({ progress }) => miles.push(progress) });
    equal(result.text, "ashore");
    await client.close();
    return miles;
  };
  let isCut = false;
  const fetch = withFetchFaults(fetchInto(server), {
    fate: ({ body }) => {
      if (isCut || !body?.includes('"drift"')) return "pass";
      isCut = true;
      return { cutAfterEvents: 3 };
    },
  });
  const recording = new Recording();
  const seen = await drift(await connect(...recording.client(HTTP_URL, { ...options, fetch })));
  ok(of(recording, "end").some(({ by }) => by === "lost"));
  ok(of(recording, "request").some(({ headers }) => headers["last-event-id"] !== undefined));
  const replay = await replayServer(recording);
  deepEqual(await drift(await connect(HTTP_URL, { ...options, fetch: fetchInto(replay) })), seen);
  replay.assertDone();
});

test("a server process is recorded with what it writes to stderr, and its end", async () => {
  const recording = new Recording();
  const channel = createStdioClientChannel({ ...child("exit-three"), stderr: "pipe" });
  await rejects(connect(...recording.client({ channel })), { name: "ConnectionError" });
  equal(of(recording, "open")[0]?.wire, "stdio");
  match(of(recording, "close")[0]?.error ?? "", /exit|code 3/);
});
