import type { AnyMessage } from "../../recording/messages.js";
import type { RecordingFile } from "../../recording/reader.js";
import { lineOf } from "../../recording/writer.js";

/** Returns the text of a recording with other results, by the lines of the recorded ones. */
export function withResults({ header, events }: RecordingFile, results: ReadonlyMap<number, AnyMessage>): string {
  let text = `${JSON.stringify(header)}\n`;
  let lines = 1;
  for (const { line, ...event } of events) {
    const result = results.get(line);
    if (event.k === "frame" && result !== undefined) {
      const { raw: _, ...frame } = event;
      text += `${lineOf({ ...frame, m: result })}\n`;
    } else if (event.k === "done") {
      text += `${lineOf({ ...event, lines, bytes: new TextEncoder().encode(text).length })}\n`;
    } else text += `${lineOf(event)}\n`;
    lines++;
  }
  return text;
}
