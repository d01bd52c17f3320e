import type { Worker } from "node:cluster";
import { settlesWithin } from "../../call/abortable.js";
import type { HostedNode, StateHost } from "../../cluster/messages/host.js";
import { followConnections } from "./hand-over.js";
import { type FromPrimary, type FromWorker, PROTOCOL, received, send } from "./messages.js";

/** Maximum number of characters of the errors of a worker that are kept until it serves. */
const MAX_ERRORS = 4_096;

/** Maximum time to wait for the rest of the errors of a worker that has ended. */
const OUTPUT_MS = 500;

/** Time that a worker has, after it closed its server, to end by itself, and after SIGTERM. */
const END_MS = 1_000;
const TERM_MS = 4_000;

export interface MemberOptions {
  /** State of the primary, for a server without a cluster of its own. */
  readonly host: StateHost;
  /** Key of sealed states, in base64. */
  readonly key: string;
  /** Returns the port that a worker listens on. */
  port(): number;
}

/** Address at which a worker serves. */
export interface Address {
  readonly url: string;
  readonly port: number;
}

/** Worker, as its primary sees it. */
export class Member {
  readonly id: number;
  /** Resolves when the worker serves. Rejects with its error if it ends before, or has no process. */
  readonly started: Promise<Address>;
  /** Resolves when the process has ended, or could not be started. */
  readonly ended: Promise<void>;
  /** Time at which the worker began to serve. */
  servesSince: number | undefined;
  /** True if the primary has told the worker to end. */
  isLeaving = false;
  isEnded = false;
  /** Description of the end of the process. */
  end = "";
  readonly #worker: Worker;
  readonly #options: MemberOptions;
  #hosted: HostedNode | undefined;
  #errors = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(worker: Worker, options: MemberOptions) {
    this.#worker = worker;
    this.#options = options;
    this.id = worker.id;
    const closeUntaken = followConnections(worker.process);
    const { stderr } = worker.process;
    stderr?.on("data", (chunk: Buffer) => {
      process.stderr.write(chunk);
      if (this.servesSince === undefined) this.#errors = (this.#errors + chunk.toString()).slice(-MAX_ERRORS);
    });
    const outputEnded = new Promise<void>((resolve) => (stderr ? stderr.once("close", resolve) : resolve()));
    // A process that the worker started may still have its output open.
    const outputRead = () => settlesWithin(outputEnded, OUTPUT_MS);
    this.ended = new Promise((resolve) => {
      worker.once("exit", (code: number | null, signal: string | null) => {
        this.#ends(signal ? `was ended by ${signal}` : `ended with code ${code}`);
        closeUntaken();
        void outputRead().then(() => resolve());
      });
      worker.on("error", ({ message }) => {
        // A process without an id never existed, and has no exit. That of another one is told by its exit.
        if (worker.process.pid !== undefined || this.isEnded) return;
        this.#ends(`could not be started (${message})`);
        resolve();
      });
    });
    worker.once("disconnect", () => this.#endSoon());
    this.started = new Promise((resolve, reject) => {
      worker.on("message", (message: unknown) => {
        const found = received<FromWorker>(message);
        if (found !== undefined) this.#receive(found, resolve, reject);
      });
      void this.ended.then(() => reject(this.#silentEnd()));
    });
    this.started.catch(() => {});
  }

  get serves(): boolean {
    return this.servesSince !== undefined && !this.isLeaving && !this.isEnded;
  }

  /** Tells the worker to drain. It is ended if it has not ended after `limitMs`. */
  async drain(graceMs: number, limitMs: number): Promise<void> {
    await this.#leave({ bowline: "drain", graceMs }, limitMs);
  }

  /** Tells the worker to close. It is ended if it has not ended after `limitMs`. */
  async close(limitMs: number): Promise<void> {
    await this.#leave({ bowline: "close" }, limitMs);
  }

  async #leave(message: FromPrimary, limitMs: number): Promise<void> {
    this.isLeaving = true;
    if (this.isEnded) return;
    if (this.servesSince === undefined) this.#worker.process.kill("SIGKILL");
    else this.#send(message);
    const limit = setTimeout(() => this.#worker.process.kill("SIGKILL"), limitMs);
    await this.ended;
    clearTimeout(limit);
  }

  #ends(end: string): void {
    clearTimeout(this.#timer);
    this.isEnded = true;
    this.end = end;
    // The process is gone, so that nobody waits for the ends of its leases.
    this.#hosted?.close();
  }

  /** Ends a process that has left, but in which something of the program goes on. */
  #endSoon(): void {
    if (this.isEnded) return;
    this.#timer = setTimeout(() => {
      this.#worker.process.kill("SIGTERM");
      this.#timer = setTimeout(() => this.#worker.process.kill("SIGKILL"), TERM_MS);
    }, END_MS);
  }

  #receive(message: FromWorker, started: (address: Address) => void, failed: (error: Error) => void): void {
    if (message.bowline === "state") this.#hosted?.receive(message.batch);
    else if (message.bowline === "hello" && message.protocol !== PROTOCOL) failed(this.#upgrade(message.protocol));
    else if (message.bowline === "hello") this.#welcome(message.needsState);
    else if (message.bowline === "failed")
      failed(Object.assign(new Error(message.message), message.code === undefined ? {} : { code: message.code }));
    else {
      this.servesSince = performance.now();
      this.#errors = "";
      started({ url: message.url, port: message.port });
    }
  }

  #welcome(needsState: boolean): void {
    const { host, key, port } = this.#options;
    if (needsState)
      this.#hosted = host.connect({
        later: (run) => void setImmediate(run),
        send: (batch, written) => this.#send({ bowline: "state", batch }, written),
      });
    const state = this.#hosted && { node: this.#hosted.name, key };
    this.#send({ bowline: "welcome", worker: this.id, port: port(), state });
  }

  #upgrade(protocol: unknown): Error {
    const versions = `version ${protocol} of the messages between processes, and the primary version ${PROTOCOL}`;
    return new Error(
      `serveHttp: worker ${this.id} has ${versions}. The package was upgraded: restart the primary, too`,
    );
  }

  #silentEnd(): Error {
    const text = this.#errors.trim();
    const when = this.#worker.process.pid === undefined ? "" : " before it served";
    return new Error(`serveHttp: worker ${this.id} ${this.end}${when}${text && `:\n${text}`}`);
  }

  #send(message: FromPrimary, sent?: () => void): void {
    const worker = this.#worker;
    send({ connected: worker.isConnected(), send: worker.send.bind(worker) }, message, sent);
  }
}
