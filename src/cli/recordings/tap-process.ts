import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { settlesWithin } from "../../call/abortable.js";
import { type ServerProcess, startServerProcess } from "../../node/process/server-process.js";
import { LineDecoder } from "../../protocol/jsonrpc/lines.js";
import type { ConnectionRecorder } from "../../recording/connection.js";
import { RECORDING_LIMITS } from "../../recording/limits.js";
import type { Recording } from "../../recording/recording.js";
import { NotReached } from "../failures.js";
import { Interrupted, type Io } from "../io.js";

/** Time that a server has to end, after its input and after SIGTERM, when its host no longer reads. */
const HOST_GONE_MS = 2000;
/** Time between looks at the pipes of a server that has exited. A descendant may hold them open forever. */
const LEFTOVER_MS = 500;

/**
 * Stands between a host and a server process: passes bytes on unchanged in both directions, with stderr, the end of the
 * input and signals, and records copies. Resolves with the exit code of the server when its output is passed on.
 */
export async function tapProcess(program: readonly string[], recording: Recording, io: Io): Promise<number> {
  const [command = "", ...args] = program;
  const server = await startServerProcess({ command, args, env: io.env, cwd: io.cwd }, "pipe").catch((error) => {
    throw new NotReached(program.join(" "), error);
  });
  const connection = recording.connection({ wire: "stdio", role: "tap", server: { command, args } });
  passInput(io.stdin, server.stdin);
  const stderr = server.stderr!;
  passOutput(server.stdout, io.stdout);
  passOutput(stderr, io.stderr);
  // After the pipes, so that bytes are passed on before they are recorded.
  const copies = [copyLines(io.stdin, ">", connection), copyLines(server.stdout, "<", connection)];
  const decoder = new TextDecoder();
  stderr.on("data", (chunk: Uint8Array) => connection.stderr(decoder.decode(chunk, { stream: true })));
  const release = passSignals(server, io);
  await ended(server, io);
  release();
  io.stdin.destroy();
  for (const copy of copies) copy.end();
  const { code, signal } = server.exit!;
  connection.close(undefined, code ?? signal ?? undefined);
  return code ?? 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}

function passInput(input: Readable, output: Writable): void {
  input.pipe(output);
  // The server has closed its input: the host must learn it.
  output.on("error", () => input.destroy());
}

function passOutput(input: Readable, output: Writable): void {
  input.pipe(output, { end: false });
  // The server must not block on a pipe that nobody reads.
  output.once("error", () => input.unpipe(output).resume());
}

/** Records the lines of a stream, which others read. */
function copyLines(stream: Readable, d: ">" | "<", connection: ConnectionRecorder): LineDecoder {
  const skip = (problem: Error) => connection.skip(problem.message);
  const decoder = new LineDecoder(
    {
      onLine: (line) => connection.frame(d, line),
      onProblem: skip,
      onOverflow: (problem) => connection.skip(`nothing more of this direction is recorded: ${problem.message}`),
    },
    RECORDING_LIMITS,
  );
  stream.on("data", (chunk: Uint8Array | string) =>
    decoder.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk),
  );
  return decoder;
}

/** Passes signals on, which the server answers as it likes. A host that no longer reads ends it. */
function passSignals(server: ServerProcess, { signal }: Io): () => void {
  const pass = () => {
    const { reason } = signal as { readonly reason: unknown };
    if (!(reason instanceof Interrupted)) void server.stop({ stdinMs: HOST_GONE_MS, termMs: HOST_GONE_MS });
    else if (server.exit === undefined) process.kill(server.pid, reason.by);
  };
  if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  return () => signal.removeEventListener("abort", pass);
}

/** Resolves when the server has exited and its output is passed on, however slowly the host reads. */
async function ended(server: ServerProcess, { stdout, stderr }: Io): Promise<void> {
  await server.exited;
  const isBehind = () => stdout.writableNeedDrain || stderr.writableNeedDrain;
  for (let isOver = false; !isOver; ) isOver = (await settlesWithin(server.gone, LEFTOVER_MS)) || !isBehind();
  await server.stop({ stdinMs: LEFTOVER_MS, termMs: LEFTOVER_MS });
}
