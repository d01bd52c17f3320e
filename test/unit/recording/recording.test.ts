import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { EventEmitter } from "node:events";
import { describe, it } from "node:test";
import { type Client, connect } from "bowline/client";
import { jsonSchemaValidator } from "bowline/json-schema";
import { FakeClock, Recording } from "bowline/testing";
import type { Channel, ChannelEvents } from "#src/protocol/jsonrpc/channel.js";
import type { FrameEvent, RecordingEvent } from "#src/recording/events.js";
import { parseRecording } from "#src/recording/reader.js";
import { recordingSchema } from "#src/recording/shapes.js";
import { fetchInto, HTTP_URL, harbour, RECORDED_WIRES } from "../../support/recorded-wires.js";

const of = <K extends RecordingEvent["k"]>(events: readonly RecordingEvent[], kind: K) =>
  events.filter((event): event is Extract<RecordingEvent, { readonly k: K }> => event.k === kind);

/** Makes one call of each kind. */
async function useHarbour(client: Client): Promise<void> {
  await client.callTool("moor", { ship: "Maria" }, { onProgress: () => {} });
  await client.callTool("cast-off", { berth: "n1" });
  await client.callTool("run-aground");
  const aborter = new AbortController();
  const horn = client.callTool("sound-the-horn", {}, { signal: aborter.signal, onProgress: () => aborter.abort() });
  await horn.catch(() => {});
  await client.readResource("berth://n1");
}

const check = jsonSchemaValidator().compile(recordingSchema());

for (const wire of RECORDED_WIRES)
  describe(`recording of a client over ${wire.name}`, () => {
    it("has what passed, in lines that a reader accepts", async (t) => {
      const server = harbour();
      t.after(() => server.close());
      const recording = new Recording({ by: "test 1" });
      const answer = () => ({ action: "accept" as const, content: { sure: true } });
      const client = await wire.connect(server, recording, { onElicit: answer });
      await useHarbour(client);
      await client.close();
      await recording.close();

      const { header, events, complete } = parseRecording(recording.text());
      deepEqual([header.by, complete], ["test 1", true]);
      for (const line of recording.text().trim().split("\n")) deepEqual(check(JSON.parse(line)), [], line);
      const [open] = of(events, "open");
      deepEqual([open?.role, open?.wire], ["client", wire.isHttp ? "http" : "custom"]);
      const frames = of(events, "frame").map(({ d, m }) => ({ d, m: m as Record<string, unknown> }));
      const calls = frames.filter(({ d, m }) => d === ">" && m.method === "tools/call");
      equal(calls.length, wire.era === "modern" ? 5 : 4);
      const progress = frames.filter(({ m }) => m.method === "notifications/progress");
      deepEqual(
        progress.map(({ d, m }) => [d, (m.params as { progress: number }).progress]),
        [1, 2, 3, 1].map((each) => ["<", each]),
      );
      deepEqual(
        of(events, "ask").map(({ n, method, params }) => [n, method, (params as { message: string }).message]),
        [[1, "elicitation/create", "Let go from n1?"]],
      );
      deepEqual(
        of(events, "answer").map(({ n, result }) => [n, result]),
        [[1, answer()]],
      );
      deepEqual(
        of(events, "outcome").map(({ name, error }) => [name, error?.code]),
        [
          ["moor", undefined],
          ["cast-off", undefined],
          ["run-aground", undefined],
          ["sound-the-horn", "AbortError"],
          ["berth://n1", undefined],
        ],
      );
      ok(events.every(({ t }, at) => at === 0 || t >= (events[at - 1]?.t ?? 0)));
      if (!wire.isHttp) return;
      const requests = of(events, "request");
      deepEqual([...new Set(requests.map(({ path }) => path))], ["/mcp"]);
      for (const { x } of requests) equal(events.filter((event) => event.k === "end" && event.x === x).length, 1);
      ok(requests.every(({ headers }) => headers["content-length"] === undefined));
    });
  });

