/** Modules that are needed together get no chunk of their own if they have fewer characters of TypeScript than this. */
const LIGHT = 6_500;

/**
 * Divides the modules of a package into chunks. Returns a `Map` of each module's id to why it is in its chunk: `{ chunk,
 * needs, joined }`. `chunk` is the id of a root, or `shared-` and a number. `needs` are the roots that need the module;
 * `joined` are those that load its chunk, if the module joined a larger set. `graph` is a `Map` of ids to `{ imports, late,
 * outside, isEntry, isApart, size }`.
 *
 * A root is a module that loading begins with: an entry, or the target of a dynamic import. Modules that the same roots
 * need are one chunk. Most of these sets are small, and each file costs a runtime some time. So a small set joins a
 * larger one, and some roots load a little code that they do not use.
 *
 * An import leads from a module to one that the same roots need, or more of them, and joining keeps that order. So the
 * imports between chunks have no cycle.
 */
export function reasonsOf(graph) {
  const roots = rootsOf(graph);
  const needs = needsOf(graph, roots);
  const sets = joinLight(graph, roots, needs);
  const names = namesOf(roots, needs, sets);
  const inSet = (set) => roots.filter((_, index) => contains(set, 1n << BigInt(index)));
  const reason = (id, set) => ({
    chunk: names.get(set),
    needs: inSet(needs.get(id)),
    joined: set === needs.get(id) ? undefined : inSet(set),
  });
  return new Map([...sets].map(([id, set]) => [id, reason(id, set)]));
}

/**
 * Returns the set of roots of each module. A small set is replaced by the part that all larger sets around it have in
 * common. The sets of the roots themselves do not change. Neither do modules that need a package or a module of Node, at once
 * or later, since no other root may load that, and bundlers follow imports of both kinds; nor modules that are `isApart`.
 */
function joinLight(graph, roots, needs) {
  const weights = new Map();
  for (const [id, set] of needs) weights.set(set, (weights.get(set) ?? 0) + graph.get(id).size);
  const heavy = [...weights.keys()].filter((set) => weights.get(set) >= LIGHT);
  const kept = [...roots.map((root) => needs.get(root)), ...heavy];
  const around = (set) => kept.filter((other) => contains(other, set)).reduce(intersect, ALL);
  const isBound = (id) => [...reach(graph, id, { late: true })].some((one) => graph.get(one).outside.length > 0);
  return new Map([...needs].map(([id, set]) => [id, isBound(id) || graph.get(id).isApart ? set : around(set)]));
}

function namesOf(roots, needs, sets) {
  const names = new Map(roots.map((root) => [needs.get(root), root]));
  const shared = [...new Set(sets.values())].filter((set) => !names.has(set));
  for (const [index, set] of shared.entries()) names.set(set, `shared-${index + 1}`);
  return names;
}

/** Returns all modules that a module loads at once, itself included. With `late`, also those that it can load later. */
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
 * Returns the roots that need each module, as a set of bits. A module that every entry has loaded before it reaches a
 * late root counts as needed by that root. It costs nothing there, and the part that the late root uses gets no chunk
 * of its own. Extensions do not count for other modules, neither as roots nor as entries that reach one, so that an
 * extension does not change how these are divided.
 */
function needsOf(graph, roots) {
  const entries = roots.filter((root) => graph.get(root).isEntry);
  const starts = new Map(roots.map((root) => [root, reach(graph, root)]));
  const ends = new Map(entries.map((entry) => [entry, reach(graph, entry, { late: true })]));
  const usersOf = (root) => {
    const all = entries.filter((entry) => ends.get(entry).has(root));
    const ofBase = all.filter((entry) => !graph.get(entry).isApart);
    return ofBase.length > 0 ? ofBase : all;
  };
  const users = new Map(roots.map((root) => [root, usersOf(root)]));
  const isThere = (id, root) => starts.get(root).has(id) || users.get(root).every((user) => starts.get(user).has(id));
  const setOf = (id, counts) =>
    roots.reduce((set, root, index) => (counts(root) && isThere(id, root) ? set | (1n << BigInt(index)) : set), 0n);
  const isOfBase = (root) => !graph.get(root).isApart;
  return new Map([...graph.keys()].map((id) => [id, (isOfBase(id) && setOf(id, isOfBase)) || setOf(id, () => true)]));
}

const ALL = -1n;
const intersect = (one, other) => one & other;
const contains = (outer, inner) => (outer & inner) === inner;
