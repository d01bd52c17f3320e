import type { Known } from "../protocol/known-options.js";

/** Times of the pings to a peer. */
export interface PingOptions {
  /** Time from the response to a ping, or from its timeout, to the next ping. */
  readonly intervalMs: number;
  /** Maximum time until the response. */
  readonly timeoutMs: number;
}

export const PING_OPTIONS: Known<PingOptions> = {
  intervalMs: [{ number: "period" }, "required"],
  timeoutMs: [{ number: "ms" }, "required"],
};
