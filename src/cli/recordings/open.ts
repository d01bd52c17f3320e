import { rename, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { readLines } from "../../node/files/recording.js";
import { RecordingError, type RecordingFile, readRecording } from "../../recording/reader.js";
import { CommandError, EXIT, UsageError } from "../failures.js";
import type { Io } from "../io.js";

/** Reads a recording. A file that is missing or damaged is a mistake of the command line. */
export async function openRecording(name: string, io: Io): Promise<RecordingFile> {
  try {
    return await readRecording(readLines(resolve(io.cwd, name)));
  } catch (error) {
    if (error instanceof RecordingError)
      throw new CommandError(
        EXIT.usage,
        error.code,
        error.message.replace(/^Recording/, () => name),
      );
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new UsageError(code === "ENOENT" ? `there is no file ${name}` : `${name} cannot be read (${code})`);
  }
}

/** Replaces the text of a recording. A reader sees either the old or the new one. */
export async function replaceRecording(name: string, text: string, io: Io): Promise<void> {
  const path = resolve(io.cwd, name);
  const draft = `${path}.${process.pid}`;
  try {
    await writeFile(draft, text, { mode: 0o600 });
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw new UsageError(`${name} cannot be written (${(error as NodeJS.ErrnoException).code ?? error})`);
  }
}
