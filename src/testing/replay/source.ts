import { DefinitionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import { parseRecording, type RecordingFile, readRecording } from "../../recording/reader.js";
import { Recording } from "../../recording/recording.js";

/** Recording to replay: the path of a file (Node), its text, what a reader returned, or a `Recording` of this process. */
export type ReplaySource = string | RecordingFile | Recording;

/** Reads what is replayed. */
export async function readSource(owner: string, source: ReplaySource): Promise<RecordingFile> {
  if (source instanceof Recording) return parseRecording(source.text());
  if (typeof source === "string")
    return source.startsWith("{") ? parseRecording(source) : readRecording(read(owner, source));
  if (isObject(source) && Array.isArray((source as Partial<RecordingFile>).events)) return source;
  throw new DefinitionError(`${owner} requires the path of a recording, its text, or a Recording`);
}

/**
 * Reads a file. Asks the runtime for its module of files, since bundlers for pages would look for one that is imported,
 * even where it is never loaded.
 */
function read(owner: string, path: string): AsyncIterable<Uint8Array> {
  const { process } = globalThis as { readonly process?: Pick<NodeJS.Process, "getBuiltinModule"> };
  const files = process?.getBuiltinModule?.("fs");
  if (files !== undefined) return files.createReadStream(path);
  throw new DefinitionError(`${owner}: this runtime has no files; pass the text of the recording instead of its path`);
}
