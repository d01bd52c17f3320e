import type { Clock } from "../../call/clock.js";
import type { Known } from "../../protocol/known-options.js";
import type { ClientOptions, CommandTarget } from "../options.js";
import type { Variables } from "./config.js";
import type { BackoffOptions } from "./member.js";

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
  readonly backoff?: BackoffOptions | undefined;
  /** Called with each error of a server that no caller gets, and with each error of a server in a listing. */
  readonly onError?: ((error: Error, server: string) => void) | undefined;
  readonly clock?: Clock | undefined;
}

/** Names and types of the options, for the check at run time. */
export const GROUP_OPTIONS: Known<GroupOptions> = {
  client: 1,
  servers: "object",
  process: 1,
  separator: 1,
  maxNameLength: 1,
  variables: "object",
  connectTimeoutMs: "number",
  listTimeoutMs: "number",
  listGraceMs: "number",
  maxItems: "number",
  backoff: "object",
  onError: "function",
  clock: "object",
};

/** Options of a server process besides those in the configuration. */
export type ProcessOptions = Omit<CommandTarget, "command" | "args" | "env" | "cwd">;
