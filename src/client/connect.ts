import { systemClock } from "../call/clock.js";
import { ChannelLink } from "../era/channel-link.js";
import type { ClientEra, Connection } from "../era/client-era.js";
import type { ClientWire } from "../era/link.js";
import type { Channel } from "../jsonrpc/channel.js";
import { createChannelPair } from "../jsonrpc/memory-channel.js";
import { McpError } from "../schema/errors.js";
import { type AnyServer, Client } from "./client.js";
import { type EraMemory, negotiate, planNegotiation } from "./negotiate.js";
import { type ClientOptions, DEFAULTS } from "./options.js";

/** A server process to start. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly stderr?: "inherit" | "pipe" | "ignore" | ((line: string) => void);
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

/** What `connect` is made of: handed in where the package's entries are. */
export interface Dialer {
  readonly eras: readonly ClientEra[];
  readonly memory: EraMemory;
  spawn(target: CommandTarget): Promise<Channel>;
}

export async function connectWith<S extends AnyServer>(
  dialer: Dialer,
  target: Target,
  options: ClientOptions,
): Promise<Client<S>> {
  const clock = options.clock ?? systemClock;
  const key = addressOf(target);
  const plan = planNegotiation(dialer.eras, options, key === undefined ? undefined : dialer.memory.get(key));
  const client = new Client<S>(options, clock);
  const wire = await openWire(dialer, target, options, client);
  try {
    const connection = await negotiate(wire, plan, client, options, clock);
    client.attach(connection);
    const { logLevel } = options;
    if (logLevel !== undefined && logs(connection)) await client.setLogLevel(logLevel);
    // Where the author left no choice, nothing was learnt about what the server prefers.
    if (key !== undefined && plan.steps.length > 1) dialer.memory.set(key, connection.era.name);
    return client;
  } catch (error) {
    if (wire.kind === "channel") await wire.link.close();
    throw error;
  }
}

/** A server that was not asked what it can do may log. */
function logs({ era, server }: Connection): boolean {
  return server.capabilities.logging !== undefined || !era.handshakes;
}

/** Eras are remembered per origin; processes and channels are asked each time. */
function addressOf(target: Target): string | undefined {
  if (typeof target !== "string" && !(target instanceof URL)) return undefined;
  return toUrl(target).origin;
}

async function openWire(
  dialer: Dialer,
  target: Target,
  options: ClientOptions,
  client: Client<AnyServer>,
): Promise<ClientWire> {
  if (typeof target === "string" || target instanceof URL) {
    return {
      kind: "http",
      target: {
        url: toUrl(target),
        fetch: options.fetch ?? ((url, init) => fetch(url, init)),
        headers: options.headers ?? {},
        clock: client.clock,
        paramHeaders: (tool) => client.paramHeaders(tool),
        maxMessageBytes: options.maxMessageBytes ?? DEFAULTS.maxMessageBytes,
      },
    };
  }
  const link = new ChannelLink(await openChannel(dialer, target));
  await link.open();
  return { kind: "channel", link };
}

async function openChannel(dialer: Dialer, target: CommandTarget | LocalTarget | ChannelTarget): Promise<Channel> {
  if ("channel" in target) return target.channel;
  if ("command" in target) return dialer.spawn(target);
  if ("accept" in target && typeof target.accept === "function") {
    const [ours, theirs] = createChannelPair();
    await target.accept(theirs);
    return ours;
  }
  throw new McpError("unknown_target", "connect needs a URL, a command, a server or a channel");
}

function toUrl(target: string | URL): URL {
  if (!URL.canParse(String(target))) throw new McpError("unknown_target", "connect: the address is not a URL");
  const url = new URL(target);
  if (url.protocol === "http:" || url.protocol === "https:") return url;
  throw new McpError("unknown_target", `connect: cannot reach a server by ${url.protocol}`);
}
