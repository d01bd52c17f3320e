/** Modules that are needed together, and weigh less than this many characters of TypeScript, get no chunk of their own. */
const LIGHT = 10_000;

/**
 * Divides the modules of a package into chunks: a `Map` of each module's id to the name of its chunk, which is the id of a
 * root or `shared-` and a number. `graph` is a `Map` of ids to `{ imports, late, outside, isEntry, size }`.
 *
 * A root is a module that loading begins with: an entry, or what a dynamic import names. Modules that the same roots need
 * are one chunk. Most of these sets are light, and each file costs a runtime time. So a light set joins a larger one:
 * some roots load a little that they do not use.
 *
 * An import leads from a module to one that the same roots need, or more of them, and joining keeps that order. So the
 * imports between chunks form no cycle.
 */
export function chunksOf(graph) {
  const roots = rootsOf(graph);
  const needs = needsOf(graph, roots);
  const sets = joinLight(graph, roots, needs);
  const names = namesOf(roots, needs, sets);
  return new Map([...sets].map(([id, set]) => [id, names.get(set)]));
}

/**
 * Each module's set of roots, or the part that all heavy sets around a light one have in common. The sets of the roots
 * themselves stay as they are. So do modules that need a package or a part of node: no other root may load that too.
 */
function joinLight(graph, roots, needs) {
  const weights = new Map();
  for (const [id, set] of needs) weights.set(set, (weights.get(set) ?? 0) + graph.get(id).size);
  const heavy = [...weights.keys()].filter((set) => weights.get(set) >= LIGHT);
  const kept = [...roots.map((root) => needs.get(root)), ...heavy];
  const around = (set) => kept.filter((other) => contains(other, set)).reduce(intersect, ALL);
  const isBound = (id) => [...reach(graph, id)].some((one) => graph.get(one).outside.length > 0);
  return new Map([...needs].map(([id, set]) => [id, isBound(id) ? set : around(set)]));
}

function namesOf(roots, needs, sets) {
  const names = new Map(roots.map((root) => [needs.get(root), root]));
  const shared = [...new Set(sets.values())].filter((set) => !names.has(set));
  for (const [index, set] of shared.entries()) names.set(set, `shared-${index + 1}`);
  return names;
}

/** What a module loads at once, itself included; with `late`, also what it can load later. */
export function reach(graph, id, { late = false } = {}) {
  const found = new Set([id]);
  for (const one of found) {
    for (const next of graph.get(one).imports) found.add(next);
    if (late) for (const next of graph.get(one).late) found.add(next);
  }
  return found;
}

function rootsOf(graph) {
  const entries = [...graph.keys()].filter((id) => graph.get(id).isEntry);
  return [...new Set([...entries, ...[...graph.values()].flatMap(({ late }) => late)])];
}

/**
 * The roots of each module, as a set of bits. What every entry that can come to a late root has loaded before counts as
 * needed by that root: it costs nothing there, and the part that the late root uses gets no chunk of its own.
 */
function needsOf(graph, roots) {
  const entries = roots.filter((root) => graph.get(root).isEntry);
  const starts = new Map(roots.map((root) => [root, reach(graph, root)]));
  const ends = new Map(entries.map((entry) => [entry, reach(graph, entry, { late: true })]));
  const users = new Map(roots.map((root) => [root, entries.filter((entry) => ends.get(entry).has(root))]));
  const isThere = (id, root) => starts.get(root).has(id) || users.get(root).every((user) => starts.get(user).has(id));
  const setOf = (id) => roots.reduce((set, root, index) => (isThere(id, root) ? set | (1n << BigInt(index)) : set), 0n);
  return new Map([...graph.keys()].map((id) => [id, setOf(id)]));
}

const ALL = -1n;
const intersect = (one, other) => one & other;
const contains = (outer, inner) => (outer & inner) === inner;
