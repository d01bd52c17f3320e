import type { Clock } from "../../call/clock.js";
import type { StateUse } from "../../era/server-era.js";
import { DefinitionError } from "../../protocol/errors.js";
import { assertRing } from "../../protocol/ring-keys.js";

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

/** Encrypts a text that is bound to a request, and decrypts it. */
export interface StateCipher {
  close(plain: string, binding: string): Promise<string>;
  /** Returns the text and its unique id. Rejects with an error that says why it cannot be opened. */
  open(text: string, binding: string): Promise<{ readonly id: string; readonly plain: string }>;
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
  readonly used?: { use(id: string, untilMs: number): StateUse } | undefined;
  /** Returns false to refuse a state. Gets its id and expiry time, so that a state can be accepted only once. */
  readonly accept?: ((id: string, untilMs: number) => boolean | Promise<boolean>) | undefined;
  /** Called with the reason why a state was refused. The client does not get the reason. */
  readonly onRefused: (reason: unknown) => void;
}

/** Throws for invalid options of the seal. */
export function assertSealOptions(
  keys: readonly SealKey[] | undefined,
  codec: StateCodec | undefined,
  ttlMs: number,
): void {
  if (keys !== undefined && codec !== undefined) {
    throw new DefinitionError("use stateKeys or stateCodec, not both");
  }
  if (!(ttlMs > 0 && Number.isFinite(ttlMs)))
    throw new DefinitionError(`limits.stateTtlMs must be finite and above 0, got ${ttlMs}`);
  if (codec !== undefined && (typeof codec.encode !== "function" || typeof codec.decode !== "function"))
    throw new DefinitionError("stateCodec requires two functions: { encode, decode }");
  if (keys !== undefined) assertRing("stateKeys", keys);
}
