// Modern has no twin: only sessions have options to decide about.

import { KEEP_ALIVE_MS, MAX_BEHIND } from "../../defaults.js";
import type { HttpBindingOptions, SessionLimits } from "../../server-era.js";

const SESSIONS = { enabled: true, idleMs: 30 * 60_000, max: 10_000 };

/** How this era speaks HTTP, with all that was left to it decided. */
export interface BindingOptions extends Omit<HttpBindingOptions, "sessions"> {
  readonly sessions: SessionLimits;
  readonly keepAliveMs: number;
  readonly maxBehind: number;
}

export function toBindingOptions(options: HttpBindingOptions): BindingOptions {
  const { sessions, keepAliveMs = KEEP_ALIVE_MS, maxBehind = MAX_BEHIND } = options;
  const limits = sessions === false ? { ...SESSIONS, enabled: false } : { ...SESSIONS, ...sessions };
  return { ...options, sessions: limits, keepAliveMs, maxBehind };
}
