import { pause } from "../call/abortable.js";
import { type Backoff, backoffMs } from "../call/backoff.js";
import type { Clock } from "../call/clock.js";
import { ClusterError } from "../cluster/error.js";
import type { Call, FileOptions, News, Outcome, Reply, StartThread, Thread, Watched } from "./messages.js";
import { isRead, type OperationName, type Operations } from "./operations.js";

/** Maximum number of calls that wait for the thread. */
const MAX_WAITING = 10_000;

/** Maximum number of calls in a transaction. */
const MAX_BATCH = 500;

/** Time beyond the limit of an operation after which a thread that does not answer is replaced. */
const GRACE_MS = 1000;

/** Delays between attempts to use the file again. */
const RETRY: Backoff = { delayMs: 50, maxDelayMs: 2000 };

interface Waiting {
  readonly call: Call;
  readonly done: (value: unknown) => void;
  readonly failed: (error: ClusterError) => void;
}

export interface EngineOptions {
  readonly clock: Clock;
  readonly file: FileOptions;
  readonly start: StartThread;
  readonly news: (news: News) => void;
  /** Called when the file can be used again, after which everything that was missed is over. */
  readonly reopened: () => void;
  /** Called when the file has no room for an operation. */
  readonly onShort: () => void;
}

/**
 * Runs operations in a thread. Calls that come while the thread works are sent together, and become one transaction. A
 * thread that ends is replaced. While the file cannot be used, operations fail at once.
 */
export class Engine {
  readonly clock: Clock;
  readonly #options: EngineOptions;
  readonly #closing = new AbortController();
  #thread: Thread | undefined;
  #waiting: Waiting[] = [];
  #sent: readonly Waiting[] = [];
  #isPlanned = false;
  #timer: unknown;
  #watched: Watched | undefined;
  /** First attempt to open the file, until it has ended. */
  #starting: Promise<void> | undefined;
  /** Reason why the file cannot be used. */
  #problem: ClusterError | undefined;
  #isRecovering = false;

  constructor(options: EngineOptions) {
    this.clock = options.clock;
    this.#options = options;
  }

  get isAvailable(): boolean {
    return this.#starting === undefined && this.#problem === undefined && !this.#closing.signal.aborted;
  }

