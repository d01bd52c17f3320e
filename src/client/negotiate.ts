import {
  type ClientEra,
  type ClientRuntime,
  type Connection,
  type OpenOptions,
  type PriorKnowledge,
  WrongEraError,
} from "../era/client-era.js";
import { CLIENT_TIMES } from "../era/client-limits.js";
import type { TransportTarget } from "../era/transport.js";
import type { EraName } from "../era/versions.js";
import { ConnectionError, isVersionList, McpError, RpcError, VersionError } from "../protocol/errors.js";
import { dropOldest } from "../protocol/oldest.js";
import { Attempt } from "./attempt.js";
import type { ClientOptions } from "./options.js";

/** Eras to try, in order, with the versions of each. */
export interface Plan {
  readonly steps: readonly { readonly era: ClientEra; readonly versions: readonly string[] }[];
  readonly pinned: boolean;
  readonly discovered: NonNullable<ClientOptions["prior"]>["discovered"];
}

/** Remembers the era of a server for the next connection to it. */
export interface EraMemory {
  get(server: string): EraName | undefined;
  set(server: string, era: EraName): void;
}

/** Maximum number of remembered servers. The least recently connected ones are removed first. */
const MOST_REMEMBERED = 1000;

export function createEraMemory(): EraMemory {
  const eras = new Map<string, EraName>();
  return {
    get: (server) => eras.get(server),
    set(server, era) {
      eras.delete(server);
      eras.set(server, era);
      dropOldest(eras, MOST_REMEMBERED);
    },
  };
}

/** Derives the eras to try from the options. Throws for impossible options. */
export function planNegotiation(
  eras: readonly ClientEra[],
  options: ClientOptions,
  remembered: EraName | undefined,
): Plan {
  const { prior } = options;
  const wanted: readonly string[] | undefined = options.versions;
  let steps = eras
    .map((era) => ({ era, versions: era.versions.filter((known) => wanted?.includes(known) ?? true) }))
    .filter(({ versions }) => versions.length > 0);
  const supported: readonly string[] = eras.flatMap((era) => era.versions);
  const unknown = wanted?.filter((version) => !supported.includes(version)) ?? [];
  if (unknown.length > 0 || steps.length === 0) {
    const problem = unknown.length === 0 ? "is empty" : `this client does not support ${unknown.join(", ")}`;
    throw new McpError("unknown_version", `versions: ${problem}; choose from ${supported.join(", ")}`);
  }
  const only = options.session?.era ?? options.era ?? "auto";
  if (only !== "auto") {
    steps = steps.filter(({ era }) => era.name === only);
    if (steps.length === 0) {
      const known = eras.map((era) => era.name).join(", ");
      throw new McpError(
        "unknown_era",
        `era: ${only} is excluded by versions, or this client lacks it; choose from ${known}`,
      );
    }
  }
  const known = prior?.era ?? remembered;
  if (prior !== undefined && prior !== null) assertPrior(prior, steps);
  // The known era is tried first. The others remain in case the knowledge is outdated.
  steps.sort((a, b) => Number(b.era.name === known) - Number(a.era.name === known));
  const pinned = wanted?.length === 1;
  if (
    options.strictCapabilities === true &&
    pinned &&
    prior?.discovered === undefined &&
    steps[0]?.era.alwaysAsks === false
  ) {
    throw new McpError(
      "strict_needs_knowledge",
      "strictCapabilities requires `prior`, or no `versions` of one version, which is not negotiated",
    );
  }
  return { steps, pinned, discovered: prior?.discovered };
}

/** Returns the plan for a reconnection: only the known era, with the known result of `server/discover`. */
export function planAgain(plan: Plan, known: PriorKnowledge): Plan {
  const steps = plan.steps.filter(({ era }) => era.name === known.era);
  return { steps, pinned: plan.pinned, discovered: known.discovered };
}

/** Transport for the negotiation. `reopen` creates a new one if the server closed the first one. */
export interface NegotiatedPlan {
  readonly wire: TransportTarget;
  reopen?(): Promise<TransportTarget>;
}

/**
 * Tries one era after the other until the server responds in one. If the server names its versions, only those are
 * tried. If it does not respond on a channel, it may be slow: the next era is tried in parallel, and the first response
 * decides. If it refuses a request after a probe of another era, its process is restarted once, since the probe may
 * have confused it.
 */
export function negotiate(
  way: NegotiatedPlan,
  plan: Plan,
  runtime: ClientRuntime,
  options: ClientOptions,
): Promise<Connection> {
  return new Negotiation(way, plan, runtime, options).run();
}

type Step = Plan["steps"][number];

class Negotiation {
  readonly #way: NegotiatedPlan;
  readonly #plan: Plan;
  readonly #runtime: ClientRuntime;
  readonly #options: ClientOptions;
  readonly #waiting: Step[];
  #wire: TransportTarget;
  #discovered: Plan["discovered"];
  #corrections = 1;
  /** True if the channel was probed in another era before. */
  #isProbed = false;

