import { systemClock } from "../call/clock.js";
import { ignoreErrors } from "../call/maybe-promise.js";
import type { ChannelTransport } from "../era/channel-transport.js";
import type { ClientEra, ClientRuntime, Connection } from "../era/client-era.js";
import type { ClientLimits } from "../era/client-limits.js";
import { NO_RECEIVER, type TransportTarget } from "../era/transport.js";
import { withSchemeAdvice } from "../http/client/failures.js";
import type { Fetch, Send } from "../http/client/send.js";
import { ConnectionError, DefinitionError, endOf, TimeoutError, VersionError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import { assertOptions } from "../protocol/known-options.js";
import type { JsonSchemaValidator } from "../schema/json-schema/types.js";
import { Client } from "./client.js";
import { RestartingConnection, type RestartLimits } from "./connections/restarting.js";
import { UnverifiedConnection } from "./connections/unverified.js";
import { Extensions } from "./extensions.js";
import { type EraMemory, negotiate, type Plan, planAgain, planNegotiation } from "./negotiate.js";
import { openChannel } from "./open-channel.js";
import {
  assertClientOptions,
  type ClientOptions,
  COMMAND_TARGET,
  type CommandTarget,
  type Target,
  unknownTarget,
} from "./options.js";
import { ClientCore } from "./runtime.js";
import type { AnyServer } from "./server-types.js";
import { startUpkeep, warnOfDeprecatedUse } from "./upkeep.js";

/** Parts of `connect` that the entry of the package supplies. */
export interface Dialer {
  readonly eras: readonly ClientEra[];
  readonly memory: EraMemory;
  /** Defaults of the limits. */
  readonly limits?: ClientLimits;
  spawn(target: CommandTarget): Promise<Channel>;
  /** Returns the function that sends HTTP requests: by `fetch` of the options, if they have one. */
  send(limits: ClientLimits, fetch: Fetch | undefined): Promise<Send>;
  /** Loads the compiler of JSON Schemas on first use. */
  validator(): Promise<JsonSchemaValidator>;
}

/** Connects. Throws for invalid options at once, so that their error has the line of the caller. */
export function connectWith<S extends AnyServer>(
  dialer: Dialer,
  target: Target,
  options: ClientOptions,
): Promise<Client<S>> {
  assertClientOptions("connect", options);
  if ("command" in Object(target)) assertOptions("connect target", target, COMMAND_TARGET);
  const clock = options.clock ?? systemClock;
  const origin = originOf(target);
  const plan = planNegotiation(dialer.eras, options, origin === undefined ? undefined : dialer.memory.get(origin));
  const core = new ClientCore(options, clock, () => dialer.validator(), dialer.limits);
  if (options.extensions !== undefined) {
    const isSpecified = (method: string) => dialer.eras.some((era) => era.specifies(method));
    core.extensions = new Extensions(options, core.limits.maxWaitingNotifications, isSpecified);
  }
  return openClient(new Connector(dialer, target, origin, core), plan, core);
}

async function openClient<S extends AnyServer>(connector: Connector, plan: Plan, core: ClientCore): Promise<Client<S>> {
  const { options } = core;
  const connection = await openConnection(connector, plan, core);
  core.attach(connection, identityOf(connector.target));
  warnOfDeprecatedUse(core);
  const client = new Client<S>(core);
  await startUpkeep(client, core);
  const { signal } = options;
  if (signal?.aborted === true) {
    void client.close();
    throw signal.reason;
  }
  ignoreErrors(() => options.onOpen?.(connection.server));
  return client;
}

/** Opens the connection of a client: a restarting one, an unverified one, or a plain one. */
async function openConnection(connector: Connector, plan: Plan, core: ClientCore): Promise<Connection> {
  const { options } = core;
  const restart = restartOf(connector.target);
  if (restart?.maxMissedPings !== undefined && options.pings === undefined) {
    throw new DefinitionError("connect: restart.maxMissedPings requires the option pings");
  }
  if (restart !== undefined) {
    return RestartingConnection.open(core, restart, (runtime, again) =>
      again === undefined
        ? connector.open(runtime, plan, options)
        : connector.open(runtime, planAgain(plan, again.known), { ...options, signal: again.signal }),
    );
  }
  // Prior knowledge may be outdated until the server has confirmed it.
  if (connector.origin !== undefined && plan.discovered !== undefined && plan.steps.length > 1) {
    return UnverifiedConnection.open(core, (runtime, signal) =>
      signal === undefined
        ? connector.open(runtime, plan, options)
        : connector.open(runtime, { ...plan, discovered: undefined }, { ...options, signal }),
    );
  }
  return connector.open(core, plan, options);
}

/** Opens connections to a target. On a channel, request ids continue from one connection to the next. */
class Connector {
  readonly #dialer: Dialer;
  readonly #core: ClientCore;
  #last: ChannelTransport | undefined;

  constructor(
    dialer: Dialer,
    readonly target: Target,
    /** Key under which the era of the server is remembered. */
    readonly origin: string | undefined,
    core: ClientCore,
  ) {
    this.#dialer = dialer;
    this.#core = core;
  }

  async open(runtime: ClientRuntime, plan: Plan, limits: ClientOptions): Promise<Connection> {
    let opened = await this.#reach(limits);
    const reopen = async () => {
      if (opened.kind === "channel") {
        // A channel that was never a connection must not report its end.
        opened.transport.receiver = NO_RECEIVER;
        await opened.transport.close();
      }
      opened = await this.#reach(limits);
      return opened;
    };
    try {
      const way = "command" in Object(this.target) ? { wire: opened, reopen } : { wire: opened };
      const connection = await negotiate(way, plan, runtime, limits);
      if (opened.kind === "channel") opened.transport.assertOpen();
      // The era is not remembered if prior knowledge or the options decided it.
      if (this.origin !== undefined && plan.discovered === undefined && plan.steps.length > 1)
        this.#dialer.memory.set(this.origin, connection.era.name);
      return connection;
    } catch (error) {
      if (opened.kind === "http") {
        opened.target.send.keepIdle?.(false);
        throw withSchemeAdvice(error, opened.target.url);
      }
      await opened.transport.close();
      throw withNoise(error, opened.transport.noise);
    }
  }

  async #reach(limits: ClientOptions): Promise<Reached> {
    const { target } = this;
    const { clock, waits, tools, extensions } = this.#core;
    if (typeof target === "string" || target instanceof URL) {
      return {
        kind: "http",
        target: {
          url: toUrl(target),
          send: await this.#dialer.send(this.#core.limits, limits.fetch),
          headers: limits.headers ?? {},
          clock,
          waits,
          paramHeaders: tools.paramHeaders,
          nameFrom: (method) => extensions?.nameFrom(method),
          limits: this.#core.limits,
          sse: limits.sse,
          reconnect: limits.reconnect,
        },
      };
    }
    const spawn = (command: CommandTarget) => this.#dialer.spawn(command);
    this.#last = await openChannel(spawn, target, limits, this.#core, this.#last?.nextId ?? 0);
    return { kind: "channel", transport: this.#last };
  }
}

/** Adds what the server wrote beside messages to the error of a connection that failed. */
function withNoise(error: unknown, noise: readonly string[]): unknown {
  if (noise.length === 0) return error;
  const said = `; instead of messages it wrote ${noise.join(", ")}: a stdio server must log to stderr`;
  if (error instanceof TimeoutError)
    return new TimeoutError(
      error.kind,
      error.afterMs,
      error.message.replace("nothing", "no message") + said,
      error.delivery,
    );
  if (error instanceof VersionError)
    return new VersionError(error.message + said, error.supported, error.wanted, { cause: error.cause });
  if (!(error instanceof ConnectionError)) return error;
  return new ConnectionError(error.message + said, { ...endOf(error), delivery: error.delivery, cause: error.cause });
}

type Reached =
  | Extract<TransportTarget, { kind: "http" }>
  | { readonly kind: "channel"; readonly transport: ChannelTransport };

function restartOf(target: Target): RestartLimits | undefined {
  if (typeof target !== "object" || !("command" in target)) return undefined;
  const { restart = false } = target;
  if (restart === false) return undefined;
  return restart === true ? {} : restart;
}

/**
 * Returns the key for remembering the era: the origin of a URL. Undefined for other targets, which are always probed.
 */
function originOf(target: Target): string | undefined {
  if (typeof target === "string" || target instanceof URL) return toUrl(target).origin;
  if (typeof target !== "object" || target === null) throw unknownTarget();
  return undefined;
}

/** Returns the key that identifies the server in a shared cache. */
function identityOf(target: Target): string {
  if (typeof target === "string" || target instanceof URL) return toUrl(target).href;
  if ("command" in target) return JSON.stringify([target.command, target.args ?? [], target.cwd ?? null]);
  return crypto.randomUUID();
}

function toUrl(target: string | URL): URL {
  if (/^https?:/i.test(String(target)) && URL.canParse(String(target))) return new URL(target);
  // Removes the query and credentials, which may be secret.
  const shown = JSON.stringify(String(target).replace(/\?.*|.*@/s, ""));
  const program = /\.[cm]?[jt]s"$/.test(shown) ? `; for a program: { command: "node", args: [${shown}] }` : "";
  throw unknownTarget(`: ${shown} is not a URL with http:// or https://${program}`);
}