describe("recording", () => {
  it("of a server has the same messages as that of its client", async (t) => {
    const server = harbour();
    t.after(() => server.close());
    for (const era of ["modern", "legacy"] as const) {
      const [there, here] = [new Recording(), new Recording()];
      const recorded = there.server(server);
      const client = await connect(...here.client(HTTP_URL, { era, fetch: fetchInto(recorded) }));
      equal((await client.callTool("moor", { ship: "Maria" }, { onProgress: () => {} })).text, "Maria is moored");
      await client.close();
      const messages = ({ events }: Recording) => of(events, "frame").map(({ d, m }: FrameEvent) => [d, m]);
      deepEqual(messages(there), messages(here));
      equal(of(there.events, "open")[0]?.role, "server");
      deepEqual(
        of(there.events, "response").map(({ status }) => status),
        of(here.events, "response").map(({ status }) => status),
      );
    }
  });

  it("of a server in this process keeps its types, and records its channels", async () => {
    const recording = new Recording();
    const client = await connect(recording.server(harbour()));
    equal((await client.callTool("moor", { ship: "Maria" })).text, "Maria is moored");
    await client.close();
    deepEqual(
      of(recording.events, "open").map(({ role }) => role),
      ["server"],
    );
    ok(of(recording.events, "frame").length > 2);
    equal(of(recording.events, "close").length, 1);
  });

  it("tells text that is no message from frames, and keeps text that is written differently", () => {
    const recording = new Recording();
    const connection = recording.connection({ wire: "stdio", role: "tap", server: { command: "node" } });
    connection.frame("<", "Server is listening");
    connection.frame("<", '{ "jsonrpc": "2.0" }');
    connection.frame("<", '{"jsonrpc":"2.0"}');
    connection.frame("<", "7");
    deepEqual(
      recording.events.slice(1).map(({ t: _, ...event }) => event),
      [
        { k: "noise", c: 1, text: "Server is listening" },
        { k: "frame", c: 1, d: "<", raw: '{ "jsonrpc": "2.0" }' },
        { k: "frame", c: 1, d: "<", m: { jsonrpc: "2.0" } },
        { k: "noise", c: 1, text: "7" },
      ],
    );
  });

  it("finds secrets that a process writes to stderr in pieces", async () => {
    const recording = new Recording();
    const stderr = new EventEmitter();
    let events: ChannelEvents | undefined;
    const open = (given: ChannelEvents) => {
      events = given;
    };
    const inner = { stderr, open, send: () => {}, close: () => {} };
    await recording.channel(inner as unknown as Channel).open({ onFrame() {}, onProblem() {}, onClose() {} });
    const whole = "ready\nkey ghp_abcdefghijklmnopqrstuvwxyz0123456789 ü\n-----BEGIN PRIVATE KEY-----\nMIIEvQIB\n";
    const bytes = Buffer.from(`${whole}ADANBgkq\n-----END PRIVATE KEY-----\n${"x".repeat(100_000)}no end`);
    for (let at = 0; at < bytes.length; at += 7) stderr.emit("data", bytes.subarray(at, at + 7));
    events?.onClose(undefined);
    stderr.emit("data", "late");
    const pieces = of(recording.events, "stderr").map(({ text }) => text);
    const text = pieces.join("");
    equal(text.replaceAll("x", ""), "ready\nkey <key:1> ü\n<pem:1>\nno endlate");
    ok(pieces.every((piece) => piece.length < 70_000));
    deepEqual(
      recording.events.slice(-3).map(({ k }) => k),
      ["stderr", "close", "stderr"],
    );
  });

  it("takes its times from the clock, in microseconds", () => {
    const clock = new FakeClock();
    clock.advance(5);
    const recording = new Recording({ clock });
    recording.note("a");
    clock.advance(1.5);
    recording.note("b");
    deepEqual(
      recording.events.map(({ t }) => t),
      [0, 1500],
    );
    match(recording.header.at, /^2027-/);
  });

  it("has ids, reconnection times and comments of event streams, however they are cut", () => {
    const text = ': hello\n\nid: p1\nretry: 500\ndata: {"a":1}\n\n: beat\n\nid: p2\nevent: x\ndata: no JSON\n\n';
    for (const size of [1, 5, text.length]) {
      const recording = new Recording({ clock: new FakeClock(), redaction: false });
      const exchange = recording.connection({ wire: "http", role: "tap" }).exchange("GET", "/mcp", {});
      exchange.response(200, { "content-type": "text/event-stream; charset=utf-8" });
      for (let at = 0; at < text.length; at += size) exchange.push(text.slice(at, at + size));
      exchange.end("lost", "reset");
      exchange.end("server");
      deepEqual(
        of(recording.events, "frame").map(({ t: _, k: __, c: ___, x: ____, d: _____, ...rest }) => rest),
        [
          { id: "p1", retry: 500, m: { a: 1 } },
          { id: "p2", event: "x", raw: "no JSON" },
        ],
      );
      equal(
        of(recording.events, "comment").reduce((sum, { count }) => sum + count, 0),
        2,
      );
      deepEqual(
        of(recording.events, "end").map(({ by, error }) => [by, error]),
        [["lost", "reset"]],
      );
    }
  });

  it("keeps the newest lines, and tells how many are missing", async () => {
    const recording = new Recording({ limits: { maxKeptLines: 10 } });
    for (let n = 0; n < 100; n++) recording.note(`number ${n}`);
    deepEqual([recording.events.length, (recording.events[9] as { text?: string }).text], [10, "number 99"]);
    const [gap] = parseRecording(recording.text()).events;
    deepEqual(gap?.k === "gap" && gap.lines, 90);
    const small = new Recording({ limits: { maxKeptBytes: 10_000 } });
    for (let n = 0; n < 100; n++) small.note("x".repeat(1000));
    ok(small.events.length >= 8 && small.events.length <= 10, String(small.events.length));
  });

  it("adds nothing after it was closed, and tells listeners until they leave", async () => {
    const recording = new Recording();
    const heard: string[] = [];
    const leave = recording.subscribe(({ k }) => heard.push(k));
    recording.note("a");
    leave();
    recording.note("b");
    await recording.close();
    recording.note("c");
    deepEqual([heard, recording.events.map(({ k }) => k)], [["note"], ["note", "note", "done"]]);
  });

  it("has the steps of authorization, without bodies and codes", async () => {
    const recording = new Recording({ clock: new FakeClock() });
    const fetch = recording.authFetch(async ({ pathname }) => {
      if (pathname === "/down") throw new TypeError("fetch failed");
      return new Response("{}", { status: pathname === "/token" ? 400 : 200 });
    });
    const at = (path: string) => new URL(path, "https://login.example");
    await fetch(at("/.well-known/oauth-protected-resource/mcp"), {});
    await fetch(at("/t1/.well-known/openid-configuration"), {});
    await fetch(at("/register"), { method: "POST", body: "{}" });
    await fetch(at("/token"), { method: "POST", body: "grant_type=authorization_code&code=c0de-4711" });
    await rejects(fetch(at("/down?code=c0de-4711"), {}), /fetch failed/);
    deepEqual(
      of(recording.events, "auth").map(({ step, url, status, error }) => [
        step,
        url.replace(/^.*example/, ""),
        status,
        error,
      ]),
      [
        ["resource metadata", "/.well-known/oauth-protected-resource/mcp", 200, undefined],
        ["server metadata", "/t1/.well-known/openid-configuration", 200, undefined],
        ["registration", "/register", 200, undefined],
        ["token", "/token", 400, undefined],
        ["request", "/down?code=<code:1>", undefined, "fetch failed"],
      ],
    );
    ok(!recording.text().includes("c0de-4711"));
  });
});
