import type { Client } from "bowline/client";
import { Recording } from "bowline/testing";
import { Run } from "#src/page/model/run.js";
import { parseRecording } from "#src/recording/reader.js";
import type { Span } from "#src/recording/spans.js";
import { harbour, type RecordedWire } from "../../support/recorded-wires.js";

/** Reads a recording as the page does. */
export function runOf(recording: Recording | string, name = "test.rec.ndjson"): Run {
  const { header, events } = parseRecording(typeof recording === "string" ? recording : recording.text());
  return new Run(name, header, events);
}

/** Records what a client of a harbour does over a wire. */
export async function record(wire: RecordedWire, act: (client: Client) => Promise<unknown>): Promise<Run> {
  return (await recordText(wire, act)).run;
}

/** The same, with the text of the recording. */
export async function recordText(
  wire: RecordedWire,
  act: (client: Client) => Promise<unknown>,
): Promise<{ readonly run: Run; readonly text: string }> {
  const server = harbour();
  const recording = new Recording();
  const onElicit = () => ({ action: "accept" as const, content: { sure: true } });
  const client = await wire.connect(server, recording, { onElicit });
  try {
    await act(client);
  } finally {
    await client.close();
    await server.close();
  }
  return { run: runOf(recording), text: recording.text() };
}

export async function useHarbour(client: Client): Promise<void> {
  await client.listTools();
  await client.callTool("moor", { ship: "Maria" }, { onProgress: () => {} });
  await client.callTool("cast-off", { berth: "n1" });
  await client.callTool("run-aground");
  const aborter = new AbortController();
  const onProgress = () => aborter.abort();
  await client.callTool("sound-the-horn", {}, { signal: aborter.signal, onProgress }).catch(() => {});
}

export const named = (run: Run, name: string): Span => run.spans.find((span) => span.name === name) as Span;
