import type { Clock } from "../../../../call/clock.js";
import { dropOldest } from "../../../../protocol/oldest.js";
import type { LogMessage } from "../../../server-era.js";
import type { HttpSession } from "../http-session.js";
import type { BroadcastId } from "../shared-sessions.js";
import type { Holder } from "./session-record.js";
import { type FormerWriter, type Numbers, StreamTakeover } from "./stream-takeover.js";

/** Time for which messages are kept for streams that move, their maximum number, and their maximum size in all. */
const KEPT_MS = 10_000;
const MAX_KEPT = 256;
const MAX_CHARS = 4_194_304;
/** Maximum number of processes whose numbers are known, and of those that the record of a session names. */
const MAX_SENDERS = 1_000;
const MAX_RECORDED = 100;

interface Kept {
  readonly id: BroadcastId;
  readonly message: LogMessage;
  readonly chars: number;
  readonly at: number;
}

/** Takeover of a standalone stream, and when it began. */
interface Begun {
  readonly takeover: StreamTakeover;
  readonly at: number;
}

export interface BroadcastsOptions {
  readonly node: string;
  readonly clock: Clock;
  /** Returns the local part of a session. */
  local(session: string): HttpSession | undefined;
  /** Sessions of this process. */
  sessions(): Iterable<HttpSession>;
  /** Tells the other processes which messages this one has written to a stream that it no longer writes. */
  tell(session: string, written: Numbers): void;
  /** Called if the former writer of a stream does not tell what it has written. */
  onSilent(session: string, former: string): void;
}

/**
 * Messages to all clients. Every process receives each of them, with the number that its sender gave it, and writes it to
 * the standalone streams of which it is the writer. A process that takes a stream over waits until the former writer has
 * told the last number of each sender that it has handled. Then it writes the later messages, so that each is written once.
 */
export class Broadcasts {
  readonly #options: BroadcastsOptions;
  readonly #takeovers = new Map<string, Begun>();
  /** Number of the last message of each sender, the one that was heard last at the end. */
  readonly #received = new Map<string, number>();
  /** Messages that this process could not store, by session. */
  readonly #unwritten = new Map<string, BroadcastId[]>();
  #kept: Kept[] = [];
  #chars = 0;
  #sent = 0;

  constructor(options: BroadcastsOptions) {
    this.#options = options;
  }

  /** Sends a message of this process to the clients here. Returns its number. */
  send(message: LogMessage): number {
    const number = ++this.#sent;
    this.receive({ from: this.#options.node, number }, message);
    return number;
  }

  /** Sends a message to the clients of this process. */
  receive(id: BroadcastId, message: LogMessage): void {
    this.#received.delete(id.from);
    this.#received.set(id.from, id.number);
    dropOldest(this.#received, MAX_SENDERS);
    this.#keep(id, message);
    for (const { sessionId, protocol } of this.#options.sessions())
      if (protocol.isReady && this.#of(sessionId)?.isDue(id) !== false) protocol.log(message, id);
  }

  /** Begins a takeover. Messages that come meanwhile wait. */
  begin(session: string): void {
    this.leave(session);
    const { clock, tell, onSilent } = this.#options;
    const takeover = new StreamTakeover({
      clock,
      write: (isMissing) => this.#writeKept(session, isMissing),
      tell: (written) => tell(session, written),
      onSilent: (former) => onSilent(session, former),
    });
    this.#takeovers.set(session, { takeover, at: clock.now() });
  }

  /** Ends a takeover that failed. What came meanwhile goes to the stream if this process wrote it before, and still does. */
  fail(session: string): void {
    const takeover = this.#of(session);
    if (takeover === undefined) return;
    this.leave(session);
    this.#writeKept(session, (id) => takeover.hasWaited(id));
  }

  /** Ends a takeover that another process has overtaken. */
  lose(session: string, { name }: FormerWriter): void {
    this.#of(session)?.lose(name);
  }

  /** Takes the former writer, and the messages that are in the log, if there is one. */
  taken(session: string, former: FormerWriter, stored?: ReadonlySet<string>): void {
    this.#of(session)?.taken(former, stored);
  }

  /** Takes what another process has written to a stream. */
  onTold(session: string, from: string, written: Numbers): void {
    this.#of(session)?.onTold(from, written);
  }

  /** Notes a message that this process could not store, unless it has left the session. */
  onUnwritten(session: string, id: BroadcastId): void {
    if (this.#options.local(session) === undefined) return;
    const ids = this.#unwritten.get(session);
    if (ids === undefined) this.#unwritten.set(session, [id]);
    else ids.push(id);
  }

  /** Tells what this process has written when no message waits for the log any more. Called when it is the writer no longer. */
  async release(session: string, settled: Promise<void>): Promise<void> {
    const takeover = this.#of(session);
    if (takeover?.lose()) return;
    const written = this.#handled(takeover);
    await settled;
    for (const { from, number } of this.#unwritten.get(session) ?? [])
      written.set(from, Math.min(written.get(from) ?? 0, number - 1));
    this.#unwritten.delete(session);
    this.#options.tell(session, written);
  }

  /** Returns what this process has received for a stream that it leaves. Undefined if it has not written to the stream. */
  received(session: string): Holder["received"] {
    const takeover = this.#of(session);
    if (takeover?.isOpen || takeover?.isLost) return undefined;
    return [...this.#handled(takeover)].slice(-MAX_RECORDED);
  }

  /** Forgets the takeover of a stream. */
  leave(session: string): void {
    this.#of(session)?.close();
    this.#takeovers.delete(session);
    this.#unwritten.delete(session);
  }

  close(): void {
    for (const session of [...this.#takeovers.keys()]) this.leave(session);
    this.#kept = [];
  }

  #of(session: string): StreamTakeover | undefined {
    return this.#takeovers.get(session)?.takeover;
  }

  /** Returns the last numbers that this process has received for a stream, or that were written before it took it over. */
  #handled(takeover: StreamTakeover | undefined): Map<string, number> {
    const numbers = new Map(this.#received);
    // Messages that were written before the takeover may still be on their way to this process.
    for (const [from, number] of takeover?.written ?? []) numbers.set(from, Math.max(numbers.get(from) ?? 0, number));
    return numbers;
  }

  #writeKept(session: string, isChosen: (id: BroadcastId) => boolean): void {
    const local = this.#options.local(session);
    for (const { id, message } of this.#kept) if (isChosen(id)) local?.protocol.log(message, id);
  }

  /** Keeps a message for streams that move. */
  #keep(id: BroadcastId, message: LogMessage): void {
    const now = this.#options.clock.now();
    const chars = JSON.stringify(message).length;
    this.#kept.push({ id, message, chars, at: now });
    this.#chars += chars;
    for (let [first] = this.#kept; first !== undefined; [first] = this.#kept) {
      if (this.#kept.length <= MAX_KEPT && this.#chars <= MAX_CHARS && now - first.at <= KEPT_MS) break;
      this.#kept.shift();
      this.#chars -= first.chars;
    }
    for (const [session, { takeover, at }] of this.#takeovers)
      if (!takeover.isOpen && now - at > KEPT_MS) this.#takeovers.delete(session);
  }
}
