import { PassThrough, type Readable } from "node:stream";
import { settlesWithin } from "../../call/abortable.js";
import { COMMAND_LIMITS, type CommandLimits } from "../../client/command-limits.js";
import { ConnectionError, endOf, McpError, ProtocolError } from "../../protocol/errors.js";
import type { Channel, ChannelEvents } from "../../protocol/jsonrpc/channel.js";
import { LineDecoder } from "../../protocol/jsonrpc/lines.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import { oneLine } from "../../protocol/text.js";
import { STDIO_TIMES } from "../limits.js";
import { lastWordsOf, likelyCauseOf, StderrTail } from "../process/diagnosis.js";
import type { ServerProcess, ServerProcessOptions, StopTimes } from "../process/server-process.js";
import { FrameWriter, refusal, tooFarBehind } from "./frame-writer.js";

/**
 * Options of {@link createStdioClientChannel}. The command is started without a shell. `env` is added to
 * `defaultEnvironment()`.
 */
export interface StdioClientOptions extends ServerProcessOptions {
  /**
   * Destination of the server's stderr. `inherit` copies it to stderr of this process, `pipe` to `stderr` of the
   * channel. A function receives each line. `ignore` discards it unread.
   * @default "inherit"
   */
  readonly stderr?: ("inherit" | "pipe" | "ignore" | ((line: string) => void)) | undefined;
  /** Limits on what the server can make this process hold. Each limit has a default. */
  readonly limits?: Optional<CommandLimits> | undefined;
  /**
   * Times that `close` waits after the end of the server's input, and after SIGTERM.
   * @default 2000 each
   */
  readonly shutdown?: Optional<StopTimes> | undefined;
}

const OPTIONS: Known<StdioClientOptions> = {
  command: [{ string: "any" }, "required"],
  args: [{ array: "string" }],
  env: "object",
  cwd: "string",
  stderr: [{ string: ["inherit", "pipe", "ignore"], function: "any" }],
  limits: COMMAND_LIMITS,
  shutdown: { stdinMs: "ms", termMs: "ms" },
};

/** Channel to a server process. */
export interface StdioClientChannel extends Channel {
  /** Process id while the process runs. */
  readonly pid: number | undefined;
  /** Output of the server to its stderr, with `stderr: "pipe"`. */
  readonly stderr: Readable | undefined;
  /** Last lines that the server wrote to its stderr, unless it is ignored. */
  readonly stderrTail: readonly string[];
}

/** Time for a server whose output has ended to exit, so that the error can contain its exit code and last output. */
const LAST_WORDS_MS = 250;

/**
 * Creates a channel over stdin and stdout of a server process.
 *
 * `open` starts the process. It rejects with a `ConnectionError` if the process cannot be started; no `onClose` follows
 * then. If the process exits unexpectedly, `onClose` receives a `ConnectionError` with its exit code or signal and its
 * last lines on stderr. A process that only closes its output counts as lost too, and is ended. `close` ends the
 * server's input, and terminates the process and its descendants if that does not suffice. It resolves when they are
 * gone.
 */
export function createStdioClientChannel(options: StdioClientOptions): StdioClientChannel {
  assertOptions({ createStdioClientChannel }, options, OPTIONS);
  return new StdioClientChannelImpl(options);
}

/**
 * Cause of the end of a channel: this side closed it, or the server ended. `sign` describes the first observation of
 * that.
 */
type Ending =
  | { readonly by: "us" }
  | { readonly by: "server"; readonly sign: string; readonly cause: Error | undefined };

/** Started server and its connection to the owner of the channel. */
interface Link {
  readonly server: ServerProcess;
  readonly events: ChannelEvents;
  readonly writer: FrameWriter;
  readonly decoder: LineDecoder;
  /** Resolves when no more output of the server can arrive. */
  readonly silent: Promise<void>;
  /** True if the owner has been notified of the end. */
  told: boolean;
}

