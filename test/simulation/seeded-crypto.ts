import { createHash } from "node:crypto";
import type { Dice } from "./dice.js";

/** Digests without leaving the queue of microtasks. */
const subtle = {
  digest: async (_name: string, data: Uint8Array) => new Uint8Array(createHash("sha256").update(data).digest()).buffer,
};

/** Replaces the randomness and the digests of this process while the work runs. */
export async function withSeededCrypto<T>(dice: Dice, work: () => Promise<T>): Promise<T> {
  const { crypto } = globalThis;
  const random = Math.random;
  const own = {
    randomUUID: () => dice.uuid(),
    getRandomValues: <A extends ArrayBufferView>(array: A) => dice.fill(array),
    subtle,
  };
  for (const [name, value] of Object.entries(own)) Object.defineProperty(crypto, name, { value, configurable: true });
  Math.random = () => dice.below(2 ** 30) / 2 ** 30;
  try {
    return await work();
  } finally {
    for (const name of Object.keys(own)) Reflect.deleteProperty(crypto, name);
    Math.random = random;
  }
}
