import { pause } from "../../../../call/abortable.js";
import type { Clock } from "../../../../call/clock.js";
import type { MaybePromise } from "../../../../call/maybe-promise.js";
import type { Cluster } from "../../../../cluster/cluster.js";
import type { RequestId } from "../../../../protocol/jsonrpc/message.js";
import type { LogMessage } from "../../../server-era.js";
import type { StateChange } from "../shared-sessions.js";
import { Retries } from "./retries.js";

const TOPIC = "control";

/** Maximum length of a message, which only a message of the author can reach. A longer one is not sent. */
const MAX_CHARS = 262_144;
/** Time after which joining is tried again. */
const JOIN_PAUSE_MS = 500;
/** Maximum number of messages that are sent again. Others notice no gap while only this process cannot reach the engine. */
const MAX_REPEATED = 1_000;
/** Time for which a process that closes tries to send its last messages. */
const CLOSE_MS = 1_000;

/** Message between the processes that serve the same sessions. */
export type ControlMessage =
  /** The client of a session has cancelled a request. */
  | { readonly kind: "cancelled"; readonly session: string; readonly id: RequestId; readonly reason?: string }
  /** The client of a session reports progress of a question. */
  | { readonly kind: "progress"; readonly session: string; readonly progress: QuestionProgress }
  /** The state of a session has changed. */
  | { readonly kind: "changed"; readonly session: string; readonly change: StateChange }
  /** The client of a session watches a resource from now on, or does not any more. A long URI is stored only. */
  | { readonly kind: "watched"; readonly session: string; readonly uri?: string; readonly isWatched: boolean }
  | { readonly kind: "ended"; readonly session: string }
  /** The sender has begun to serve a session, and could not store that. */
  | { readonly kind: "used"; readonly session: string }
  /** The sender writes the standalone stream of a session now. Holders with an earlier turn stop writing. */
  | { readonly kind: "listening"; readonly session: string; readonly turn: number }
  /** The sender no longer writes the standalone stream of a session. It has handled messages to all clients up to these. */
  | { readonly kind: "written"; readonly session: string; readonly numbers: readonly (readonly [string, number])[] }
  /** A message for the standalone stream that its former writer could not store. */
  | { readonly kind: "frame"; readonly session: string; readonly frame: string }
  /** Changes of the session may have been missed, since a former writer of its standalone stream has died. */
  | { readonly kind: "missed"; readonly session: string }
  /** A question of the session has been answered. */
  | { readonly kind: "answered"; readonly session: string; readonly id: string }
  | { readonly kind: "failed"; readonly session: string; readonly id: RequestId; readonly problem: string }
  /** A message to all clients, with its number. */
  | { readonly kind: "log"; readonly number: number; readonly message: LogMessage }
  /** A URL elicitation is complete. */
  | { readonly kind: "elicited"; readonly id: string }
  /** The streams of a process that has died are ended. */
  | { readonly kind: "dead"; readonly node: string };

/** Progress of a question, as far as other processes need it. */
export interface QuestionProgress {
  readonly progressToken: string;
  readonly progress: unknown;
  readonly total?: unknown;
  readonly message?: string;
}

/** Topic on which the processes tell each other about running calls and sessions. */
export class Control {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #receive: (message: ControlMessage, from: string) => void;
  readonly #report: (error: unknown) => void;
  #leave: (() => MaybePromise<void>) | undefined;
  #joining: Promise<void> | undefined;
  readonly #sending = new Set<Promise<void>>();
  readonly #retries: Retries;
  #closed = false;

  constructor(
    cluster: Cluster,
    clock: Clock,
    receive: (message: ControlMessage, from: string) => void,
    report: (error: unknown) => void,
  ) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#retries = new Retries(clock, MAX_REPEATED);
    this.#receive = receive;
    this.#report = report;
  }

  get isJoined(): boolean {
    return this.#leave !== undefined;
  }

  /** Resolves when messages arrive. If it fails, the next call tries again. */
  join(): Promise<void> {
    this.#joining ??= this.#joinWhenReached().finally(() => {
      this.#joining = undefined;
    });
    return this.#joining;
  }

  /** Sends a message. Resolves after the first attempt, even if it failed and is repeated. */
  publish(message: ControlMessage): Promise<void> {
    const text = JSON.stringify(message);
    if (text.length > MAX_CHARS) {
      this.#report(new Error(`A message of ${text.length} characters to other processes was dropped: ${message.kind}`));
      return Promise.resolve();
    }
    // A message that must not arrive twice is not repeated.
    const isOnce = message.kind === "frame" || message.kind === "log";
    const mayPass = () => !isOnce;
    return new Promise((onTried) => {
      const send = async () => this.#cluster.bus.publish(TOPIC, text);
      const sending = this.#retries
        .inBackground(() => send().finally(onTried), { mayPass })
        .catch(this.#report)
        .finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    });
  }

  /** Leaves when all messages are sent, or given up. The other processes would miss the last ones of this one. */
  async close(): Promise<void> {
    this.#closed = true;
    const leave = this.#leave;
    this.#leave = undefined;
    const timer = this.#clock.schedule(() => this.#retries.close(), CLOSE_MS);
    await Promise.all(this.#sending);
    this.#clock.cancel(timer);
    await leave?.();
  }

  /** Joins. Tries again until the engine can be reached, since no message may come that announces it. */
  async #joinWhenReached(): Promise<void> {
    for (let failures = 0; !this.#closed; failures++) {
      try {
        return await this.#join();
      } catch (error) {
        if (failures === 0) this.#report(error);
        await pause(this.#clock, JOIN_PAUSE_MS);
      }
    }
  }

  async #join(): Promise<void> {
    const leave = await this.#cluster.bus.subscribe(TOPIC, (text, from) => this.#onText(text, from));
    if (this.#closed) await leave();
    else this.#leave = leave;
  }

  #onText(text: string, from: string): void {
    if (from === this.#cluster.node) return;
    try {
      this.#receive(JSON.parse(text) as ControlMessage, from);
    } catch (error) {
      this.#report(error);
    }
  }
}
