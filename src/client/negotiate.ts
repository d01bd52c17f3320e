import type { Clock } from "../call/clock.js";
import { CallLifetime } from "../call/lifetime.js";
import {
  type ClientEra,
  type ClientRuntime,
  type Connection,
  type OpenOptions,
  type PriorKnowledge,
  WrongEraError,
} from "../era/client-era.js";
import type { TransportTarget } from "../era/transport.js";
import { ConnectionError, isVersionList, McpError, RpcError, VersionError } from "../protocol/errors.js";
import { type ClientOptions, DEFAULTS } from "./options.js";

/** Which eras to try, in order, and with which of their versions. */
export interface Plan {
  readonly steps: readonly { readonly era: ClientEra; readonly versions: readonly string[] }[];
  readonly pinned: boolean;
  readonly discovered: NonNullable<ClientOptions["prior"]>["discovered"];
}

/** Remembers which era a server spoke, for the next connection to it. */
export interface EraMemory {
  get(server: string): string | undefined;
  set(server: string, era: string): void;
}

/** Turns what the author wants into what to try. Throws for what cannot be. */
export function planNegotiation(
  eras: readonly ClientEra[],
  options: ClientOptions,
  remembered: string | undefined,
): Plan {
  const { version, prior } = options;
  const wanted = version === undefined ? options.versions : [version];
  let steps = eras
    .map((era) => ({ era, versions: era.versions.filter((known) => wanted?.includes(known) ?? true) }))
    .filter(({ versions }) => versions.length > 0);
  if (steps.length === 0) {
    const known = eras.flatMap((era) => era.versions).join(", ");
    throw new McpError("unknown_version", `No such protocol version: ${wanted?.join(", ")}; known are ${known}`);
  }
  const only = options.session?.era ?? options.era ?? "auto";
  if (only !== "auto") {
    steps = steps.filter(({ era }) => era.name === only);
    if (steps.length === 0) {
      const known = eras.map((era) => era.name).join(", ");
      throw new McpError("unknown_era", `No such era, or none of its versions is allowed: ${only}; known are ${known}`);
    }
  }
  const known = prior?.era ?? remembered;
  if (prior !== undefined && prior !== null) assertPrior(prior, steps);
  // What was learnt before goes first; the rest stays as a way out when it has become wrong.
  steps.sort((a, b) => Number(b.era.name === known) - Number(a.era.name === known));
  const pinned = version !== undefined;
  if (
    options.strictCapabilities === true &&
    pinned &&
    prior?.discovered === undefined &&
    steps[0]?.era.alwaysAsks === false
  ) {
    throw new McpError(
      "strict_needs_knowledge",
      "strictCapabilities needs to know the server: give `prior`, or do not pin `version`",
    );
  }
  return { steps, pinned, discovered: prior?.discovered };
}

/** The plan for a server that was connected to before: nothing is asked that is known. */
export function planAgain(plan: Plan, known: PriorKnowledge): Plan {
  const steps = plan.steps.filter(({ era }) => era.name === known.era);
  return { steps, pinned: plan.pinned, discovered: known.discovered };
}

/** What negotiation talks through; `reopen` makes a new one where the server took the first one down with it. */
export interface NegotiatedPlan {
  readonly wire: TransportTarget;
  reopen?(): Promise<TransportTarget>;
}

/**
 * Tries one era after the other until the server answers in one. A server that names its versions is taken at its word. One
 * that refuses what follows on the first era's question may only be upset by that: a process is started afresh, once.
 */
export async function negotiate(
  way: NegotiatedPlan,
  plan: Plan,
  runtime: ClientRuntime,
  options: ClientOptions,
  clock: Clock,
): Promise<Connection> {
  const wanted = plan.steps.flatMap((step) => step.versions);
  const waiting = [...plan.steps];
  let { wire } = way;
  let discovered = plan.discovered;
  let corrections = 1;
  let isProbed = false;
  for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
    const last = waiting.length === 0;
    const { session } = options;
    const open: OpenOptions = { versions: step.versions, pinned: plan.pinned, last, discovered, session };
    try {
      return await attempt(step.era, wire, runtime, open, options, clock);
    } catch (error) {
      if (!(error instanceof WrongEraError)) {
        if (!isProbed || way.reopen === undefined || !(error instanceof RpcError)) throw error;
        wire = await way.reopen();
        isProbed = false;
        waiting.unshift(step);
        continue;
      }
      const named = error.versions;
      if (named !== undefined) {
        const spoken = plan.steps.filter(({ versions }) => versions.some((version) => named.includes(version)));
        const untried = spoken.filter((candidate) => waiting.includes(candidate));
        const again =
          untried.length === 0 && corrections-- > 0 ? spoken.filter(({ era }) => era !== step?.era) : untried;
        waiting.splice(0, waiting.length, ...again);
      }
      if (waiting.length === 0) throw lastWord(error, wire, wanted);
      isProbed = !isDown(wire);
      if (!isProbed) {
        if (way.reopen === undefined) throw error.cause;
        wire = await way.reopen();
      }
      discovered = undefined;
    }
  }
  throw new McpError("unknown_version", "No era to try");
}

async function attempt(
  era: ClientEra,
  wire: TransportTarget,
  runtime: ClientRuntime,
  open: OpenOptions,
  options: ClientOptions,
  clock: Clock,
): Promise<Connection> {
  const timeoutMs =
    open.last || wire.kind === "http"
      ? (options.timeoutMs ?? DEFAULTS.timeoutMs)
      : (options.probeTimeoutMs ?? DEFAULTS.probeTimeoutMs);
  const lifetime = new CallLifetime("connect", { signal: options.signal, timeoutMs }, clock);
  try {
    lifetime.throwIfAborted();
    return await era.open(wire, runtime, open, lifetime);
  } finally {
    lifetime.close();
  }
}

function isDown(wire: TransportTarget): boolean {
  return wire.kind === "channel" && wire.transport.closed;
}

/** A server that is gone is told as such; one that is there speaks nothing that this client may use. */
function lastWord(evidence: WrongEraError, wire: TransportTarget, wanted: readonly string[]): unknown {
  if (isDown(wire) && evidence.cause instanceof ConnectionError) return evidence.cause;
  return new VersionError(
    `The server does not speak any version that this client may use (${wanted.join(", ")}): ${evidence.message}`,
    evidence.versions,
    wanted,
    { cause: evidence.cause ?? evidence },
  );
}

function assertPrior(prior: NonNullable<ClientOptions["prior"]>, steps: Plan["steps"]): void {
  const step = steps.find(({ era }) => era.name === prior.era);
  if (step === undefined) throw new McpError("invalid_prior", "prior names an era that this client may not use");
  const { discovered } = prior;
  if (discovered === undefined) return;
  const { supportedVersions: versions, capabilities } = (discovered ?? {}) as {
    supportedVersions?: unknown;
    capabilities?: unknown;
  };
  if (!isVersionList(versions) || typeof capabilities !== "object" || capabilities === null) {
    throw new McpError("invalid_prior", "prior.discovered is no answer to discovery");
  }
  if (!step.versions.some((version) => versions.includes(version))) {
    throw new McpError("invalid_prior", `prior shares no version with this client: it names ${versions.join(", ")}`);
  }
}
