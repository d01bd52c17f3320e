// Modern has no twin: only sessions have options to decide about.

import { KEEP_ALIVE_MS } from "../../../http/sse/keep-alive.js";
import type { HttpBindingOptions, SessionSettings } from "../../server-era.js";

/** How this era speaks HTTP, with all that was left to it decided. */
export interface BindingOptions extends Omit<HttpBindingOptions, "sessions"> {
  readonly sessions: SessionSettings;
  readonly keepAliveMs: number;
}

export function toBindingOptions(options: HttpBindingOptions): BindingOptions {
  const { sessions, keepAliveMs = KEEP_ALIVE_MS } = options;
  return { ...options, sessions: { ...sessions, enabled: sessions !== false }, keepAliveMs };
}
