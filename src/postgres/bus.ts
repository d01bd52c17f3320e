import { ignoreErrors } from "../call/maybe-promise.js";
import type { Bus } from "../cluster/cluster.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import { ClusterError } from "../cluster/error.js";
import type { Row } from "./client.js";
import type { Engine } from "./engine.js";
import type { Outbox } from "./outbox.js";
import type { Names } from "./tables.js";

/** Maximum number of messages that one statement reads. */
const PAGE = 500;

/** Maximum number of senders that are known. A sender beyond it replaces the one that was silent for longest. */
const MAX_SENDERS = 10_000;

interface Subscription {
  readonly listener: (text: string, from: string) => void;
  /** Messages up to this id were published before the subscription. */
  since: bigint;
}

/** Sender with the number of its last message that was read, and of the last one that is known to exist. */
interface Sender {
  read: number;
  known: number;
}

/**
 * Messages by a table, announced by NOTIFY with the name of the sender and the numbers of the messages. A number that is
 * left out is a gap, and so is a lost connection.
 */
export class PostgresBus implements Bus {
  readonly #engine: Engine;
  readonly #names: Names;
  readonly #outbox: Outbox;
  readonly #isUp: () => boolean;
  readonly #topics = new Map<string, Set<Subscription>>();
  readonly #gaps = new Set<() => void>();
  readonly #senders = new Map<string, Sender>();
  #isReading = false;

  constructor(engine: Engine, names: Names, outbox: Outbox, isUp: () => boolean) {
    this.#engine = engine;
    this.#names = names;
    this.#outbox = outbox;
    this.#isUp = isUp;
  }

  publish(topic: string, text: string): Promise<void> {
    return this.#outbox.publish(topic, text);
  }

  async subscribe(topic: string, listener: (text: string, from: string) => void): Promise<() => void> {
    // Messages with a lower id were published before. The highest id is not enough, since the table may be empty.
    const text = `select nextval(pg_get_serial_sequence('${this.#names.of("messages")}', 'id'))::text as id`;
    const [row] = await this.#engine.run({ operation: "subscribe", text, isRead: true });
    if (!this.#isUp())
      throw new ClusterError(
        "unavailable",
        `Bus, subscribe to ${topic}: the connection that listens is being reopened.`,
      );
    const subscription = { listener, since: BigInt(row?.id ?? 0) };
    const found = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, found.add(subscription));
    return () => {
      found.delete(subscription);
      if (found.size === 0 && this.#topics.get(topic) === found) this.#topics.delete(topic);
    };
  }

  onGap(listener: () => void): () => void {
    const entry = () => listener();
    this.#gaps.add(entry);
    return () => void this.#gaps.delete(entry);
  }

  /** Tells that messages may have been missed. */
  gap(): void {
    for (const tell of [...this.#gaps]) ignoreErrors(tell);
  }

  /**
   * Forgets what the senders had sent, since a connection was lost. All messages that are announced from now on come after
   * the subscriptions. Their ids may be lower: a server that crashed begins anew, since the table is unlogged.
   */
  reset(): void {
    this.#senders.clear();
    for (const found of this.#topics.values()) for (const subscription of found) subscription.since = 0n;
    this.gap();
  }

  /** Ends all subscriptions. */
  close(): void {
    this.#topics.clear();
    this.#gaps.clear();
  }

  /** Takes the numbers of messages of a sender, those from `first` to `last`. */
  announced(from: string, first: number, last: number): void {
    let sender = this.#senders.get(from);
    if (sender === undefined) sender = { read: first - 1, known: first - 1 };
    // A sender that is heard moves to the end, so that the first one is the one that was silent for longest.
    this.#senders.delete(from);
    this.#senders.set(from, sender);
    if (this.#senders.size > MAX_SENDERS) {
      const [oldest] = this.#senders.keys();
      this.#senders.delete(oldest as string);
    }
    sender.known = Math.max(sender.known, last);
    if (sender.known > sender.read && !this.#isReading) this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      for (let behind = this.#behind(); behind.length > 0; behind = this.#behind()) await this.#readPage(behind);
    } catch {
      for (const sender of this.#senders.values()) sender.read = sender.known;
      this.gap();
    } finally {
      this.#isReading = false;
    }
  }

  #behind() {
    const behind = [...this.#senders].filter(([, { read, known }]) => known > read);
    return behind.slice(0, PAGE).map(([name, sender]) => ({ name, sender, read: sender.read, known: sender.known }));
  }

  async #readPage(behind: readonly { name: string; sender: Sender; read: number; known: number }[]): Promise<void> {
    const wanted = JSON.stringify(behind.map(({ name, read, known }) => ({ name, read, known })));
    const topics = JSON.stringify([...this.#topics.keys()].map(toStored));
    const text = `select m.sender, m.seq::text, m.id::text, m.topic,
        case when $2::text::jsonb ? m.topic then m.text end as text
      from jsonb_to_recordset($1::text::jsonb) as x(name text, read bigint, known bigint)
      join ${this.#names.of("messages")} m on m.sender = x.name and m.seq > x.read and m.seq <= x.known
      order by m.sender, m.seq limit ${PAGE}`;
    const rows = await this.#engine.run({ operation: "read messages", text, isRead: true }, wanted, topics);
    let isGap = false;
    for (const row of rows) isGap = this.#deliver(row) || isGap;
    // Messages that are not in a page with room for them are not in the table.
    if (rows.length < PAGE)
      for (const { sender, known } of behind) {
        isGap ||= sender.read < known;
        sender.read = Math.max(sender.read, known);
      }
    if (isGap) this.gap();
  }

  /** Delivers a message. Returns true if the one before it is missing. */
  #deliver(row: Row): boolean {
    const { sender: from, seq, id, topic, text } = row;
    const sender = this.#senders.get(from ?? "");
    const number = Number(seq);
    if (sender === undefined || from == null || number <= sender.read) return false;
    const isGap = number !== sender.read + 1;
    sender.read = number;
    if (text === null || text === undefined) return isGap;
    const message = fromStored(text);
    for (const { listener, since } of [...(this.#topics.get(fromStored(topic)) ?? [])])
      if (BigInt(id ?? 0) > since) ignoreErrors(() => listener(message, from));
    return isGap;
  }
}