class StdioClientChannelImpl implements StdioClientChannel {
  readonly #options: StdioClientOptions;
  readonly #limits: CommandLimits;
  readonly #tail: StderrTail;
  readonly #stderr: PassThrough | undefined;
  #opening: Promise<ServerProcess> | undefined;
  #link: Link | undefined;
  #closing: Promise<void> | undefined;
  /** Error of a server that ended unexpectedly, once its cause is known. Undefined unless that happened. */
  #loss: Promise<ConnectionError> | undefined;
  #spoke = false;

  constructor(options: StdioClientOptions) {
    this.#options = options;
    this.#limits = withDefaults(options.limits, COMMAND_LIMITS);
    const { maxStderrLines: maxLines, maxStderrChars: maxChars } = this.#limits;
    this.#tail = new StderrTail(
      { maxLines, maxChars },
      typeof options.stderr === "function" ? options.stderr : undefined,
    );
    this.#stderr = options.stderr === "pipe" ? new PassThrough() : undefined;
  }

  get pid(): number | undefined {
    const server = this.#link?.server;
    return server?.exit === undefined ? server?.pid : undefined;
  }

  get stderr(): Readable | undefined {
    return this.#stderr;
  }

  get stderrTail(): readonly string[] {
    return this.#tail.lines;
  }

  async open(events: ChannelEvents): Promise<void> {
    if (this.#opening !== undefined) throw new McpError("already_open", "The stdio channel is already open");
    if (this.#closing !== undefined) throw new ConnectionError("The stdio channel is closed", { delivery: "not_sent" });
    this.#opening = start(this.#options, this.#options.stderr === "ignore" ? "ignore" : "pipe");
    this.#link = this.#attach(await this.#opening, events);
  }

  /** Sends a frame. If the server has ended, the frame is refused once the cause is known. */
  send(text: string): void | Promise<void> {
    if (this.#loss !== undefined) return refusal(this.#loss.then(notSent));
    if (this.#link !== undefined) return this.#write(this.#link.writer, text);
    return Promise.reject(
      new ConnectionError("The stdio channel is not open: the frame was not sent", { delivery: "not_sent" }),
    );
  }

  close(): Promise<void> {
    if (this.#closing !== undefined) return this.#closing;
    if (this.#link !== undefined) return this.#end(this.#link, { by: "us" });
    this.#closing = this.#closeUnopened();
    return this.#closing;
  }

  /** Closes a channel that is being opened. If the start fails, `open` reports it. */
  async #closeUnopened(): Promise<void> {
    const started = await this.#opening?.then(
      () => true,
      () => false,
    );
    if (started === true) await this.#finish(this.#link!, { by: "us" });
    else this.#stderr?.end();
  }

  #write(writer: FrameWriter, text: string): void | Promise<void> {
    const { maxBehindBytes } = this.#limits;
    const { waitingBytes } = writer;
    if (waitingBytes <= maxBehindBytes) return writer.send(text);
    return refusal(tooFarBehind("server", waitingBytes, maxBehindBytes));
  }

  #attach(server: ServerProcess, events: ChannelEvents): Link {
    const lost = (sign: string, cause?: Error) => {
      if (this.#closing === undefined) this.#end(link, { by: "server", sign, cause });
    };
    let fallSilent = () => {};
    const silent = new Promise<void>((resolve) => {
      fallSilent = resolve;
    });
    const lastHeard = (sign: string, cause?: Error) => {
      fallSilent();
      lost(sign, cause);
    };
    const writer = new FrameWriter(server.stdin, (cause) => lost("closed its input", cause));
    const decoder = new LineDecoder(
      {
        onLine: (line) => {
          this.#spoke ||= line.startsWith("{");
          if (!link.told) events.onFrame(line);
        },
        onProblem: (problem) => {
          if (!link.told) events.onProblem(problem);
        },
        onOverflow: (problem) => {
          if (!link.told) events.onProblem(problem);
          lastHeard("wrote a line that is too long", problem);
        },
      },
      this.#limits,
    );
    const link: Link = { server, events, writer, decoder, silent, told: false };
    server.stdout.on("data", (chunk: Buffer) => decoder.push(chunk));
    server.stdout.on("end", () => lastHeard("closed its output"));
    server.stdout.on("error", (cause) => lastHeard("failed to write its output", cause));
    server.stderr?.on("data", (chunk: Buffer) => this.#takeStderr(chunk));
    server.stderr?.on("error", () => {});
    server.exited.then(() => lastHeard("exited"));
    return link;
  }

  #takeStderr(chunk: Buffer): void {
    this.#tail.push(chunk);
    const { stderr = "inherit" } = this.#options;
    const { maxUnreadStderrBytes: most } = this.#limits;
    if (stderr === "inherit" && process.stderr.writableLength < most) process.stderr.write(chunk);
    const copy = this.#stderr;
    if (copy !== undefined && copy.readableLength + copy.writableLength < most) copy.write(chunk);
  }

  #end(link: Link, ending: Ending): Promise<void> {
    this.#closing = this.#finish(link, ending);
    return this.#closing;
  }

  /**
   * Ends the process. Its output is read to the end meanwhile, so that a server that blocks on a full pipe can exit.
   */
  async #finish(link: Link, ending: Ending): Promise<void> {
    const { stdinMs = STDIO_TIMES.stdinMs, termMs = STDIO_TIMES.termMs } = this.#options.shutdown ?? {};
    link.writer.shut();
    const stopped = link.server.stop({ stdinMs, termMs });
    if (ending.by === "server") {
      const known = Promise.race([stopped, link.silent.then(() => settlesWithin(link.server.gone, LAST_WORDS_MS))]);
      this.#loss = known.then(() => this.#lossOf(link.server, ending));
      this.#tell(link, await this.#loss);
    }
    await stopped;
    this.#tell(link, undefined);
    this.#tail.end();
    this.#stderr?.end();
  }

  #tell(link: Link, reason: Error | undefined): void {
    if (link.told) return;
    link.writer.detach(reason);
    link.decoder.end();
    link.told = true;
    link.events.onClose(reason);
  }

  #lossOf(server: ServerProcess, ending: Ending & { by: "server" }): ConnectionError {
    const { command } = this.#options;
    const stderr = this.#tail.lines;
    const exitCode = server.exit?.code ?? null;
    const exitSignal = server.exit?.signal ?? null;
    const spoke = this.#spoke;
    const isOurs = server.forced || ending.cause instanceof ProtocolError;
    const likelyCause = isOurs ? undefined : likelyCauseOf({ exitCode, exitSignal, stderr, spoke });
    const lastWords = lastWordsOf(stderr);
    const message = [
      `The server process "${command}" ${describeEnd(server, ending)}`,
      ...(likelyCause === undefined ? [] : [`probably ${likelyCause}`]),
      ...(lastWords === undefined ? [] : [`it wrote to stderr: ${oneLine(lastWords, 200)}`]),
    ].join("; ");
    const details = { exitCode, exitSignal, stderr, command, likelyCause };
    // A pipe that broke since the process has exited says nothing more.
    const cause = server.exit === undefined || isOurs ? ending.cause : undefined;
    return new ConnectionError(message, {
      ...(cause === undefined ? {} : { cause }),
      delivery: "sent",
      ...details,
    });
  }
}

/** Loads the code with the first process, so that importing `bowline/node` does not load `node:child_process`. */
async function start(options: ServerProcessOptions, stderr: "pipe" | "ignore"): Promise<ServerProcess> {
  const { startServerProcess } = await import("../process/server-process.js");
  return await startServerProcess(options, stderr);
}

function notSent(cause: ConnectionError): ConnectionError {
  return new ConnectionError(`${cause.message}: the frame was not sent`, {
    ...endOf(cause),
    delivery: "not_sent",
    cause,
  });
}

function describeEnd(server: ServerProcess, ending: Ending & { by: "server" }): string {
  // The exit that follows is not the cause of the end.
  if (ending.cause instanceof ProtocolError) return `${ending.sign} and is terminated: ${ending.cause.message}`;
  if (server.exit === undefined) return `${ending.sign} and is being terminated`;
  if (server.forced) return `${ending.sign} and was terminated`;
  if (server.exit.signal !== null) return `was terminated by ${server.exit.signal}`;
  return `exited with code ${server.exit.code}`;
}
