import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, it } from "node:test";
import { type Client, connect } from "bowline/client";
import { Recording, withFetchFaults } from "bowline/testing";
import { parseRecording, RecordingError } from "#src/recording/reader.js";
import { type Span, spansOf } from "#src/recording/spans.js";
import { fetchInto, HTTP_URL, harbour, RECORDED_WIRES } from "../../support/recorded-wires.js";
import { mutate, Seeded } from "../../support/seeded.js";

async function useHarbour(client: Client): Promise<void> {
  await client.callTool("moor", { ship: "Maria" }, { onProgress: () => {} });
  await client.callTool("cast-off", { berth: "n1" });
  await client.callTool("run-aground");
  const aborter = new AbortController();
  const onProgress = () => aborter.abort();
  await client.callTool("sound-the-horn", {}, { signal: aborter.signal, onProgress }).catch(() => {});
}

const onElicit = () => ({ action: "accept" as const, content: { sure: true } });
const spansIn = (recording: Recording) => spansOf(parseRecording(recording.text()).events);
const named = (spans: readonly Span[], name: string) => spans.find((span) => span.name === name) as Span;
const kindsOf = ({ marks }: Span) => marks.map(({ kind, text }) => [kind, text]);

for (const wire of RECORDED_WIRES)
  it(`spans of a recording over ${wire.name} are calls as a caller sees them`, async (t) => {
    const server = harbour();
    t.after(() => server.close());
    const recording = new Recording();
    const client = await wire.connect(server, recording, { onElicit });
    await useHarbour(client);
    await client.close();
    const spans = spansIn(recording);
    const calls = spans.filter(({ lane }) => lane === "calls");
    deepEqual(
      calls.map(({ name, state }) => [name, state]),
      [
        ["moor", "ok"],
        ["cast-off", "ok"],
        ["run-aground", "error"],
        ["sound-the-horn", "cancelled"],
      ],
    );
    deepEqual(
      kindsOf(named(spans, "moor")),
      [1, 2, 3].map((line) => ["progress", `line ${line} of Maria`]),
    );
    const castOff = named(spans, "cast-off");
    equal(castOff.rounds.length, wire.era === "modern" ? 2 : 1);
    deepEqual(kindsOf(castOff)[0], ["question", "Let go from n1?"]);
    ok(castOff.from < castOff.to && castOff.lines.length >= 3 && castOff.size > 100);
    ok(kindsOf(named(spans, "sound-the-horn")).some(([kind]) => kind === "cancel"));
    equal(named(spans, "sound-the-horn").error?.code, "AbortError");
    equal(named(spans, "moor").error, undefined);
    ok(spans.some(({ lane }) => lane === "session") || wire.era === "modern");
  });

describe("spans", () => {
  it("of a lost answer have its outcome and the fault", async (t) => {
    const server = harbour();
    t.after(() => server.close());
    const recording = new Recording();
    const fetch = withFetchFaults(fetchInto(server), {
      fate: ({ body }) => (body?.includes('"moor"') ? { cutAfterEvents: 1 } : "pass"),
      onFault: (what) => recording.add({ k: "fault", what }),
    });
    const client = await connect(...recording.client(HTTP_URL, { era: "modern", fetch }));
    await client.callTool("moor", { ship: "Maria" }, { onProgress: () => {} }).catch(() => {});
    await client.close();
    const span = named(spansIn(recording), "moor");
    deepEqual([span.state, span.error?.delivery, span.error?.retrySafe], ["lost", "answer_lost", false]);
    deepEqual(
      kindsOf(span).map(([kind]) => kind),
      ["progress", "lost", "fault"].filter((kind) => kindsOf(span).some(([each]) => each === kind)),
    );
    ok(kindsOf(span).some(([kind, text]) => kind === "fault" && text === "cutAfterEvents"));
  });

  it("have the faults of their own connection", () => {
    const recording = new Recording();
    const [one, other] = ["one", "other"].map((name) => {
      const connection = recording.connection({ wire: "memory", role: "client" });
      connection.frame(">", JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name } }));
      return connection;
    });
    recording.add({ k: "fault", c: 1, what: "cut" });
    one?.close("cut");
    other?.close();
    const spans = spansIn(recording);
    const faultsOf = (name: string) => named(spans, name).marks.filter(({ kind }) => kind === "fault").length;
    deepEqual([faultsOf("one"), faultsOf("other")], [1, 0]);
  });

  it("have text of the process and steps of authorization in lanes of their own", () => {
    const recording = new Recording();
    const connection = recording.connection({ wire: "stdio", role: "tap" });
    connection.stderr("starting");
    connection.noise("listening");
    recording.add({ k: "auth", step: "metadata", url: "https://a.example/x", status: 200, us: 0 });
    recording.add({ k: "auth", step: "token", url: "https://a.example/token", status: 400 });
    deepEqual(
      spansIn(recording).map(({ lane, method, state }) => [lane, method, state]),
      [
        ["stderr", "starting", "ok"],
        ["stderr", "listening", "error"],
        ["auth", "metadata", "ok"],
        ["auth", "token", "error"],
      ],
    );
  });

  it("are derived from whatever a reader accepts", async (t) => {
    const server = harbour();
    t.after(() => server.close());
    const recording = new Recording();
    const client = await connect(...recording.client(server, { onElicit }));
    await useHarbour(client);
    await client.close();
    const text = recording.text();
    const random = new Seeded(99);
    let read = 0;
    for (let run = 0; run < 1_000; run++) {
      try {
        spansOf(parseRecording(mutate(text, random)).events);
        read++;
      } catch (error) {
        ok(error instanceof RecordingError, String(error));
      }
    }
    ok(read > 100, String(read));
  });
});
