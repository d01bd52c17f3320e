import { systemClock } from "../call/clock.js";
import { ignoreErrors } from "../call/maybe-promise.js";
import type { ChannelTransport } from "../era/channel-transport.js";
import type { ClientEra, ClientRuntime, Connection } from "../era/client-era.js";
import { NO_RECEIVER, type TransportTarget } from "../era/transport.js";
import { type Send, sendBy } from "../http/client/send.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { JsonSchemaValidator } from "../schema/json-schema/types.js";
import { Client } from "./client.js";
import { RestartingConnection, type RestartLimits } from "./connections/restarting.js";
import { UnverifiedConnection } from "./connections/unverified.js";
import { Extensions } from "./extensions.js";
import { type EraMemory, negotiate, type Plan, planAgain, planNegotiation } from "./negotiate.js";
import { openChannel } from "./open-channel.js";
import { type ClientOptions, type CommandTarget, DEFAULTS, type Target, unknownTarget } from "./options.js";
import { ClientCore } from "./runtime.js";
import type { AnyServer } from "./server-types.js";
import { startUpkeep, warnOfDeprecatedUse } from "./upkeep.js";

/** What `connect` is made of: handed in where the package's entries are. */
export interface Dialer {
  readonly eras: readonly ClientEra[];
  readonly memory: EraMemory;
  spawn(target: CommandTarget): Promise<Channel>;
  /** How requests are sent where the author does not say. */
  send(): Promise<Send>;
  /** What compiles schemas of servers: loaded when the first is needed. */
  validator(): Promise<JsonSchemaValidator>;
}

export async function connectWith<S extends AnyServer>(
  dialer: Dialer,
  target: Target,
  options: ClientOptions,
): Promise<Client<S>> {
  const clock = options.clock ?? systemClock;
  const key = addressOf(target);
  const plan = planNegotiation(dialer.eras, options, key === undefined ? undefined : dialer.memory.get(key));
  const core = new ClientCore(options, clock, () => dialer.validator());
  if (options.extensions !== undefined) {
    core.extensions = new Extensions(options, (method) => dialer.eras.some((era) => era.specifies(method)));
  }
  let nextId = () => 0;
  const open = async (runtime: ClientRuntime, plan: Plan, limits: ClientOptions) => {
    const openAgain = async () => {
      const opened = await openWire(dialer, target, limits, core, nextId());
      if (opened.kind === "channel") nextId = () => opened.transport.nextId;
      return opened;
    };
    let wire = await openAgain();
    const reopen = async () => {
      if (wire.kind === "channel") {
        // What never was a connection does not end as one.
        wire.transport.receiver = NO_RECEIVER;
        await wire.transport.close();
      }
      wire = await openAgain();
      return wire;
    };
    try {
      const way = "command" in Object(target) ? { wire, reopen } : { wire };
      const connection = await negotiate(way, plan, runtime, limits, clock);
      if (wire.kind === "channel") wire.transport.assertOpen();
      // From hearsay, and where the author left no choice, nothing is learnt about what the server prefers.
      if (key !== undefined && plan.discovered === undefined && plan.steps.length > 1)
        dialer.memory.set(key, connection.era.name);
      return connection;
    } catch (error) {
      if (wire.kind === "channel") await wire.transport.close();
      throw error;
    }
  };
  const { signal } = options;
  const restart = restartOf(target);
  // What was only handed over, and not yet heard from the server itself, may have become wrong.
  const isHearsay = key !== undefined && plan.discovered !== undefined && plan.steps.length > 1;
  let connection: Connection;
  if (restart !== undefined) {
    connection = await RestartingConnection.open(core, restart, (runtime, again) =>
      again === undefined
        ? open(runtime, plan, options)
        : open(runtime, planAgain(plan, again.known), { ...options, signal: again.signal }),
    );
  } else if (isHearsay) {
    connection = await UnverifiedConnection.open(core, (runtime, signal) =>
      signal === undefined
        ? open(runtime, plan, options)
        : open(runtime, { ...plan, discovered: undefined }, { ...options, signal }),
    );
  } else {
    connection = await open(core, plan, options);
  }
  core.attach(connection, identityOf(target));
  warnOfDeprecatedUse(core);
  const client = new Client<S>(core);
  await startUpkeep(client, core);
  if (signal?.aborted === true) {
    void client.close();
    throw signal.reason;
  }
  ignoreErrors(() => options.onOpen?.(connection.server));
  return client;
}

function restartOf(target: Target): RestartLimits | undefined {
  if (typeof target !== "object" || !("command" in target)) return undefined;
  const { restart = false } = target;
  if (restart === false) return undefined;
  return restart === true ? {} : restart;
}

type OpenWire =
  | Extract<TransportTarget, { kind: "http" }>
  | { readonly kind: "channel"; readonly transport: ChannelTransport };

/** Eras are remembered per origin; processes and channels are asked each time. */
function addressOf(target: Target): string | undefined {
  if (typeof target === "string" || target instanceof URL) return toUrl(target).origin;
  if (typeof target !== "object" || target === null) throw unknownTarget();
  return undefined;
}

/** What tells a server from others when results are kept for several clients. */
function identityOf(target: Target): string {
  if (typeof target === "string" || target instanceof URL) return toUrl(target).href;
  if ("command" in target) return JSON.stringify([target.command, target.args ?? [], target.cwd ?? null]);
  return crypto.randomUUID();
}

async function openWire(
  dialer: Dialer,
  target: Target,
  options: ClientOptions,
  client: ClientCore,
  firstId: number,
): Promise<OpenWire> {
  if (typeof target === "string" || target instanceof URL) {
    return {
      kind: "http",
      target: {
        url: toUrl(target),
        send: options.fetch === undefined ? await dialer.send() : sendBy(options.fetch),
        headers: options.headers ?? {},
        clock: client.clock,
        paramHeaders: client.tools.paramHeaders,
        nameFrom: (method) => client.extensions?.nameFrom(method),
        maxMessageBytes: options.maxMessageBytes ?? DEFAULTS.maxMessageBytes,
        sse: options.sse,
        reconnect: options.reconnect,
      },
    };
  }
  return {
    kind: "channel",
    transport: await openChannel((command) => dialer.spawn(command), target, options, client, firstId),
  };
}

function toUrl(target: string | URL): URL {
  if (/^https?:/i.test(String(target)) && URL.canParse(String(target))) return new URL(target);
  // Without what may be secret.
  const shown = JSON.stringify(String(target).replace(/\?.*|.*@/s, ""));
  throw unknownTarget(`: ${shown} is not a URL with http:// or https://`);
}
