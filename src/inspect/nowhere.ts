import { ConnectionError } from "../protocol/errors.js";

/** True if nobody serves MCP at a URL, so that there may be a server at another path. */
export function isNowhere(error: unknown): boolean {
  return error instanceof ConnectionError && [404, 405].includes(error.status ?? 0);
}
