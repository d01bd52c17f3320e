import type { HttpHeaders } from "../http/exchange.js";

/**
 * Policy of the page: its own script and style, no inline code, no other host, no frame around it, and no text that becomes
 * HTML.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src blob: data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Headers of all responses. There are none for CORS: no other page may read anything. */
export const PAGE_HEADERS: HttpHeaders = {
  "cache-control": "no-store",
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};
