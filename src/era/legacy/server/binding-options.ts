// The modern era has no such file: only sessions need defaults.

import { KEEP_ALIVE_MS } from "../../../http/sse/keep-alive.js";
import type { HttpBindingOptions, SessionSettings } from "../../server-era.js";

/** Options of the HTTP side of this era, with defaults applied. */
export interface BindingOptions extends Omit<HttpBindingOptions, "sessions"> {
  readonly sessions: SessionSettings;
  readonly keepAliveMs: number;
}

export function toBindingOptions(options: HttpBindingOptions): BindingOptions {
  const { sessions, keepAliveMs = KEEP_ALIVE_MS } = options;
  return { ...options, sessions: { ...sessions, enabled: sessions !== false }, keepAliveMs };
}
