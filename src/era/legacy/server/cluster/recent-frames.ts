import type { Clock } from "../../../../call/clock.js";

/** Maximum number of messages per session. The oldest are dropped first. */
const MAX_KEPT = 64;
/** True for a log message. Such messages are not repeated, others may be. */
export function isLogMessage(frame: string): boolean {
  return frame.startsWith('{"jsonrpc":"2.0","method":"notifications/message"');
}
/** Time after a takeover in which a message may come that the former writer has stored. */
const OVERLAP_MS = 5_000;

interface Takeover {
  readonly at: number;
  /** Log messages, with the number of times that each process passed them on. "" is for those that came directly. */
  readonly counts: Map<string, Map<string, number>>;
  /** Messages that the former writer has stored last. */
  stored: readonly string[];
  /** True if messages were dropped, so that a message that is passed on may have come directly. */
  isIncomplete: boolean;
}

/**
 * Messages on the standalone streams that this process has taken over. A message to all clients reaches the new writer of
 * a stream directly, and by way of former writers, which may have stored it or pass it on. It must be written once.
 */
export class RecentFrames {
  readonly #clock: Clock;
  readonly #sessions = new Map<string, Takeover>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a takeover. Messages of one that began a moment ago may still wait to be written, so they count on. */
  begin(session: string): void {
    const at = this.#clock.now();
    const before = this.#sessions.get(session);
    const { counts, isIncomplete } =
      before !== undefined && at - before.at <= OVERLAP_MS
        ? before
        : { counts: new Map<string, Map<string, number>>(), isIncomplete: false };
    this.#sessions.set(session, { at, counts, stored: [], isIncomplete });
  }

  leave(session: string): void {
    this.#sessions.delete(session);
  }

  /** Takes the messages that the former writer has stored. Returns those that wait to be written here as well. */
  onStored(session: string, frames: readonly string[]): readonly string[] {
    const takeover = this.#sessions.get(session);
    if (takeover === undefined) return [];
    // Other messages than those of logs may be equal, and mean something new.
    const known = frames.filter((frame) => isLogMessage(frame) && takeover.counts.has(frame));
    takeover.stored = frames.filter((frame) => !known.includes(frame));
    return known;
  }

  /** Counts a message that came directly. Returns false if it was written before. */
  isNew(session: string, frame: string): boolean {
    const takeover = this.#sessions.get(session);
    if (takeover === undefined) return true;
    const isStored = takeover.stored.includes(frame) && this.#clock.now() - takeover.at <= OVERLAP_MS;
    takeover.stored = takeover.stored.filter((other) => other !== frame);
    // It may be passed on as well, by a process that wrote the stream before the former writer did.
    return isNext(takeover, frame, "") && !isStored;
  }

  /**
   * Counts a message that a process passed on. Returns false if it was written before, here or by the former writer. Other
   * messages than those of logs may come twice.
   */
  isNewPassedOn(session: string, frame: string, from: string): boolean {
    const takeover = this.#sessions.get(session);
    if (takeover === undefined) return true;
    if (takeover.stored.includes(frame)) return false;
    return !isLogMessage(frame) || (isNext(takeover, frame, from) && !takeover.isIncomplete);
  }

  /** Takes back a message that this process could not write. */
  forget(session: string, frame: string): void {
    this.#sessions.get(session)?.counts.delete(frame);
  }
}

/** Counts a message. Returns true if no other way has brought it as often. */
function isNext(takeover: Takeover, frame: string, from: string): boolean {
  const { counts } = takeover;
  const ways = counts.get(frame) ?? new Map<string, number>();
  const most = Math.max(0, ...ways.values());
  const sum = (ways.get(from) ?? 0) + 1;
  counts.delete(frame);
  counts.set(frame, ways.set(from, sum));
  const [oldest] = counts.keys();
  if (counts.size > MAX_KEPT && oldest !== undefined) {
    counts.delete(oldest);
    takeover.isIncomplete = true;
  }
  return sum > most;
}
