import type { Clock } from "../../call/clock.js";
import { DefinitionError } from "../../protocol/errors.js";
import type { UsedStates } from "./used-states.js";

/** Key that seals state. `id` identifies the key and is visible to clients. `secret` has 32 bytes. */
export interface SealKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** Replacement for the encryption of state. */
export interface StateCodec {
  /** Converts a state to the text that is sent to the client. */
  encode(state: string): string | Promise<string>;
  /**
   * Converts the text back. Must throw for a text that `encode` did not create. Without that check clients can forge
   * states.
   */
  decode(text: string): string | Promise<string>;
}

/** Options of a state seal. */
export interface SealOptions {
  readonly keys: readonly SealKey[] | undefined;
  /** Replaces the keys. */
  readonly codec?: StateCodec | undefined;
  readonly ttlMs: number;
  /** Audience of the state. Servers accept each other's state only if they have the same audience. */
  readonly audience: string;
  readonly clock: Clock;
  /** Records the presented states. Undefined if `accept` does so. */
  readonly used?: Pick<UsedStates, "use"> | undefined;
  /** Returns false to refuse a state. Gets its id and expiry time, so that a state can be accepted only once. */
  readonly accept?: ((id: string, untilMs: number) => boolean | Promise<boolean>) | undefined;
  /** Called with the reason why a state was refused. The client does not get the reason. */
  readonly onRefused: (reason: unknown) => void;
}

const KEY_BYTES = 32;

/** Throws for invalid options of the seal. */
export function assertSealOptions(
  keys: readonly SealKey[] | undefined,
  codec: StateCodec | undefined,
  ttlMs: number,
): void {
  if (keys !== undefined && codec !== undefined) {
    throw new DefinitionError("use stateKeys or stateCodec, not both: a codec has its own keys");
  }
  if (!Number.isFinite(ttlMs) || ttlMs <= 0) {
    throw new DefinitionError(`limits.stateTtlMs must be finite and above 0, got ${ttlMs}`);
  }
  if (codec !== undefined && (typeof codec.encode !== "function" || typeof codec.decode !== "function"))
    throw new DefinitionError("stateCodec requires two functions: { encode, decode }");
  if (keys !== undefined) assertRing(keys);
}

function assertRing(ring: readonly SealKey[]): void {
  if (ring.length === 0) throw new DefinitionError("stateKeys must contain at least one key");
  const seen = new Set<string>();
  for (const key of ring) {
    const { id, secret } = Object(key) as Partial<SealKey>;
    if (typeof id !== "string" || !(secret instanceof Uint8Array))
      throw new DefinitionError("stateKeys: each must be { id, secret }: a string and a Uint8Array");
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) {
      throw new DefinitionError(`stateKeys: the id "${id}" must be 1 to 64 characters of A-Z a-z 0-9 _ -`);
    }
    if (secret.byteLength !== KEY_BYTES) {
      throw new DefinitionError(`stateKeys: the key "${id}" must have ${KEY_BYTES} bytes, got ${secret.byteLength}`);
    }
    const expected = seen.size + 2;
    if (seen.add(id).add(secret.join()).size < expected)
      throw new DefinitionError(`stateKeys: the key "${id}" has the id or secret of another key`);
  }
}