  constructor(way: NegotiatedPlan, plan: Plan, runtime: ClientRuntime, options: ClientOptions) {
    this.#way = way;
    this.#plan = plan;
    this.#runtime = runtime;
    this.#options = options;
    this.#waiting = [...plan.steps];
    this.#wire = way.wire;
    this.#discovered = plan.discovered;
  }

  async run(): Promise<Connection> {
    for (let step = this.#waiting.shift(); step !== undefined; step = this.#waiting.shift()) {
      const first = this.#begin(step, this.#waiting.length === 0);
      let second: Attempt | undefined;
      try {
        const next = this.#waiting[0];
        if (next === undefined || !(await this.#isIgnored(first, step))) return await first.connection;
        second = this.#begin(next, this.#waiting.length === 1, first);
        return await first.orElse(second, this.#probeTimeoutMs);
      } catch (error) {
        if (second?.failedWith(error) !== true) await this.#learn(error, step);
        else {
          this.#isProbed = true;
          await this.#learn(error, this.#waiting.shift() as Step);
        }
      }
    }
    throw new McpError("unknown_version", "No protocol version is left to try");
  }

  #begin({ era, versions }: Step, last: boolean, beside?: Attempt): Attempt {
    const { signal, session, timeoutMs = CLIENT_TIMES.timeoutMs } = this.#options;
    const beforeUse = beside && (() => beside.giveWay());
    const discovered = this.#discovered;
    const open: OpenOptions = { versions, pinned: this.#plan.pinned, last, discovered, session, beforeUse };
    // Another era is tried after `probeTimeoutMs` of silence. This attempt then still has its full time.
    const waitsLonger = !last && this.#wire.kind === "channel" && era.mayBeIgnored;
    const limits = { signal, timeoutMs: waitsLonger ? this.#probeTimeoutMs + timeoutMs : timeoutMs };
    return new Attempt(era, this.#wire, this.#runtime, open, limits);
  }

  async #isIgnored(attempt: Attempt, { era }: Step): Promise<boolean> {
    return this.#wire.kind === "channel" && era.mayBeIgnored && attempt.isSilentFor(this.#probeTimeoutMs);
  }

  get #probeTimeoutMs(): number {
    return this.#options.probeTimeoutMs ?? CLIENT_TIMES.probeTimeoutMs;
  }

  /** Decides how to continue after a failed step. Throws if that is not possible. */
  async #learn(error: unknown, failed: Step): Promise<void> {
    const { reopen } = this.#way;
    if (!(error instanceof WrongEraError)) {
      if (!this.#isProbed || reopen === undefined || !(error instanceof RpcError)) throw error;
      this.#wire = await reopen();
      this.#isProbed = false;
      this.#waiting.unshift(failed);
      return;
    }
    if (error.versions !== undefined) this.#follow(error.versions, failed);
    if (this.#waiting.length === 0) throw this.#lastWord(error);
    this.#isProbed = !isDown(this.#wire);
    if (!this.#isProbed) {
      if (reopen === undefined) throw error.cause;
      this.#wire = await reopen();
    }
    this.#discovered = undefined;
  }

  /**
   * Keeps only the eras whose versions the server has named. If none of these is left to try, eras that were tried
   * before the failed one are tried again, once.
   */
  #follow(named: readonly string[], failed: Step): void {
    const spoken = this.#plan.steps.filter(({ versions }) => versions.some((version) => named.includes(version)));
    const untried = spoken.filter((step) => this.#waiting.includes(step));
    const again = untried.length === 0 && this.#corrections-- > 0 ? spoken.filter((step) => step !== failed) : untried;
    this.#waiting.splice(0, this.#waiting.length, ...again);
  }

  /**
   * Returns the error to throw when no era is left: the error that ended the connection, or else a `VersionError`.
   */
  #lastWord(evidence: WrongEraError): unknown {
    if (isDown(this.#wire) && evidence.cause instanceof ConnectionError) return evidence.cause;
    const wanted = this.#plan.steps.flatMap((step) => step.versions);
    return new VersionError(
      `The server supports no version that this client allows (${wanted.join(", ")}): ${evidence.message}`,
      evidence.versions,
      wanted,
      { cause: evidence.cause ?? evidence },
    );
  }
}

function isDown(wire: TransportTarget): boolean {
  return wire.kind === "channel" && wire.transport.closed;
}

function assertPrior(prior: NonNullable<ClientOptions["prior"]>, steps: Plan["steps"]): void {
  const step = steps.find(({ era }) => era.name === prior.era);
  if (step === undefined)
    throw new McpError("invalid_prior", `prior.era ${prior.era} is excluded by era or versions: omit prior`);
  const { discovered } = prior;
  if (discovered === undefined) return;
  const { supportedVersions: versions, capabilities } = (discovered ?? {}) as {
    supportedVersions?: unknown;
    capabilities?: unknown;
  };
  if (!isVersionList(versions) || typeof capabilities !== "object" || capabilities === null) {
    throw new McpError("invalid_prior", "prior.discovered must be a result of server/discover");
  }
  if (!step.versions.some((version) => versions.includes(version))) {
    throw new McpError("invalid_prior", `prior.discovered has only the versions ${versions.join(", ")}`);
  }
}
