import type { Cluster, Records } from "../cluster/cluster.js";
import { MemoryEngine, MemoryStore } from "../cluster/memory/store.js";
import { Operations } from "../cluster/operations.js";
import { StoreRecords } from "../cluster/records.js";
import type { OpenableState, OpenedByContext } from "../era/openable-state.js";
import type { Call, ServerRuntime } from "../era/server-era.js";
import { atCaller } from "../protocol/at-caller.js";
import { ConnectionError, DefinitionError, McpError } from "../protocol/errors.js";
import { assertOptions, type Known } from "../protocol/known-options.js";
import type { InputOf, OutputOf, StandardSchema } from "../schema/standard-schema.js";
import { CallerState, deleteStateOf, type StateOwner } from "./caller-state.js";

/** Options of {@link defineState}. */
export interface StateOptions<S extends StandardSchema = StandardSchema> {
  /** Schema of the value. Values are checked when they are set and when they are read. */
  readonly schema?: S | undefined;
  /**
   * Owner of the value: the caller that the authorization gate names, or the session. Without a gate, a caller is its
   * session or connection.
   * @default "principal"
   */
  readonly per?: "principal" | "session" | undefined;
  /**
   * Time after which a value that was not set again is gone.
   * @default 86_400_000
   */
  readonly ttlMs?: number | undefined;
  /**
   * Maximum number of characters of a value as JSON.
   * @default 16_384
   */
  readonly maxChars?: number | undefined;
}

/** Value that a server keeps for each caller. Handlers open it by `ctx.state(definition)`. */
export interface StateDefinition<In, Out = In> extends OpenedByContext<CallerState<In, Out>> {}

const OPTIONS: Known<StateOptions> = { schema: "any", per: "string", ttlMs: "any", maxChars: "any" };
const DAY_MS = 86_400_000;
const MAX_CHARS = 16_384;

/**
 * Defines a small value that a server keeps for each caller between calls, such as a cart or a chosen project. It is in
 * the cluster of the server, or in the memory of the process.
 */
export function defineState<S extends StandardSchema>(
  name: string,
  options: StateOptions<S> & { readonly schema: S },
): StateDefinition<InputOf<S>, OutputOf<S>>;
export function defineState<T>(name: string, options?: Omit<StateOptions, "schema">): StateDefinition<T>;
export function defineState(name: string, options: StateOptions = {}): StateDefinition<unknown> {
  const where = `state ${JSON.stringify(name)}`;
  atCaller(defineState, () => assertDefinition(where, name, options));
  const { schema, per = "principal", ttlMs = DAY_MS, maxChars = MAX_CHARS } = options;
  const rules = { name, schema, ttlMs, maxChars };
  const definition: Omit<OpenableState<CallerState<unknown>>, keyof StateDefinition<unknown>> = {
    open: (call, runtime) => {
      const { records } = clusterOf(runtime);
      const owner = ownerOf(where, per, call);
      if (owner.session !== undefined) endWithSessions(runtime, records);
      return new CallerState({ ...rules, audience: runtime.audience }, records, owner);
    },
  };
  return { name, ...definition } as OpenableState<CallerState<unknown>>;
}

function assertDefinition(where: string, name: unknown, options: StateOptions): void {
  if (typeof name !== "string" || !/^[\w.-]{1,64}$/.test(name))
    throw new DefinitionError(`${where}: the name must have 1 to 64 letters, digits, _, - or .`);
  assertOptions(where, options, OPTIONS);
  const { per = "principal", ttlMs = DAY_MS, maxChars = MAX_CHARS } = options;
  if (per !== "principal" && per !== "session")
    throw new DefinitionError(`${where}: per must be "principal" or "session", got ${JSON.stringify(per)}`);
  assertPositive(where, "ttlMs", ttlMs);
  assertPositive(where, "maxChars", maxChars);
}

function assertPositive(where: string, option: string, value: unknown): void {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value <= 0)
    throw new DefinitionError(`${where}: ${option} must be a whole number above 0, got ${String(value)}`);
}

/** State in memory of servers without a cluster. */
const memories = new WeakMap<ServerRuntime, Pick<Cluster, "records">>();

function clusterOf(runtime: ServerRuntime): Pick<Cluster, "records"> {
  const shared = runtime.options.cluster ?? memories.get(runtime);
  if (shared !== undefined) return shared;
  const { clock } = runtime;
  const engine = new MemoryEngine({ clock });
  const own = { records: new StoreRecords(new Operations(new MemoryStore(engine), clock, "state")) };
  memories.set(runtime, own);
  // The records stay for calls that end while the server drains.
  runtime.onClosing(() => engine.stop());
  return own;
}

/** Servers whose state ends with its sessions. */
const ending = new WeakSet<ServerRuntime>();

/** Deletes the values of a session when it ends. If this fails, they are gone at the end of their own life. */
function endWithSessions(runtime: ServerRuntime, records: Records): void {
  if (ending.has(runtime)) return;
  ending.add(runtime);
  const { onSessionEnd } = runtime;
  runtime.onSessionEnd = (ended) => {
    onSessionEnd?.(ended);
    const session = typeof ended === "string" ? `session ${ended}` : connections.get(ended);
    const report = (error: unknown) => runtime.report(error, { where: "state" });
    if (session !== undefined) deleteStateOf(session, records).catch(report);
  };
}

/** Names of connections whose callers have no name. They are random. */
const connections = new WeakMap<object, string>();

const OUTLIVES = { assertLive: () => {} };

/** Returns the owner of a value. Owners of different kinds are never equal. */
function ownerOf(where: string, per: "principal" | "session", { origin, session, end }: Call): StateOwner {
  const { principal, sessionId, url } = origin;
  if (per === "principal" && principal !== undefined) return { ...OUTLIVES, name: `principal ${principal}` };
  const assertLive = () => {
    // A call that is cancelled may still set a value. One whose session is gone would leave it behind.
    if (end.reason instanceof ConnectionError) throw end.reason;
  };
  if (sessionId !== undefined)
    return { name: `session ${sessionId} ${principal ?? ""}`, session: `session ${sessionId}`, assertLive };
  if (url === undefined && session !== undefined) {
    const name = connections.get(session) ?? `connection ${crypto.randomUUID()}`;
    connections.set(session, name);
    return { name, session: name, assertLive };
  }
  throw new McpError("no_state_owner", `${where} cannot be opened: ${ownerProblem(per, url === undefined)}`);
}

/** Returns why a call has no owner, and the remedy. A call that has no URL either is the call of a task. */
function ownerProblem(per: "principal" | "session", isTask: boolean): string {
  if (isTask && per === "session") return 'a task has no session; use per: "principal"';
  if (isTask) return "a task keeps neither session nor connection; set http.gate, so that its caller has a name";
  if (per === "session") return 'this protocol version has no sessions; use per: "principal"';
  return "the caller is unknown; set http.gate, such as protect() of bowline/auth/server";
}
