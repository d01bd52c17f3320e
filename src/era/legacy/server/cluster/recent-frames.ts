/** Maximum number of messages per session. The oldest are dropped first. */
const MAX_KEPT = 32;

/**
 * Messages on the standalone streams that this process has taken over. A message to all clients reaches the new writer of
 * a stream directly, and by way of the former writer if that could not store it. It must be written once.
 */
export class RecentFrames {
  /** For each session: how often a message came directly, less how often it was passed on. */
  readonly #sessions = new Map<string, Map<string, number>>();

  /** Begins anew, since this process takes a stream over. */
  begin(session: string): void {
    this.#sessions.set(session, new Map());
  }

  leave(session: string): void {
    this.#sessions.delete(session);
  }

  /** Counts a message that came directly. Returns false if it was written when it was passed on. */
  isNew(session: string, frame: string): boolean {
    return this.#count(session, frame, 1) > 0;
  }

  /** Counts a message that was passed on. Returns false if it was written when it came directly. */
  isNewPassedOn(session: string, frame: string): boolean {
    return this.#count(session, frame, -1) < 0;
  }

  /** Returns the messages that came directly. */
  direct(session: string): readonly string[] {
    return [...(this.#sessions.get(session) ?? [])].filter(([, count]) => count > 0).map(([frame]) => frame);
  }

  /** Takes back a message that this process could not write. */
  forget(session: string, frame: string): void {
    this.#sessions.get(session)?.delete(frame);
  }

  #count(session: string, frame: string, step: number): number {
    const frames = this.#sessions.get(session);
    if (frames === undefined) return step;
    const count = (frames.get(frame) ?? 0) + step;
    frames.delete(frame);
    frames.set(frame, count);
    const [oldest] = frames.keys();
    if (frames.size > MAX_KEPT && oldest !== undefined) frames.delete(oldest);
    return count;
  }
}
