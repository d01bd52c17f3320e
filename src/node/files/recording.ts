import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { DefinitionError, McpError } from "../../protocol/errors.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import type { RecordingSink } from "../../recording/writer.js";

/** Options of {@link recordingFile}. */
export interface RecordingFileOptions {
  /**
   * True to replace a file that exists.
   * @default false
   */
  readonly overwrite?: boolean | undefined;
}

const OPTIONS: Known<RecordingFileOptions> = { overwrite: "boolean" };

/**
 * Returns a file as the destination of a `Recording`. It is created with the first line, and only its owner can read it.
 * While it is written, a file beside it (`.lock`) keeps other writers away.
 *
 * @example
 * ```ts
 * const recording = new Recording({ to: recordingFile("cast-off.rec.ndjson") });
 * ```
 */
export function recordingFile(path: string, options: RecordingFileOptions = {}): RecordingSink {
  assertOptions({ recordingFile }, options, OPTIONS);
  if (typeof path !== "string" || path === "")
    throw new DefinitionError('recordingFile needs the path of a file, as in recordingFile("bug.rec.ndjson")');
  const lock = `${path}.lock`;
  let file: FileHandle | undefined;
  let isLocked = false;
  const begin = async (): Promise<FileHandle> => {
    await mkdir(dirname(path), { recursive: true });
    await acquire(lock, path);
    isLocked = true;
    try {
      return await open(path, options.overwrite === true ? "w" : "wx", 0o600);
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
      throw new McpError("recording_exists", `${path} exists: choose another name, or pass overwrite: true`, {
        cause: error,
      });
    }
  };
  return {
    write: async (lines) => {
      file ??= await begin();
      await file.appendFile(lines);
    },
    close: async () => {
      await file?.close();
      if (isLocked) await rm(lock, { force: true });
    },
  };
}

/** Creates the lock file. That of a process which has ended is replaced. */
async function acquire(lock: string, path: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      const file = await open(lock, "wx", 0o600);
      await file.writeFile(String(process.pid));
      await file.close();
      return;
    } catch (error) {
      if (!isCode(error, "EEXIST")) throw error;
      const pid = Number(await readFile(lock, "utf8").catch(() => ""));
      if (attempt > 0 || isRunning(pid))
        throw new McpError(
          "recording_locked",
          `${path} is being written by process ${pid}: wait for it, or delete ${lock}`,
          {
            cause: error,
          },
        );
      await rm(lock, { force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === code;
}

/** Reads a recording piece by piece. */
export function readLines(path: string): AsyncIterable<Uint8Array> {
  return createReadStream(path);
}
