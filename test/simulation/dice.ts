import { Seeded } from "../support/seeded.js";

/** Decisions of a simulation. The same seed makes the same decisions. */
export class Dice extends Seeded {
  constructor(seed: number) {
    super(mixed(seed));
  }

  /** True with a probability in percent. */
  chance(percent: number): boolean {
    return this.below(1000) < percent * 10;
  }

  /** A number between two limits, with two decimal places. */
  between(least: number, most: number): number {
    return least + this.below(Math.round((most - least) * 100) + 1) / 100;
  }

  /** A whole number between two limits, both included. */
  whole(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  /** Fills an array with bytes. */
  fill<T extends ArrayBufferView>(array: T): T {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let at = 0; at < bytes.length; at++) bytes[at] = this.below(256);
    return array;
  }

  /** A text in the form of a UUID. */
  uuid(): `${string}-${string}-${string}-${string}-${string}` {
    const part = (digits: number) =>
      this.below(16 ** Math.min(digits, 7))
        .toString(16)
        .padStart(digits, "0");
    return `${part(8)}-${part(4)}-${part(4)}-${part(4)}-${part(12)}`;
  }

  /** Independent decisions that begin here. */
  branch(): Dice {
    return new Dice(this.below(2 ** 30));
  }
}

/** Spreads close seeds, so that their first decisions differ. Never zero. */
function mixed(seed: number): number {
  let state = (seed + 0x9e3779b9) | 0;
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) | 1;
}
