import type { Readable, Writable } from "node:stream";
import { settlesWithin } from "../../call/abortable.js";
import { ConnectionError, McpError, type ProtocolError } from "../../protocol/errors.js";
import type { Channel, ChannelEvents } from "../../protocol/jsonrpc/channel.js";
import { LineDecoder } from "../../protocol/jsonrpc/lines.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import { STDIO_TIMES } from "../limits.js";
import { FrameWriter, refusal, tooFarBehind, type WriteLine } from "./frame-writer.js";

/** Options of {@link createStdioServerChannel}. */
export interface StdioServerOptions {
  /**
   * Source of frames. A given stream is destroyed when the channel closes.
   * @default process.stdin
   */
  readonly input?: Readable | undefined;
  /**
   * Destination of frames. A given stream is ended when the channel closes.
   * @default process.stdout
   */
  readonly output?: Writable | undefined;
  /** Writes to `output` instead of its own `write`. `guardStdout` returns such a function. */
  readonly write?: WriteLine | undefined;
  /** Limits on what the client can make this process hold. Each limit has a default. */
  readonly limits?: Optional<StdioServerLimits> | undefined;
  /**
   * Time that closing waits for the peer to read the data that was sent.
   * @default 2000
   */
  readonly drainMs?: number | undefined;
}

/** Limits of a server's end of stdio. */
export interface StdioServerLimits {
  /**
   * Maximum length of a line in bytes.
   * @default 32 MiB
   */
  readonly maxLineBytes: number;
  /**
   * Maximum amount of unwritten data. Beyond it, no input is read.
   * @default 16 MiB
   */
  readonly maxUnwrittenBytes: number;
  /**
   * Maximum amount of unwritten data. A frame that is sent beyond it ends the channel.
   * @default 256 MiB
   */
  readonly maxBehindBytes: number;
}

const MIB = 1024 * 1024;

export const STDIO_SERVER_LIMITS: StdioServerLimits = {
  maxLineBytes: 32 * MIB,
  maxUnwrittenBytes: 16 * MIB,
  maxBehindBytes: 256 * MIB,
};

export const STDIO_LIMIT_OPTIONS: Known<Pick<StdioServerOptions, "limits" | "drainMs">> = {
  limits: STDIO_SERVER_LIMITS,
  drainMs: "ms",
};

const OPTIONS: Known<StdioServerOptions> = {
  ...STDIO_LIMIT_OPTIONS,
  input: "object",
  output: "object",
  write: "function",
};

/**
 * Creates the server's end of a pair of byte streams, with one frame per line.
 *
 * The end of the input ends the channel: `onClose` is called at once, so that running calls can be aborted, and
 * `close()` resolves when all frames have been written, or after `drainMs`. The channel ends with a `ConnectionError`
 * if the input or the output fails, if the output is not read, or if a line exceeds the limit.
 */
export function createStdioServerChannel(options: StdioServerOptions = {}): Channel {
  assertOptions({ createStdioServerChannel }, options, OPTIONS);
  return new StdioServerChannel(options);
}

class StdioServerChannel implements Channel {
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #writer: FrameWriter;
  readonly #decoder: LineDecoder;
  readonly #drainMs: number;
  readonly #limits: StdioServerLimits;
  #events: ChannelEvents | undefined;
  #opened = false;
  #behind = false;
  #closing: Promise<void> | undefined;

  constructor(options: StdioServerOptions) {
    this.#input = options.input ?? process.stdin;
    this.#output = options.output ?? process.stdout;
    this.#drainMs = options.drainMs ?? STDIO_TIMES.drainMs;
    this.#limits = withDefaults(options.limits, STDIO_SERVER_LIMITS);
    this.#writer = new FrameWriter(this.#output, (cause) => this.#lose("output", cause), options.write);
    this.#decoder = new LineDecoder(
      {
        onLine: (line) => {
          if (this.#closing === undefined) this.#events?.onFrame(line);
        },
        onProblem: (problem) => this.#events?.onProblem(problem),
        onOverflow: (problem) => this.#overflow(problem),
      },
      this.#limits,
    );
  }

