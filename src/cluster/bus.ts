import { ignoreErrors } from "../call/maybe-promise.js";
import { dropOldest } from "../protocol/oldest.js";
import type { Bus } from "./cluster.js";
import { ClusterError, closedError } from "./error.js";
import type { Operations } from "./operations.js";

type Listener = (text: string, from: string) => void;

/** Maximum number of senders whose numbers are known. The one that was silent for the longest time is forgotten. */
const MAX_SENDERS = 10_000;

/** Maximum number of texts that are sent at once, and of those that wait. */
const MAX_SENT = 500;
const MAX_UNSENT = 10_000;

/** Number of own heartbeats that may be missing before the connection that receives counts as stuck. */
const MAX_UNHEARD = 2;

/** Begin of the text of a message, and of a heartbeat. Sender and number follow, then the topic and the message. */
const MESSAGE = "m";
const HEARTBEAT = "h";
const FORM = /^([mh]) (\S{1,64}) (\d{1,15})(?: (\S*)\n|$)/;

interface Unsent {
  readonly text: string;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Messages to all processes. Each process numbers its messages, and tells the number of the last one by its heartbeats, so
 * that the others notice when one was lost.
 */
export class StoreBus implements Bus {
  readonly #operations: Operations;
  readonly #topics = new Map<string, Set<Listener>>();
  readonly #gaps = new Set<() => void>();
  /** Number of the last message by sender. */
  readonly #lastOf = new Map<string, number>();
  readonly #onGap: () => void;
  #sent = 0;
  #unsent: Unsent[] = [];
  #isSending = false;
  #unheard = 0;

  /** `onGap` is called before the listeners when messages may have been missed. */
  constructor(operations: Operations, onGap: () => void) {
    this.#operations = operations;
    this.#onGap = onGap;
  }

  publish(topic: string, text: string): Promise<void> {
    const what = `publish to topic ${JSON.stringify(topic)}`;
    if (this.#operations.closing.aborted) return Promise.reject(closedError(what));
    const number = ++this.#sent;
    return this.#send(`${MESSAGE} ${this.#operations.node} ${number} ${nameOf(topic)}\n${text}`);
  }

  async subscribe(topic: string, listener: Listener): Promise<() => void> {
    const what = `subscribe to topic ${JSON.stringify(topic)}`;
    if (this.#operations.closing.aborted) throw closedError(what);
    // What is published from now on comes after this text.
    await this.#send(this.#heartbeat());
    if (!this.#operations.store.isUp)
      throw new ClusterError("unavailable", `${what}: the engine sends nothing to this process; try again`);
    const own: Listener = (text, from) => listener(text, from);
    const name = nameOf(topic);
    const listeners = this.#topics.get(name) ?? new Set();
    this.#topics.set(name, listeners.add(own));
    return () => {
      if (listeners.delete(own) && listeners.size === 0) this.#topics.delete(name);
    };
  }

  onGap(listener: () => void): () => void {
    const own = () => listener();
    this.#gaps.add(own);
    return () => void this.#gaps.delete(own);
  }

  /** Tells that messages may have been missed. */
  gap(): void {
    this.#onGap();
    for (const listener of [...this.#gaps]) ignoreErrors(listener);
  }

  /** Tells that texts of the store may have been missed. The numbers begin anew. */
  missed(): void {
    this.#lastOf.clear();
    this.#unheard = 0;
    this.gap();
  }

  /** Sends the number of the last message. */
  beat(): void {
    if (this.#unheard >= MAX_UNHEARD) {
      this.#unheard = 0;
      this.#operations.store.listenAgain?.();
    }
    this.#unheard++;
    this.#send(this.#heartbeat()).catch(() => {
      // The engine is away. What was missed is told when it is back.
      this.#unheard = 0;
    });
  }

  /** Takes a text of the store. Texts of another form are ignored. */
  onText(text: string): void {
    const [head = "", kind, from = "", last, topic] = FORM.exec(text) ?? [];
    if (kind === undefined) return;
    if (from === this.#operations.node) this.#unheard = 0;
    const number = Number(last);
    if (kind === HEARTBEAT) this.#count(from, number, number);
    else if (this.#count(from, number - 1, number)) this.#deliver(topic ?? "", text.slice(head.length), from);
  }

  /** Sends what waits, and the number of the last message, so that others notice if they have missed it. */
  async close(): Promise<void> {
    this.#topics.clear();
    this.#gaps.clear();
    await this.#send(this.#heartbeat()).catch(() => {});
  }

  #heartbeat(): string {
    return `${HEARTBEAT} ${this.#operations.node} ${this.#sent}`;
  }

  #deliver(name: string, text: string, from: string): void {
    for (const listener of [...(this.#topics.get(name) ?? [])]) ignoreErrors(() => listener(text, from));
  }

  /** Notes the number of the last message of a sender, after `before`. Returns false for a number that came before. */
  #count(from: string, before: number, last: number): boolean {
    const known = this.#lastOf.get(from);
    if (known !== undefined && last <= known) return false;
    this.#lastOf.delete(from);
    this.#lastOf.set(from, last);
    dropOldest(this.#lastOf, MAX_SENDERS);
    if (known !== undefined && known !== before) this.gap();
    return true;
  }

  /** Sends a text after those before it. Texts that come while others are sent go together. */
  #send(text: string): Promise<void> {
    if (this.#unsent.length >= MAX_UNSENT) {
      const full = `publish: ${MAX_UNSENT} messages wait to be sent already; limit concurrent calls`;
      return Promise.reject(new ClusterError("unavailable", full));
    }
    return new Promise((resolve, reject) => {
      this.#unsent.push({ text, resolve, reject });
      if (!this.#isSending) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isSending = true;
    while (this.#unsent.length > 0) {
      const batch = this.#unsent.splice(0, MAX_SENT);
      try {
        await this.#operations.store.send(batch.map(({ text }) => text));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.#isSending = false;
  }
}

/** Returns the form of a topic without spaces and line ends. */
const nameOf = (topic: string) => JSON.stringify(topic).replaceAll(" ", "\\u0020");
