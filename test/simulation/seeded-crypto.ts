import type { Dice } from "./dice.js";

/** Replaces the randomness of this process while the work runs. */
export async function withSeededCrypto<T>(dice: Dice, work: () => Promise<T>): Promise<T> {
  const { crypto } = globalThis;
  const random = Math.random;
  const own = {
    randomUUID: () => dice.uuid(),
    getRandomValues: <A extends ArrayBufferView>(array: A) => dice.fill(array),
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
