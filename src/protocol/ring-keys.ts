import { DefinitionError } from "./errors.js";
import type { RingKey } from "./key-ring.js";

const KEY_BYTES = 32;

/** Throws for keys that cannot be used. `name` is the option that holds them. */
export function assertRing(name: string, ring: readonly RingKey[]): void {
  if (ring.length === 0) throw new DefinitionError(`${name} must contain at least one key`);
  const seen = new Set<string>();
  for (const key of ring) {
    const { id, secret } = Object(key) as Partial<RingKey>;
    if (typeof id !== "string" || !(secret instanceof Uint8Array))
      throw new DefinitionError(`${name}: each must be { id, secret }: a string and a Uint8Array`);
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) {
      throw new DefinitionError(`${name}: the id "${id}" must be 1 to 64 characters of A-Z a-z 0-9 _ -`);
    }
    if (secret.byteLength !== KEY_BYTES) {
      throw new DefinitionError(`${name}: the key "${id}" must have ${KEY_BYTES} bytes, got ${secret.byteLength}`);
    }
    const expected = seen.size + 2;
    if (seen.add(id).add(secret.join()).size < expected)
      throw new DefinitionError(`${name}: the key "${id}" has the id or secret of another key`);
  }
}
