import type { Clock } from "../../call/clock.js";
import { DefinitionError } from "../../protocol/errors.js";
import type { UsedStates } from "./used-states.js";

/** A key of the ring. `id` tells keys apart and is readable by anyone; `secret` is 32 bytes. */
export interface SealKey {
  readonly id: string;
  readonly secret: Uint8Array;
}

/** What an author puts in place of the cryptography: writes a state for the wire, and reads what came back. */
export interface StateCodec {
  encode(state: string): string | Promise<string>;
  /** Throws for a text that `encode` did not write. Where nothing is checked here, clients can write states themselves. */
  decode(text: string): string | Promise<string>;
}

export interface SealOptions {
  readonly keys: readonly SealKey[] | undefined;
  /** In place of the keys. */
  readonly codec?: StateCodec | undefined;
  readonly ttlMs: number;
  /** Whom the state is for: servers that share keys but not this do not take each other's. */
  readonly audience: string;
  readonly clock: Clock;
  /** Keeps account of the states that were presented, where nothing else does. */
  readonly used?: Pick<UsedStates, "use"> | undefined;
  /** Whether a state may still be used; hears each one's name and when it ends. For servers that take a state once. */
  readonly accept?: ((id: string, untilMs: number) => boolean | Promise<boolean>) | undefined;
  /** Hears why a state was refused; the client does not. */
  readonly onRefused: (reason: unknown) => void;
}

const KEY_BYTES = 32;

/** Says what is wrong with the options of a server that concern its seal. */
export function assertSealOptions(
  keys: readonly SealKey[] | undefined,
  codec: StateCodec | undefined,
  ttlMs: number,
): void {
  if (keys !== undefined && codec !== undefined) {
    throw new DefinitionError("stateKeys and stateCodec exclude each other: a codec has keys of its own");
  }
  if (!Number.isFinite(ttlMs) || ttlMs <= 0) {
    throw new DefinitionError(`stateTtlMs must be a positive number of milliseconds, not ${ttlMs}`);
  }
  if (codec !== undefined && (typeof codec.encode !== "function" || typeof codec.decode !== "function"))
    throw new DefinitionError("stateCodec needs two functions: { encode, decode }");
  if (keys !== undefined) assertRing(keys);
}

function assertRing(ring: readonly SealKey[]): void {
  if (ring.length === 0) throw new DefinitionError("stateKeys must hold at least one key");
  for (const key of ring) {
    const { id, secret } = Object(key) as Partial<SealKey>;
    if (typeof id !== "string" || !(secret instanceof Uint8Array))
      throw new DefinitionError("each of stateKeys must be { id, secret } with a text and a Uint8Array of 32 bytes");
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) {
      throw new DefinitionError(`state key id "${id}" must be 1-64 of A-Z a-z 0-9 _ -`);
    }
    if (secret.byteLength !== KEY_BYTES) {
      throw new DefinitionError(`state key "${id}" must be ${KEY_BYTES} bytes long, not ${secret.byteLength}`);
    }
  }
  const ids = new Set(ring.map(({ id }) => id));
  const secrets = new Set(ring.map(({ secret }) => secret.join()));
  if (ids.size < ring.length || secrets.size < ring.length) {
    throw new DefinitionError("stateKeys: each key needs an id and a secret of its own");
  }
}
