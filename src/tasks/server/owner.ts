import { addressOf } from "../../era/caller.js";
import type { Call, EraSession, ServerRuntime } from "../../era/server-era.js";
import { sha256, toHex } from "../../protocol/bytes.js";

/** Caller for which tasks are counted: a principal, or what tells a caller without one from others. */
export interface Counted {
  /** Digest of the caller, whose tasks are limited together. */
  readonly owner: string;
  /** True if the caller has no principal. The tasks of all such callers are limited together as well. */
  readonly anonymous?: true | undefined;
}

/** Owner of the tasks of all callers without a principal, beside the owner of each. */
export const ANONYMOUS = "anonymous";
/** Owner of the tasks of all requests of which nothing is known. */
export const UNKNOWN = "unknown";

/** Names of connections that are no HTTP sessions. */
const connections = new WeakMap<EraSession, string>();

/** Returns the caller for which the tasks of a call are counted. */
export async function countedFor(call: Call, runtime: Pick<ServerRuntime, "options">): Promise<Counted> {
  const { principal, sessionId } = call.origin;
  if (principal !== undefined) return { owner: await ownerOf(principal) };
  const address = addressOf(runtime, call.origin);
  if (address !== undefined) return { owner: await ownerOf(undefined, `address ${address}`), anonymous: true };
  if (sessionId !== undefined) return { owner: await ownerOf(undefined, `session ${sessionId}`), anonymous: true };
  return { owner: connectionOf(call), anonymous: true };
}

/** Returns the owners for which a task is counted. */
export function ownersOf({ owner, anonymous }: Counted): readonly string[] {
  return anonymous === true ? [owner, ANONYMOUS] : [owner];
}

/**
 * Returns a digest of the principal, realm and server, which may be long or secret. JSON has no lone surrogates, which
 * UTF-8 would replace.
 */
export async function ownerOf(principal: string | undefined, realm?: string, server?: string): Promise<string> {
  const text = JSON.stringify([realm ?? null, principal ?? null, server ?? null]);
  return toHex((await sha256(text)).subarray(0, 16));
}

/** Returns the name of the connection of a call. HTTP requests of which nothing is known share one. */
function connectionOf({ session, wire }: Call): string {
  if (!wire.shared || session === undefined) return UNKNOWN;
  const name = connections.get(session) ?? `connection ${crypto.randomUUID()}`;
  connections.set(session, name);
  return name;
}
