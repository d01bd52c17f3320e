import type { Clock } from "../call/clock.js";

/**
 * Time of the server, as this process knows it. The server stamps each message that it stores, and no request tells its
 * present time. So a message is stored now and then: its stamp was made before its acknowledgement arrived. From there
 * on, the monotonic clock of this process counts. The result is behind the clock of the server by at most the duration
 * of that round trip, and not ahead. So nothing ends early because of it.
 *
 * A message that was read may have a later stamp, which then is the time. In a cluster of servers, a former leader with
 * another clock may have made it. So it counts up to the duration of the round trip, which no stamp of the same clock
 * exceeds.
 */
export class ServerTime {
  readonly #clock: Clock;
  #stamp = 0;
  #at = 0;
  #roundTripMs = 0;
  /** Latest stamp that was seen since. */
  #seen = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Takes the stamp of a message that was stored after `sent` and before `at` on the clock of this process. */
  set(stamp: number, sent: number, at: number): void {
    this.#stamp = stamp;
    this.#at = at;
    this.#roundTripMs = at - sent;
    this.#seen = stamp;
  }

  /** Takes the stamp of a message that was read. */
  saw(stamp: number): void {
    if (stamp > this.#seen) this.#seen = stamp;
  }

  now(): number {
    const least = this.#stamp + this.#clock.now() - this.#at;
    return Math.min(Math.max(this.#seen, least), least + this.#roundTripMs);
  }
}

/** Reads a time of JetStream, as milliseconds since 1970 with their fraction. */
export function stampOf(text: string): number {
  const [whole = "", fraction = "0"] = text.replace(/Z$/, "").split(".");
  return Date.parse(`${whole}Z`) + Number(`0.${fraction}`) * 1_000;
}