  open(events: ChannelEvents): void {
    if (this.#opened) throw new McpError("already_open", "The stdio channel is already open");
    if (this.#closing !== undefined) throw new ConnectionError("The stdio channel is closed", { delivery: "not_sent" });
    this.#opened = true;
    this.#events = events;
    const input = this.#input;
    input.on("end", this.#onEnd).on("close", this.#onEnd).on("error", this.#onInputError).on("data", this.#onData);
    if (input.readableEnded || input.destroyed) queueMicrotask(this.#onEnd);
    if (this.#output === process.stdout) process.on("exit", this.#onExit);
  }

  send(text: string): void | Promise<void> {
    if (!this.#opened) {
      return Promise.reject(
        new ConnectionError("The stdio channel is not open: the frame was not sent", { delivery: "not_sent" }),
      );
    }
    const waiting = this.#writer.waitingBytes;
    if (waiting > this.#limits.maxBehindBytes && this.#closing === undefined) return this.#giveUp(waiting);
    const room = this.#writer.send(text);
    if (room !== undefined && !this.#behind && this.#output.writableLength > this.#limits.maxUnwrittenBytes) {
      this.#holdInput(room);
    }
    return room;
  }

  close(): Promise<void> {
    if (this.#closing === undefined) {
      this.#stopReading();
      this.#closing = this.#finishWriting().then(() => this.#tellClosed(undefined));
    }
    return this.#closing;
  }

  #giveUp(waiting: number): Promise<never> {
    const reason = tooFarBehind("client", waiting, this.#limits.maxBehindBytes);
    this.#closeAtOnce(reason);
    return refusal(reason);
  }

  /** Pauses the input while the client does not read its responses, so that the unwritten data stays bounded. */
  #holdInput(room: Promise<void>): void {
    this.#behind = true;
    this.#input.pause();
    const release = () => {
      this.#behind = false;
      if (this.#closing === undefined) this.#input.resume();
    };
    room.then(release, release);
  }

  readonly #onData = (chunk: Uint8Array | string): void => {
    this.#decoder.push(typeof chunk === "string" ? Buffer.from(chunk) : chunk);
  };

  readonly #onEnd = (): void => this.#closeAtOnce(undefined);

  /** Writes gathered frames when the process exits in the same turn of the event loop. */
  readonly #onExit = (): void => this.#writer.flush();

  readonly #onInputError = (cause: Error): void => this.#lose("input", cause);

  /** Ends the channel, since the frame that cannot be read may be a response that a caller waits for. */
  #overflow(problem: ProtocolError): void {
    this.#events?.onProblem(problem);
    this.#closeAtOnce(new ConnectionError(problem.message, { cause: problem, delivery: "sent" }));
  }

  #lose(side: "input" | "output", cause: Error): void {
    const message = `The ${side} of the stdio channel failed: ${cause.message}`;
    this.#closeAtOnce(new ConnectionError(message, { cause, delivery: "sent" }));
  }

  #closeAtOnce(reason: Error | undefined): void {
    if (this.#closing !== undefined) return;
    this.#stopReading();
    this.#closing = this.#finishWriting();
    this.#decoder.end();
    this.#tellClosed(reason);
  }

  #tellClosed(reason: Error | undefined): void {
    const events = this.#events;
    this.#events = undefined;
    events?.onClose(reason);
  }

  #stopReading(): void {
    const input = this.#input;
    input.off("end", this.#onEnd).off("close", this.#onEnd).off("data", this.#onData);
    input.pause();
  }

  async #finishWriting(): Promise<void> {
    this.#writer.shut();
    const written = await settlesWithin(this.#writer.flushed(), this.#drainMs);
    this.#writer.detach();
    process.off("exit", this.#onExit);
    this.#input.off("error", this.#onInputError);
    this.#releaseStreams(written);
  }

  /** Releases the streams. The process's own streams stay open, since other code may still use them. */
  #releaseStreams(written: boolean): void {
    const input = this.#input;
    const output = this.#output;
    const releaseInput = () => {
      if (input !== process.stdin) input.destroy();
    };
    if (output === process.stdout) {
      releaseInput();
    } else if (written && !output.destroyed) {
      output.end(releaseInput);
    } else {
      output.destroy();
      releaseInput();
    }
  }
}
