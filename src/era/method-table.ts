import type { Check } from "../protocol/check.js";

/** What a protocol version says about a request of one method. */
export interface MethodShape {
  /** Checks `params`, which is undefined when the request has none. */
  readonly params: Check;
  /** The params member that names what the request is about, mirrored in the Mcp-Name header. */
  readonly nameFrom?: "name" | "uri" | "taskId";
  /** Who may send it. */
  readonly from: "client" | "server" | "both";
  /** May be answered by a question for input. */
  readonly asks?: boolean;
  /** Its result carries cache hints. */
  readonly cacheable?: boolean;
}

/** The methods that exist; one that is missing here does not. */
export type MethodTable = ReadonlyMap<string, MethodShape>;

/** What the answers to the methods look like: for whoever asks. */
export type ResultTable = ReadonlyMap<string, Check>;

/** The notifications that exist, each with the check of its params. */
export type NotificationTable = ReadonlyMap<string, Check>;
