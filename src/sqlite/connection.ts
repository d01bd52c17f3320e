import type { Closable } from "../cluster/connection.js";
import { ClusterError } from "../cluster/error.js";
import type { Call, FileOptions, News, Outcome, Reply, StartThread, Thread } from "./messages.js";

/** Maximum number of calls in a transaction. */
const MAX_BATCH = 500;

export interface ConnectionOptions {
  readonly file: FileOptions;
  readonly start: StartThread;
  readonly onNews: (news: News) => void;
  /** Called when the file has no room for an operation. */
  readonly onShort: () => void;
  readonly onClose: () => void;
}

interface Waiting {
  readonly call: Call;
  readonly done: (value: unknown) => void;
  readonly failed: (error: Error) => void;
}

/**
 * Connection to a thread that has the file open. Calls that come while the thread works are sent together, and become one
 * transaction. Closes when the file cannot be used.
 */
export class Connection implements Closable {
  /** Settles when the file is open, or cannot be opened. */
  readonly opened: Promise<void>;
  /** Resolves when the thread has ended. */
  readonly ended: Promise<void>;
  readonly #options: ConnectionOptions;
  #thread: Thread | undefined;
  #waiting: Waiting[] = [];
  #sent: readonly Waiting[] = [];
  #isPlanned = false;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    let end = () => {};
    this.ended = new Promise((resolve) => {
      end = resolve;
    });
    this.opened = new Promise((resolve, reject) => {
      const heard = (reply: Reply) => {
        if (reply.kind === "open") resolve();
        else if (reply.kind === "failed") reject(new ClusterError(reply.failure, reply.problem));
        else if (!this.#isClosed) this.#heard(reply);
      };
      const lost = (reason: Error) => {
        end();
        reject(reason);
        this.#end(new Error(`the thread of SQLite ended: ${reason.message}`));
      };
      this.#thread = options.start(options.file, heard, lost);
    });
  }

  run(call: Call): Promise<unknown> {
    return new Promise((done, failed) => {
      this.#waiting.push({ call, done, failed });
      if (this.#isClosed) this.#fail(new Error("the thread of SQLite has ended"));
      else if (!this.#isPlanned) this.#plan();
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#end(new Error("the connection to the file was closed"));
    void this.#thread?.end();
  }

  #plan(): void {
    this.#isPlanned = true;
    queueMicrotask(() => {
      this.#isPlanned = false;
      this.#send();
    });
  }

  #send(): void {
    if (this.#sent.length > 0 || this.#waiting.length === 0) return;
    this.#sent = this.#waiting.splice(0, MAX_BATCH);
    this.#thread?.post({ kind: "run", calls: this.#sent.map(({ call }) => call) });
  }

  #heard(reply: Extract<Reply, { readonly news?: News | undefined }>): void {
    const { onNews, onShort } = this.#options;
    if (reply.news !== undefined) onNews(reply.news);
    if (reply.kind === "news") return;
    const sent = this.#sent;
    this.#sent = [];
    for (const [at, outcome] of reply.outcomes.entries()) settle(sent[at] as Waiting, outcome);
    const failures = reply.outcomes.filter((outcome) => "failure" in outcome);
    if (failures.some(({ isShort }) => isShort)) onShort();
    if (failures.some(({ failure, isShort }) => failure !== "refused" && !isShort)) this.close();
    else this.#send();
  }

  #end(reason: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#fail(reason);
    this.#options.onClose();
  }

  /** Fails the calls that the thread may have carried out, and those that wait, of which nothing was done. */
  #fail(reason: Error): void {
    const [sent, waiting] = [this.#sent, this.#waiting];
    [this.#sent, this.#waiting] = [[], []];
    for (const { failed } of sent) failed(reason);
    for (const { failed } of waiting) failed(new ClusterError("unavailable", reason.message));
  }
}

function settle({ done, failed }: Waiting, outcome: Outcome): void {
  if ("value" in outcome) done(outcome.value);
  else failed(new ClusterError(outcome.failure, outcome.problem));
}