  /** Opens the file. Operations wait for this first attempt. If it fails, it is tried again. */
  start(): Promise<void> {
    const first = this.#open();
    this.#starting = first.then(
      () => {
        this.#starting = undefined;
      },
      (error: ClusterError) => {
        this.#starting = undefined;
        this.#away(error);
      },
    );
    return first;
  }

  /** Runs an operation. Rejects at once with `unavailable` while the file cannot be used. */
  async run<N extends OperationName>(name: N, ...args: Parameters<Operations[N]>): Promise<ReturnType<Operations[N]>> {
    if (this.#starting !== undefined) await this.#starting;
    if (this.#closing.signal.aborted) throw unavailable(`${name}: the cluster is closed`);
    if (this.#problem !== undefined) throw this.#refusal(name);
    if (this.#waiting.length >= MAX_WAITING)
      throw unavailable(`${name}: ${MAX_WAITING} operations wait for the file already; limit concurrent calls`);
    return (await this.#enqueue([name, args])) as ReturnType<Operations[N]>;
  }

  /** Replaces the changes for which this process waits. */
  watch(watched: Watched): void {
    this.#watched = watched;
    this.#thread?.post({ kind: "watch", watched });
  }

  /** Lets the thread find out if the file was moved or deleted. It ends then, and is replaced. */
  check(): void {
    this.#thread?.post({ kind: "check" });
  }

  /** Refuses further operations, and ends the running ones and the thread. */
  async close(): Promise<void> {
    this.#closing.abort();
    const error = unavailable("the cluster is closed");
    this.#fail(error);
    const thread = this.#thread;
    this.#thread = undefined;
    await thread?.end();
  }

  #enqueue(call: Call): Promise<unknown> {
    return new Promise((done, failed) => {
      this.#waiting.push({ call, done, failed });
      if (this.#isPlanned) return;
      this.#isPlanned = true;
      queueMicrotask(() => {
        this.#isPlanned = false;
        this.#send();
      });
    });
  }

  #send(): void {
    if (this.#sent.length > 0 || this.#waiting.length === 0 || this.#thread === undefined) return;
    this.#sent = this.#waiting.splice(0, MAX_BATCH);
    const { timeoutMs } = this.#options.file;
    this.#timer = this.clock.schedule(() => this.#late(), timeoutMs + GRACE_MS);
    this.#thread.post({ kind: "run", calls: this.#sent.map(({ call }) => call) });
  }

  #heard(reply: Reply): void {
    if (reply.kind === "news") return this.#options.news(reply.news);
    if (reply.kind !== "ran") return;
    this.clock.cancel(this.#timer);
    const sent = this.#sent;
    this.#sent = [];
    let problem: ClusterError | undefined;
    for (const [at, outcome] of reply.outcomes.entries()) problem = settle(sent[at] as Waiting, outcome) ?? problem;
    if (reply.outcomes.some((outcome) => "isShort" in outcome && outcome.isShort)) this.#options.onShort();
    if (problem === undefined) return this.#send();
    this.#away(problem);
  }

  /** Opens the file in a new thread. */
  async #open(): Promise<void> {
    const { start, file } = this.#options;
    await new Promise<void>((resolve, reject) => {
      let thread: Thread | undefined;
      const heard = (reply: Reply) => {
        if (reply.kind === "open") resolve();
        else if (reply.kind === "failed") reject(new ClusterError(reply.failure, reply.message));
        else if (this.#thread === thread) this.#heard(reply);
      };
      const lost = (reason: Error) => {
        const error = reason instanceof ClusterError ? reason : unavailable(`the thread ended: ${reason.message}`);
        reject(error);
        if (thread === undefined || this.#thread !== thread) return;
        this.#thread = undefined;
        this.#away(error);
      };
      thread = start(file, heard, lost);
      this.#thread = thread;
    }).catch((error) => {
      this.#thread = undefined;
      throw error;
    });
    if (this.#closing.signal.aborted) throw unavailable("the cluster is closed");
    if (this.#watched !== undefined) this.#thread?.post({ kind: "watch", watched: this.#watched });
  }

  /** Fails everything, and begins to try if the file can be used. */
  #away(problem: ClusterError): void {
    this.#problem = problem;
    this.#fail(problem);
    if (!this.#isRecovering && !this.#closing.signal.aborted) void this.#recover();
  }

  async #recover(): Promise<void> {
    const { signal } = this.#closing;
    this.#isRecovering = true;
    for (let failures = 0; !signal.aborted; failures++) {
      await pause(this.clock, backoffMs(Math.min(failures, 10), RETRY), signal);
      if (signal.aborted) break;
      if (await this.#isUsable()) {
        this.#problem = undefined;
        this.#isRecovering = false;
        this.#options.reopened();
        return;
      }
    }
    this.#isRecovering = false;
  }

  /** Opens the file if no thread has it open, and tries to write. */
  async #isUsable(): Promise<boolean> {
    try {
      if (this.#thread === undefined) await this.#open();
      await this.#enqueue(["probe", []]);
      return true;
    } catch {
      return false;
    }
  }

  /** Replaces a thread that does not answer, as when the disk hangs. A late answer is ignored. */
  #late(): void {
    const thread = this.#thread;
    this.#thread = undefined;
    this.#away(unavailable(`no answer within ${this.#options.file.timeoutMs + GRACE_MS} ms (option timeoutMs)`));
    void thread?.end();
  }

  /** Fails the operations that wait, and those that the thread may have carried out. */
  #fail(error: ClusterError): void {
    this.clock.cancel(this.#timer);
    const [sent, waiting] = [this.#sent, this.#waiting];
    [this.#sent, this.#waiting] = [[], []];
    for (const { call, failed } of sent)
      failed(isRead(call[0]) ? unavailable(error.message) : unknown(call[0], error.message));
    for (const { failed } of waiting) failed(unavailable(error.message));
  }

  #refusal(name: string): ClusterError {
    const { failure, message } = this.#problem as ClusterError;
    if (failure === "refused") return this.#problem as ClusterError;
    return unavailable(`${name}: the file cannot be used. Nothing was done. It is tried again. Reason: ${message}`);
  }
}

/** Settles a call. Returns its error if it tells that the file cannot be used. */
function settle({ done, failed }: Waiting, outcome: Outcome): ClusterError | undefined {
  if ("value" in outcome) {
    done(outcome.value);
    return undefined;
  }
  const error = new ClusterError(outcome.failure, outcome.message);
  failed(error);
  return error.failure === "refused" || outcome.isShort ? undefined : error;
}

function unavailable(text: string): ClusterError {
  return new ClusterError("unavailable", text.startsWith("SQLite") ? text : `SQLite, ${text}.`);
}

function unknown(name: string, text: string): ClusterError {
  return new ClusterError(
    "unknown_outcome",
    `SQLite, ${name}: ${text} The operation may have been carried out. Read the state before repeating it.`,
  );
}
