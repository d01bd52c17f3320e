import { McpError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { RestartLimits } from "./connections/restarting.js";

/** A server process to start. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stderr?: "inherit" | "pipe" | "ignore" | ((line: string) => void);
  /** The longest line accepted from the server, in bytes. 32 MiB unless given. */
  readonly maxLineBytes?: number;
  /** How long closing waits after the end of the server's input, and again after SIGTERM. 2000 each unless given. */
  readonly shutdown?: { readonly stdinMs?: number; readonly termMs?: number };
  /**
   * Whether a process that goes away unasked is started again. Calls that it had not answered are lost; later calls and
   * open watches go on with the new one. It is not unless told so.
   */
  readonly restart?: boolean | RestartLimits;
}

/** A server in this process. */
export interface LocalTarget {
  accept(channel: Channel): Promise<{ close(): Promise<void> }>;
}

/** A channel of the author's own: a WebSocket, a pipe, anything that carries frames. */
export interface ChannelTarget {
  readonly channel: Channel;
}

/** What to connect to: an address, a command, a server in this process, or a channel. */
export type Target = string | URL | CommandTarget | LocalTarget | ChannelTarget;

const NEEDED = " needs a URL, { command, args }, a server of this process or { channel }";

export function unknownTarget(problem = NEEDED): McpError {
  return new McpError("unknown_target", `connect${problem}`);
}
