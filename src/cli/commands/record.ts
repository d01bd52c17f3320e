import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { CommandContext } from "../context.js";
import { EXIT, UsageError } from "../failures.js";
import { listOf, portOf, sizeOf, textValue } from "../parse.js";
import { createRecording, problemOf, redactedText } from "../recordings/destination.js";
import { leftoversOf } from "../recordings/leftovers.js";
import { openRecording } from "../recordings/open.js";
import { secretVariables } from "../recordings/secret-variables.js";
import { tapHttp } from "../recordings/tap-http.js";
import { tapProcess } from "../recordings/tap-process.js";
import { visibleLine } from "../text.js";

/** Records the traffic between a host and a server, or checks what recordings still have. */
export async function record(context: CommandContext): Promise<void> {
  const { line, values, io, screen } = context;
  const [name = "", ...more] = line.names;
  const http = textValue("http", values);
  if (values.check === true) {
    if (line.program !== undefined || http !== undefined) throw new UsageError("--check is for recordings alone");
    return check(line.names, context);
  }
  if (more[0] !== undefined) throw new UsageError(`unexpected argument ${JSON.stringify(more[0])}`);
  if ((line.program === undefined) === (http === undefined))
    throw new UsageError("bowline record needs what to record: either -- and a command, or --http and a URL");
  const target = http === undefined ? undefined : urlOf(http);
  const given = textValue("port", values);
  if (given !== undefined && target === undefined) throw new UsageError("--port is for --http");
  const port = given === undefined ? 0 : portOf("port", given);
  const bodies = textValue("bodies", values);
  if (bodies !== undefined && target === undefined) throw new UsageError("--bodies is for --http");
  const redaction = {
    ...(values.redact !== undefined && { redact: listOf("redact", values) }),
    ...(values.keep !== undefined && { keep: listOf("keep", values) }),
    values: secretVariables(io.env),
  };
  const maxBytes = sizeOf("max", values);
  const recording = await createRecording(name, { overwrite: values.overwrite === true, redaction, maxBytes }, io);
  try {
    if (target === undefined) context.exit = await tapProcess(line.program ?? [], recording, io);
    else await tapHttp({ target, port, hasForms: bodies === "auth" }, recording, io, (url) => screen.line(url));
  } finally {
    await recording.close().catch((error: unknown) => {
      screen.error(`bowline: ${visibleLine(problemOf(name, error).message)}`);
      context.exit ||= EXIT.usage;
    });
    // A host that reads stderr gets that of the server alone.
    if (target !== undefined || io.stderr.isTTY === true)
      screen.note(`recorded in ${visibleLine(name)}; ${redactedText(recording.redacted)}`);
  }
}

function urlOf(text: string): URL {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return new URL(text);
  throw new UsageError(`--http must be a URL with http:// or https://, got ${JSON.stringify(text)}`);
}

/** Reports what looks secret in recordings, by its place. The value itself is not shown. */
async function check(names: readonly string[], context: CommandContext): Promise<void> {
  const { io, screen, values } = context;
  const files = (await Promise.all(names.map((name) => recordingsIn(name, io.cwd)))).flat();
  if (files.length === 0) throw new UsageError("there are no recordings (*.rec.ndjson) to check");
  let count = 0;
  for (const file of files) {
    for (const { line, path, kind } of leftoversOf(await openRecording(file, io), listOf("keep", values))) {
      screen.line(`${visibleLine(file)}:${line} ${visibleLine(path)} looks secret (${kind})`);
      count++;
    }
  }
  if (count > 0) context.exit = EXIT.checkFailed;
  else screen.line(`nothing looks secret in ${files.length} ${files.length === 1 ? "recording" : "recordings"}`);
}

/** Returns a file, or the recordings of a folder and the folders in it. */
async function recordingsIn(name: string, cwd: string): Promise<readonly string[]> {
  try {
    const found = await readdir(resolve(cwd, name), { recursive: true });
    return found
      .filter((file) => file.endsWith(".rec.ndjson"))
      .sort()
      .map((file) => join(name, file));
  } catch {
    // `openRecording` reports a file that does not exist.
    return [name];
  }
}
