import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { recordingFile } from "../../node/files/recording.js";
import { McpError } from "../../protocol/errors.js";
import { Recording } from "../../recording/recording.js";
import type { RedactionOptions } from "../../recording/redactor.js";
import type { RecordingSink } from "../../recording/writer.js";
import { UsageError } from "../failures.js";
import type { Io } from "../io.js";
import { bowlineVersion } from "../package.js";

/** Size at which a recording ends, unless the command line names another. The traffic goes on. */
export const MAX_RECORDING_BYTES = 256_000_000;

interface Destination {
  readonly overwrite: boolean;
  readonly redaction: RedactionOptions;
  readonly maxBytes?: number | undefined;
}

/** Creates a recording in a file, whose first line is written when this resolves. A file that exists is kept, unless told. */
export async function createRecording(name: string, destination: Destination, io: Io): Promise<Recording> {
  const { overwrite, redaction, maxBytes = MAX_RECORDING_BYTES } = destination;
  const path = resolve(io.cwd, name);
  if (!overwrite && (await exists(path)))
    throw new UsageError(`${name} exists: choose another name, or pass --overwrite`);
  const { sink, opened } = bounded(recordingFile(path, { overwrite }), maxBytes, () => {
    recording.note(`The recording ended at its limit of ${maxBytes} bytes.`);
    // The caller closes it again, and gets the error.
    recording.close().catch(() => {});
  });
  // The lines are read from the file. None are kept beside it.
  const recording = new Recording({
    to: sink,
    redaction,
    by: `bowline ${bowlineVersion()}`,
    limits: { maxKeptLines: 1 },
  });
  try {
    await opened;
  } catch (error) {
    await recording.close().catch(() => {});
    throw problemOf(name, error);
  }
  return recording;
}

/** Returns the mistake of the command line that an error of the file is. */
export function problemOf(name: string, error: unknown): UsageError {
  const { code } = error as NodeJS.ErrnoException;
  return new UsageError(error instanceof McpError ? error.message : `${name} cannot be written (${code ?? error})`);
}

/** Tells how many values were replaced, by kind: `3 values replaced: 1 bearer, 2 env`. */
export function redactedText(redacted: { readonly [kind: string]: number }): string {
  const kinds = Object.entries(redacted).sort(([one], [two]) => (one < two ? -1 : 1));
  const count = kinds.reduce((sum, [, number]) => sum + number, 0);
  if (count === 0) return "no value was replaced";
  const told = kinds.map(([kind, number]) => `${number} ${kind}`).join(", ");
  return `${count} ${count === 1 ? "value" : "values"} replaced: ${told}`;
}

function bounded(
  inner: RecordingSink,
  maxBytes: number,
  onFull: () => void,
): { readonly sink: RecordingSink; readonly opened: Promise<void> } {
  let size = 0;
  let tell: { readonly ready: () => void; readonly fail: (error: unknown) => void } | undefined;
  const opened = new Promise<void>((ready, fail) => {
    tell = { ready, fail };
  });
  const write = async (lines: string) => {
    try {
      await inner.write(lines);
    } catch (error) {
      tell?.fail(error);
      throw error;
    }
    tell?.ready();
    size += Buffer.byteLength(lines);
    if (size > maxBytes) onFull();
  };
  return { sink: { write, close: inner.close }, opened };
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );
}
