import type { Clock } from "../../../../call/clock.js";
import type { LogMessage } from "../../../server-era.js";
import type { HttpSession } from "../http-session.js";
import type { BroadcastId } from "../shared-sessions.js";
import type { Holder } from "./session-record.js";

/** Time for which messages are kept for streams that move, their maximum number, and their maximum size in all. */
const KEPT_MS = 10_000;
const MAX_KEPT = 256;
const MAX_CHARS = 4_194_304;
/** Maximum number of processes whose numbers are known, and of those that the record of a session names. */
const MAX_SENDERS = 1_000;
const MAX_RECORDED = 100;
/** Time for which the new writer of a stream waits until the former one tells what it has written. */
const WAIT_MS = 1_000;

/** Number of the last message of each process. */
export type Numbers = ReadonlyMap<string, number>;

interface Kept {
  readonly id: BroadcastId;
  readonly message: LogMessage;
  readonly chars: number;
  readonly at: number;
}

/** Process that wrote a stream before, if it is known. */
export interface FormerWriter {
  readonly name: string | undefined;
  /** Last message of each sender that it had received when it left the stream. */
  readonly received?: Holder["received"];
}

const NONE: ReadonlySet<string> = new Set();

/** Standalone stream that this process has taken over, or takes over now. */
interface Takeover {
  /** True until the former writer has told what it has written, or does not answer, or another process takes over. */
  isWaiting: boolean;
  /** Process that wrote the stream before. */
  former: string | undefined;
  /** True if it left the stream before, and a message that it had received then may not be in the log. */
  isLeft: boolean;
  timer: unknown;
  at: number;
  /** What former writers have told. */
  readonly written: Map<string, Numbers>;
  /** Messages that came while this process waited, and those that it has written since. */
  readonly came: Set<string>;
  readonly own: Set<string>;
  /** Messages that are in the log. */
  stored: ReadonlySet<string>;
  /** Called with what the former writer tells if this process does not write the stream any more. */
  onTold: ((written: Numbers) => void) | undefined;
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
  readonly #takeovers = new Map<string, Takeover>();
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
    const [oldest] = this.#received.keys();
    if (this.#received.size > MAX_SENDERS && oldest !== undefined) this.#received.delete(oldest);
    this.#keep(id, message);
    for (const session of this.#options.sessions()) if (session.protocol.isReady) this.#deliver(session, id, message);
  }

  /** Begins a takeover. Messages that come meanwhile wait. */
  begin(session: string): void {
    this.leave(session);
    this.#takeovers.set(session, {
      isWaiting: true,
      former: undefined,
      isLeft: false,
      timer: undefined,
      at: this.#options.clock.now(),
      written: new Map(),
      came: new Set(),
      own: new Set(),
      stored: NONE,
      onTold: undefined,
    });
  }

  /** Ends a takeover that failed. What came meanwhile goes to the stream if this process wrote it before, and still does. */
  fail(session: string): void {
    const takeover = this.#takeovers.get(session);
    if (takeover === undefined) return;
    this.leave(session);
    const local = this.#options.local(session);
    for (const { id, message } of this.#kept) if (takeover.came.has(textOf(id))) local?.protocol.log(message, id);
  }

  /**
   * Takes the former writer, if it may still write or has said what it had `received` when it left, and the messages that
   * are in the log, if there is one.
   */
  taken(session: string, { name: former, received }: FormerWriter, stored?: ReadonlySet<string>): void {
    const takeover = this.#takeovers.get(session);
    if (takeover === undefined) return;
    takeover.former = former;
    takeover.stored = stored ?? NONE;
    takeover.isLeft = received !== undefined && stored !== undefined;
    if (former !== undefined && received !== undefined) takeover.written.set(former, new Map(received));
    if (former === undefined || takeover.written.has(former)) return this.#write(session, takeover);
    takeover.timer = this.#options.clock.schedule(() => {
      this.#write(session, takeover);
      this.#options.onSilent(session, former);
    }, WAIT_MS);
  }

  /** Takes what a former writer of a stream has written. */
  onTold(session: string, from: string, written: Numbers): void {
    const takeover = this.#takeovers.get(session);
    if (takeover === undefined) return;
    takeover.written.set(from, written);
    if (from !== takeover.former) return;
    if (takeover.onTold === undefined) this.#write(session, takeover);
    else takeover.onTold(written);
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
    const takeover = this.#takeovers.get(session);
    if (takeover?.isWaiting) {
      // It has written nothing. The next writer needs to know what the one before has written.
      takeover.isWaiting = false;
      this.#options.clock.cancel(takeover.timer);
      takeover.onTold = (written) => this.#options.tell(session, written);
      const written = takeover.former === undefined ? undefined : takeover.written.get(takeover.former);
      if (written !== undefined) takeover.onTold(written);
      return;
    }
    const written = this.#handled(takeover);
    await settled;
    for (const { from, number } of this.#unwritten.get(session) ?? [])
      written.set(from, Math.min(written.get(from) ?? 0, number - 1));
    this.#unwritten.delete(session);
    this.#options.tell(session, written);
  }

  /** Returns what this process has received for a stream that it leaves. Undefined if it still waits for the former writer. */
  received(session: string): Holder["received"] {
    const takeover = this.#takeovers.get(session);
    return takeover?.isWaiting ? undefined : [...this.#handled(takeover)].slice(-MAX_RECORDED);
  }

  /** Returns the last numbers that this process has received for a stream, or that were written before it took it over. */
  #handled(takeover: Takeover | undefined): Map<string, number> {
    const numbers = new Map(this.#received);
    // Messages that were written before the takeover may still be on their way to this process.
    const before = takeover?.former === undefined ? undefined : takeover.written.get(takeover.former);
    for (const [from, number] of before ?? []) numbers.set(from, Math.max(numbers.get(from) ?? 0, number));
    return numbers;
  }

  /** Forgets the takeover of a stream. */
  leave(session: string): void {
    this.#options.clock.cancel(this.#takeovers.get(session)?.timer);
    this.#takeovers.delete(session);
    this.#unwritten.delete(session);
  }

  close(): void {
    for (const session of [...this.#takeovers.keys()]) this.leave(session);
    this.#kept = [];
  }

  #deliver(session: HttpSession, id: BroadcastId, message: LogMessage): void {
    const takeover = this.#takeovers.get(session.sessionId);
    if (takeover?.isWaiting) takeover.came.add(textOf(id));
    else if (takeover === undefined || isMissing(takeover, id, true)) {
      takeover?.own.add(textOf(id));
      session.protocol.log(message, id);
    }
  }

  /** Writes the messages that the former writer has not written. */
  #write(session: string, takeover: Takeover): void {
    const { clock, local } = this.#options;
    clock.cancel(takeover.timer);
    takeover.isWaiting = false;
    const protocol = local(session)?.protocol;
    for (const { id, message } of this.#kept) {
      if (!isMissing(takeover, id, takeover.came.has(textOf(id)))) continue;
      takeover.own.add(textOf(id));
      protocol?.log(message, id);
    }
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
    for (const [session, { isWaiting, at }] of this.#takeovers)
      if (!isWaiting && now - at > KEPT_MS) this.#takeovers.delete(session);
  }
}

/**
 * True if a message has not been written to a stream that was taken over. `isDue` is true for one that came since the
 * takeover began. An earlier one is missing only if the former writer, or the log, says so.
 */
function isMissing({ written, former, stored, own, isLeft }: Takeover, id: BroadcastId, isDue: boolean): boolean {
  const text = textOf(id);
  if (own.has(text) || stored.has(text)) return false;
  if (isLeft && isDue) return true;
  const last = former === undefined ? undefined : written.get(former)?.get(id.from);
  return last === undefined ? isDue : id.number > last;
}

/** Returns the id as text. It contains no space, as the names of processes do not. */
export function textOf({ from, number }: BroadcastId): string {
  return `${from}:${number}`;
}
