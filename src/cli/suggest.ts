import { UsageError } from "./failures.js";

const MOST_NAMES = 12;

/** Creates the error for a name that does not exist. It suggests a name, and none is used in its place. */
export function unknownName(what: string, name: string, names: readonly string[], extra = ""): UsageError {
  const shown = names.slice(0, MOST_NAMES).join(", ") + (names.length > MOST_NAMES ? ", ..." : "");
  const hint = meant(name, names, JSON.stringify);
  const there = hint === "" ? "; there" : `${hint} There`;
  const list = names.length === 0 ? " are none" : ` are: ${shown}`;
  return new UsageError(`no ${what} ${JSON.stringify(name)}${there}${list}${extra}`);
}

/** Returns what has a name, or throws and suggests one. */
export function findNamed<T>(what: string, name: string, all: readonly T[], nameOf: (one: T) => string): T {
  const found = all.find((one) => nameOf(one) === name);
  if (found === undefined) throw unknownName(what, name, all.map(nameOf));
  return found;
}

/** Returns an end of a message that suggests the name that was probably meant, or "" if none is similar. */
export function meant(name: string, names: readonly string[], show: (best: string) => string = String): string {
  const best = similarTo(name, names);
  return best === undefined ? "" : `; did you mean ${show(best)}?`;
}

/** Returns the name that was probably meant. */
export function similarTo(name: string, names: readonly string[]): string | undefined {
  const [best] = names
    .map((other) => ({ other, distance: distanceOf(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= Math.max(1, Math.min(name.length, other.length) / 3))
    .sort((one, two) => one.distance - two.distance);
  return best?.other;
}

/** Number of insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function distanceOf(one: string, two: string): number {
  let before: number[] = [];
  let last = Array.from({ length: two.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let column = 1; column <= two.length; column++) {
      const isSame = one[row - 1] === two[column - 1];
      let cost = Math.min(last[column]! + 1, next[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1));
      const isSwap = row > 1 && column > 1 && one[row - 1] === two[column - 2] && one[row - 2] === two[column - 1];
      if (isSwap) cost = Math.min(cost, before[column - 2]! + 1);
      next.push(cost);
    }
    before = last;
    last = next;
  }
  return last[two.length]!;
}
