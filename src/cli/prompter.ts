import { Writable } from "node:stream";
import type { Io } from "./io.js";

/** Asks the user on a terminal, line by line. */
export class Prompter {
  readonly #io: Io;

  constructor(io: Io) {
    this.#io = io;
  }

  /**
   * Asks for a line. Resolves with undefined at Ctrl-D. Rejects with the reason of the signal, which Ctrl-C aborts too.
   * A `secret` line is not shown.
   */
  async ask(
    question: string,
    { secret = false, signal }: { secret?: boolean; signal?: AbortSignal } = {},
  ): Promise<string | undefined> {
    const { stdin, stderr, interrupt } = this.#io;
    const end = signal === undefined ? this.#io.signal : AbortSignal.any([this.#io.signal, signal]);
    end.throwIfAborted();
    const { createInterface } = await import("node:readline");
    return new Promise((resolve, reject) => {
      const lines = createInterface({
        input: stdin,
        output: secret ? mutedAfter(question, stderr) : stderr,
        terminal: true,
      });
      const over = (settle: () => void) => {
        end.removeEventListener("abort", stop);
        // The interface has listeners of its own, which release the input.
        lines.off("close", decline).off("SIGINT", interrupt);
        lines.close();
        stdin.pause();
        settle();
      };
      const decline = () => {
        stderr.write("\n");
        over(() => resolve(undefined));
      };
      const stop = () => {
        stderr.write("\n");
        over(() => reject(end.reason));
      };
      end.addEventListener("abort", stop, { once: true });
      lines.once("SIGINT", interrupt);
      lines.once("close", decline);
      lines.question(question, (answer) => {
        if (secret) stderr.write("\n");
        over(() => resolve(answer.trim()));
      });
    });
  }
}

/** Output that passes the question on, and nothing of what the user types. */
function mutedAfter(question: string, output: Writable): Writable {
  let isAsked = false;
  return new Writable({
    write: (chunk, _encoding, done) => {
      if (!isAsked) output.write(String(chunk));
      isAsked ||= String(chunk).includes(question);
      done();
    },
  });
}
