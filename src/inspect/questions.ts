import type { AnswerContext, AnswerOptions } from "../client/options.js";
import { UserRejectedError } from "../protocol/errors.js";
import type { AskEvent } from "../recording/events.js";
import { VerbError } from "./failure.js";
import type { OpenQuestion, Verbs } from "./protocol.js";

interface Waiting {
  readonly question: OpenQuestion;
  readonly settle: (answer: Verbs["answer"]) => void;
}

/** Questions of servers that wait for an answer of the page. */
export class Questions {
  readonly #onChange: () => void;
  readonly #waiting = new Map<string, Waiting>();
  /** The question that was recorded last. Its handler is called in the same turn. */
  #asked: AskEvent | undefined;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get open(): readonly OpenQuestion[] {
    return [...this.#waiting.values()].map(({ question }) => question);
  }

  /** Takes the line of a question. The recorder writes it before it calls the handler. */
  note(event: AskEvent): void {
    this.#asked = event;
  }

  /** Handlers for the client of a connection. */
  handlers(connection: number): AnswerOptions {
    const ask = (_: unknown, { signal }: AnswerContext) => this.#ask(connection, signal) as Promise<never>;
    return { onElicit: ask, onElicitUrl: ask, onSample: ask };
  }

  answer(answer: Verbs["answer"]): void {
    const waiting = this.#waiting.get(keyOf(answer));
    if (waiting === undefined)
      throw new VerbError("unknown_question", `question ${answer.n} of connection ${answer.c} does not wait`);
    if ((answer.result === undefined) === (answer.error === undefined))
      throw new VerbError("invalid_verb", "answer: give either result or error");
    waiting.settle(answer);
  }

  async #ask(connection: number, signal: AbortSignal): Promise<unknown> {
    const { t, c, n, method, params } = this.#asked as AskEvent;
    const question: OpenQuestion = { connection, t, c, n, method, params };
    const key = keyOf(question);
    let end = () => {};
    try {
      return await new Promise((resolve, reject) => {
        end = () => reject(signal.reason);
        signal.addEventListener("abort", end, { once: true });
        const settle = ({ result, error }: Verbs["answer"]) => {
          if (error === undefined) resolve(result);
          else reject(new UserRejectedError(error));
        };
        this.#waiting.set(key, { question, settle });
        this.#onChange();
      });
    } finally {
      signal.removeEventListener("abort", end);
      this.#waiting.delete(key);
      this.#onChange();
    }
  }
}

function keyOf({ c, n }: { readonly c: number; readonly n: number }): string {
  return `${c} ${n}`;
}
