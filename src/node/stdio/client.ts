import { PassThrough, type Readable } from "node:stream";
import { settlesWithin } from "../../call/abortable.js";
import { ConnectionError, endOf, McpError, ProtocolError } from "../../protocol/errors.js";
import type { Channel, ChannelEvents } from "../../protocol/jsonrpc/channel.js";
import { LineDecoder } from "../../protocol/jsonrpc/lines.js";
import { oneLine } from "../../protocol/text.js";
import { STDIO_LIMITS } from "../limits.js";
import { lastWordsOf, likelyCauseOf, StderrTail } from "../process/diagnosis.js";
import type { ServerProcess, ServerProcessOptions, StopTimes } from "../process/server-process.js";
import { FrameWriter, refusal, tooFarBehind } from "./frame-writer.js";

/** The program is started without a shell; `env` comes on top of `defaultEnvironment()`. */
export interface StdioClientOptions extends ServerProcessOptions {
  /**
   * What becomes of the server's standard error: `inherit` (unless given) copies it to that of this process, `pipe` to the
   * channel's `stderr`, a function gets each line, `ignore` discards it unread.
   */
  readonly stderr?: "inherit" | "pipe" | "ignore" | ((line: string) => void);
  /**
   * The longest line accepted, in bytes.
   * @default 32 MiB
   */
  readonly maxLineBytes?: number;
  /**
   * Frames are refused while more than this waits to be read by the server.
   * @default 256 MiB
   */
  readonly maxBehindBytes?: number;
  /**
   * How many of the last lines on the server's standard error are kept for errors.
   * @default 50
   */
  readonly maxStderrLines?: number;
  /**
   * How many characters these lines may have together. A longer line counts as several.
   * @default 8192
   */
  readonly maxStderrChars?: number;
  /**
   * With `inherit` and `pipe`: text is dropped while more than this waits to be read.
   * @default 1 MiB
   */
  readonly maxUnreadStderrBytes?: number;
  /**
   * How long `close` waits after the end of the server's input, and again after SIGTERM.
   * @default 2000 each
   */
  readonly shutdown?: Partial<StopTimes>;
}

export interface StdioClientChannel extends Channel {
  /** The process id while the process runs. */
  readonly pid: number | undefined;
  /** What the server writes to its standard error, with `stderr: "pipe"`. */
  readonly stderr: Readable | undefined;
  /** The last lines the server wrote to its standard error, unless that is ignored. */
  readonly stderrTail: readonly string[];
}

/** How long a server that is heard no more has to exit, so that the loss can be told with its exit code and last words. */
const LAST_WORDS_MS = 250;

/**
 * A server process and the channel over its standard input and output.
 *
 * `open` starts the process, and rejects with a `ConnectionError` when it cannot be started; then no `onClose` follows.
 * When the process goes away unasked, `onClose` gets a `ConnectionError` with its exit code or signal and its last lines
 * on stderr; a process that only closes its output is lost too, and is ended beside that. `close` ends the server's input,
 * and by force the process and its descendants if that does not suffice; it resolves when they are gone.
 */
export function createStdioClientChannel(options: StdioClientOptions): StdioClientChannel {
  return new StdioClientChannelImpl(options);
}

/** Why a channel ends: this side asked, or the server went away (with what was seen of it first). */
type Ending =
  | { readonly by: "us" }
  | { readonly by: "server"; readonly sign: string; readonly cause: Error | undefined };

/** A started server and what connects it to the channel's owner. */
interface Link {
  readonly server: ServerProcess;
  readonly events: ChannelEvents;
  readonly writer: FrameWriter;
  readonly decoder: LineDecoder;
  /** Resolves when nothing more can be heard from the server. */
  readonly silent: Promise<void>;
  /** Whether the owner has been told of the end. */
  told: boolean;
}

class StdioClientChannelImpl implements StdioClientChannel {
  readonly #options: StdioClientOptions;
  readonly #tail: StderrTail;
  readonly #stderr: PassThrough | undefined;
  #opening: Promise<ServerProcess> | undefined;
  #link: Link | undefined;
  #closing: Promise<void> | undefined;
  /** Why the server went away, once that is found out; undefined unless it did. */
  #loss: Promise<ConnectionError> | undefined;
  #spoke = false;

  constructor(options: StdioClientOptions) {
    this.#options = options;
    const maxLines = options.maxStderrLines ?? STDIO_LIMITS.maxStderrLines;
    const maxChars = options.maxStderrChars ?? STDIO_LIMITS.maxStderrChars;
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

  /** Where the server has gone, the frame waits to be refused with what there is to tell about that. */
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

  /** The start may be under way; where it fails, whoever opens hears of it. */
  async #closeUnopened(): Promise<void> {
    const started = await this.#opening?.then(
      () => true,
      () => false,
    );
    if (started === true) await this.#finish(this.#link!, { by: "us" });
    else this.#stderr?.end();
  }

  #write(writer: FrameWriter, text: string): void | Promise<void> {
    const { maxBehindBytes = STDIO_LIMITS.maxBehindBytes } = this.#options;
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
          this.#spoke = true;
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
      { maxLineBytes: this.#options.maxLineBytes ?? STDIO_LIMITS.maxLineBytes },
    );
    const link: Link = { server, events, writer, decoder, silent, told: false };
    server.stdout.on("data", (chunk: Buffer) => decoder.push(chunk));
    server.stdout.on("end", () => lastHeard("closed its output"));
    server.stdout.on("error", (cause) => lastHeard("broke its output", cause));
    server.stderr?.on("data", (chunk: Buffer) => this.#takeStderr(chunk));
    server.stderr?.on("error", () => {});
    server.exited.then(() => lastHeard("exited"));
    return link;
  }

  #takeStderr(chunk: Buffer): void {
    this.#tail.push(chunk);
    const { stderr = "inherit", maxUnreadStderrBytes: most = STDIO_LIMITS.maxUnreadStderrBytes } = this.#options;
    if (stderr === "inherit" && process.stderr.writableLength < most) process.stderr.write(chunk);
    const copy = this.#stderr;
    if (copy !== undefined && copy.readableLength + copy.writableLength < most) copy.write(chunk);
  }

  #end(link: Link, ending: Ending): Promise<void> {
    this.#closing = this.#finish(link, ending);
    return this.#closing;
  }

  /** Output is read to its end meanwhile, so that a server blocked on a full pipe can still exit. */
  async #finish(link: Link, ending: Ending): Promise<void> {
    const { stdinMs = STDIO_LIMITS.stdinMs, termMs = STDIO_LIMITS.termMs } = this.#options.shutdown ?? {};
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
    link.writer.detach();
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
      ...(lastWords === undefined ? [] : [`it said on stderr: ${oneLine(lastWords, 200)}`]),
    ].join("; ");
    const details = { exitCode, exitSignal, stderr, command, likelyCause };
    return new ConnectionError(message, {
      ...(ending.cause === undefined ? {} : { cause: ending.cause }),
      delivery: "sent",
      ...details,
    });
  }
}

/** Loaded with the first process: `bowline/node` does not load `node:child_process` when it is imported. */
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
  // However it takes its end then, that is not why it ended.
  if (ending.cause instanceof ProtocolError) return `${ending.sign} and is ended: ${ending.cause.message}`;
  if (server.exit === undefined) return `${ending.sign} and is being ended`;
  if (server.forced) return `${ending.sign} and was terminated`;
  if (server.exit.signal !== null) return `was ended by ${server.exit.signal}`;
  return `exited with code ${server.exit.code}`;
}
