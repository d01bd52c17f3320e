import type { Channel, ChannelEvents } from "../protocol/jsonrpc/channel.js";
import type { ConnectionRecorder } from "./connection.js";

/** Longest text of a problem that is recorded. */
const MAX_PROBLEM = 2_000;

/** Output of a process, as the channel of a server process has it with `stderr: "pipe"`. */
interface TextOutput {
  on(event: "data", listener: (chunk: string | Uint8Array) => void): unknown;
}

/** Longest line, or key of several lines, that is recorded in one piece. */
const MAX_PIECE = 65_536;

/** Divides output at ends of lines, and within no key of several lines: a secret in two pieces would not be found. */
class WholeLines {
  readonly #decoder = new TextDecoder();
  readonly #tell: (text: string) => void;
  #rest = "";
  #isEnded = false;

  constructor(tell: (text: string) => void) {
    this.#tell = tell;
  }

  push(chunk: string | Uint8Array): void {
    this.#rest += typeof chunk === "string" ? chunk : this.#decoder.decode(chunk, { stream: true });
    const key = this.#rest.lastIndexOf("-----BEGIN ");
    const isOpen = key !== -1 && !/-----END [A-Z0-9 ]*-----/.test(this.#rest.slice(key));
    const end = isOpen ? key : this.#rest.lastIndexOf("\n") + 1;
    const isLong = this.#rest.length - end > MAX_PIECE;
    this.#take(this.#isEnded || isLong ? this.#rest.length : end);
  }

  /** Tells what is left. What still comes is told as it comes. */
  end(): void {
    this.#isEnded = true;
    this.#rest += this.#decoder.decode();
    this.#take(this.#rest.length);
  }

  #take(end: number): void {
    const text = this.#rest.slice(0, end);
    this.#rest = this.#rest.slice(end);
    if (text !== "") this.#tell(text);
  }
}

/** Wraps a channel so that its frames are recorded. `sends` is the direction of the frames that its owner sends. */
export function tapChannel(inner: Channel, sends: ">" | "<", open: () => ConnectionRecorder): Channel {
  let recorder: ConnectionRecorder | undefined;
  const receives = sends === ">" ? "<" : ">";
  return {
    open: (events: ChannelEvents) => {
      const connection = open();
      recorder = connection;
      const { stderr } = inner as { readonly stderr?: TextOutput };
      const output = new WholeLines((text) => connection.stderr(text));
      stderr?.on("data", (chunk) => output.push(chunk));
      return inner.open({
        onFrame: (text) => {
          connection.frame(receives, text);
          events.onFrame(text);
        },
        onProblem: (problem) => {
          connection.skip(problem.message.slice(0, MAX_PROBLEM));
          events.onProblem(problem);
        },
        onClose: (reason) => {
          output.end();
          connection.close(reason?.message);
          events.onClose(reason);
        },
      });
    },
    send: (text) => {
      recorder?.frame(sends, text);
      return inner.send(text);
    },
    close: () => inner.close(),
  };
}
