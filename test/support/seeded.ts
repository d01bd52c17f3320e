/** Numbers that look random and are the same on every run (xorshift32). */
export class Seeded {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number from 0 up to, and without, the limit. */
  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % limit;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)] as T;
  }
}

const SCRAPS = [
  '"',
  "{",
  "}",
  "[",
  "]",
  ":",
  ",",
  "null",
  "true",
  "-1",
  "1e999",
  '"id"',
  "\\u0000",
  "\u{1f98a}",
  "\\",
  " ",
];

/** A text that differs from the given one in a few places: letters, words, slices. */
export function mutate(text: string, random: Seeded): string {
  let mutant = text;
  for (let change = random.below(3); change >= 0; change--) {
    const at = random.below(mutant.length + 1);
    const to = Math.min(mutant.length, at + 1 + random.below(12));
    switch (random.below(5)) {
      case 0:
        mutant = mutant.slice(0, at) + mutant.slice(to);
        break;
      case 1:
        mutant = mutant.slice(0, at) + random.pick(SCRAPS) + mutant.slice(at);
        break;
      case 2:
        mutant = mutant.slice(0, at) + random.pick(SCRAPS) + mutant.slice(to);
        break;
      case 3:
        mutant = mutant.slice(0, to) + mutant.slice(at);
        break;
      default:
        mutant = mutant.slice(0, at) + String.fromCharCode(32 + random.below(95)) + mutant.slice(at + 1);
    }
  }
  return mutant;
}
