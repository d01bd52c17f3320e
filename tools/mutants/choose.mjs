import { createHash } from "node:crypto";

/** Layers of `src` that are measured, each by the beginning of its paths. The first match counts. */
export const layers = [
  ["protocol", "protocol/"],
  ["call", "call/"],
  ["schema", "schema/"],
  ["http", "http/"],
  ["store", "store/"],
  ["era/legacy", "era/legacy/"],
  ["era/modern", "era/modern/"],
  ["era", "era/"],
  ["server", "server/"],
  ["client", "client/"],
  ["node", "node/"],
  ["auth/client", "auth/client/"],
  ["auth/server", "auth/server/"],
  ["auth/issuer", "auth/issuer/"],
  ["auth", "auth/"],
  ["otel", "otel/"],
  ["testing", "testing/"],
];

export const layerOf = (file) => layers.find(([, start]) => file.startsWith(start))?.[0];

/** Turns of an operator for one turn of another. Wrong conditions and lost statements are the most common mistakes. */
const turns = { negate: 3, drop: 3, logic: 2, return: 2 };

/**
 * Chooses `count` mutants of each layer by the seed. Mutants of an operator are ordered by a digest of seed and id, and
 * the operators take turns. So no operator dominates a layer, and a change of the sources changes the choice only
 * locally.
 */
export function chooseMutants(all, { seed, count }) {
  return layers.flatMap(([layer]) => {
    const own = all.filter(({ file }) => layerOf(file) === layer);
    const ranked = [...grouped(own)].flatMap(([operator, mutants]) =>
      mutants
        .map((mutant) => ({ mutant, rank: digest(`${seed} ${mutant.id}`) }))
        .sort((a, b) => (a.rank < b.rank ? -1 : 1))
        .map(({ mutant, rank }, index) => ({ mutant, rank, turn: Math.floor(index / (turns[operator] ?? 1)) })),
    );
    ranked.sort((a, b) => a.turn - b.turn || (a.rank < b.rank ? -1 : 1));
    return ranked.slice(0, count).map(({ mutant }) => ({ ...mutant, layer }));
  });
}

function grouped(mutants) {
  const groups = new Map();
  for (const mutant of mutants) groups.set(mutant.operator, [...(groups.get(mutant.operator) ?? []), mutant]);
  return groups;
}

const digest = (text) => createHash("sha256").update(text).digest("hex");
