import type { Clock } from "../../call/clock.js";
import type { Known } from "../../protocol/known-options.js";
import { CLIENT_OPTIONS, type ClientOptions, type CommandTarget, PROCESS_OPTIONS } from "../options.js";
import type { Variables } from "./config.js";
import { BACKOFF_OPTIONS, type BackoffOptions } from "./member.js";

/** Options of a group. */
export interface GroupOptions {
  /** Client options of all servers, or a function of the server's name. */
  readonly client?: ClientOptions | ((server: string) => ClientOptions) | undefined;
  /** Client options of individual servers. Interceptors are added, other options replace those of `client`. */
  readonly servers?: { readonly [server: string]: ClientOptions } | undefined;
  /** Options of server processes, or a function of the server's name. */
  readonly process?: ProcessOptions | ((server: string) => ProcessOptions) | undefined;
  /**
   * Text between the name of the server and the name of the tool or prompt: one to four times the same
   * character `_`, `-` or `.`.
   * @default "__"
   */
  readonly separator?: string | undefined;
  /**
   * Maximum length of a tool or prompt name in the group.
   * @default 128
   */
  readonly maxNameLength?: number | undefined;
  /**
   * Values for `${NAME}` in the configuration.
   * @default the environment of this process
   */
  readonly variables?: Variables | undefined;
  /**
   * Maximum time to connect to a server.
   * @default 30_000
   */
  readonly connectTimeoutMs?: number | undefined;
  /**
   * Maximum time for a listing of a server, including the time to connect.
   * @default 15_000
   */
  readonly listTimeoutMs?: number | undefined;
  /**
   * Time that a listing waits for other servers after the first one has listed. A late server is in `failures` of the
   * listing. It continues to connect, and a watch reports when it is ready.
   * @default 3000
   */
  readonly listGraceMs?: number | undefined;
  /**
   * Maximum number of items of a listing per server.
   * @default 5000
   */
  readonly maxItems?: number | undefined;
  /** Delays between attempts to connect to a server that failed. */
  readonly backoff?: BackoffOptions | undefined;
  /** Called with each error of a server that no caller gets, and with each error of a server in a listing. */
  readonly onError?: ((error: Error, server: string) => void) | undefined;
  /** Source of time, for tests: `FakeClock` of `bowline/testing`. */
  readonly clock?: Clock | undefined;
}

export const GROUP_OPTIONS: Known<GroupOptions> = {
  client: [{ object: CLIENT_OPTIONS, function: "any" }],
  servers: [{ map: CLIENT_OPTIONS }],
  process: [{ object: PROCESS_OPTIONS, function: "any" }],
  separator: "any",
  maxNameLength: "any",
  variables: [{ map: "string", function: "any" }],
  connectTimeoutMs: "ms",
  listTimeoutMs: "ms",
  listGraceMs: "ms",
  maxItems: "limit",
  backoff: BACKOFF_OPTIONS,
  onError: "function",
  clock: "object",
};

/** Options of a server process besides those in the configuration. */
export type ProcessOptions = Omit<CommandTarget, "command" | "args" | "env" | "cwd">;
