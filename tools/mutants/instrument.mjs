import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";

/** Module that every changed file imports. See {@link switchModule}. */
export const switchFile = "mutant-switch.js";

/**
 * Writes a file with all of its mutants, each behind a call: `$m("id") ? changed : original`. Mutants may be nested.
 * The changed code contains no other mutants, since at most one is on.
 */
export function instrument(code, mutants, depth) {
  const sorted = [...mutants].sort((a, b) => a.start - b.start || b.end - a.end);
  const text = rendered(code, 0, code.length, sorted);
  return `import { $m } from "${"../".repeat(depth) || "./"}${switchFile}";${text}`;
}

function rendered(code, start, end, mutants) {
  let out = "";
  let at = start;
  for (let index = 0; index < mutants.length; ) {
    const first = mutants[index];
    const inside = [];
    let next = index + 1;
    while (next < mutants.length && mutants[next].start < first.end) inside.push(mutants[next++]);
    out += code.slice(at, first.start) + switched(code, first, inside);
    at = first.end;
    index = next;
  }
  return out + code.slice(at, end);
}

function switched(code, { id, start, end, text, kind }, inside) {
  const original = rendered(code, start, end, inside);
  if (kind === "statement") return `{ if (!$m("${id}")) ${original} }`;
  return `($m("${id}") ? (${text}) : (${original}))`;
}

/**
 * Code of the switch. It turns on the mutant that BOWLINE_MUTANT names. It writes each id that is reached into the
 * folder BOWLINE_REACHED at once, since a child process may be killed. Child processes with their own environment get
 * both variables. It imports nothing and names no "node:" module, since some tests check that of a bundle.
 */
export const switchModule = `
const { ChildProcess } = process.getBuiltinModule("child_process");
const { appendFileSync } = process.getBuiltinModule("fs");
const active = process.env.BOWLINE_MUTANT;
const folder = process.env.BOWLINE_REACHED;
const reached = new Set();
export function $m(id) {
  if (folder !== undefined && !reached.has(id)) {
    reached.add(id);
    appendFileSync(folder + "/" + process.pid, id + "\\n");
  }
  return id === active;
}
const spawn = ChildProcess.prototype.spawn;
ChildProcess.prototype.spawn = function (options) {
  for (const [name, value] of [["BOWLINE_MUTANT", active], ["BOWLINE_REACHED", folder]]) {
    const isGiven = options.envPairs?.some((pair) => pair.startsWith(name + "="));
    if (value !== undefined && !isGiven) options.envPairs?.push(name + "=" + value);
  }
  return spawn.call(this, options);
};
`;

/** Returns the line and code of a mutant in the TypeScript sources. */
export function placeOf(mutant, built, code) {
  const before = code.slice(0, mutant.start).split("\n");
  const map = new SourceMap(JSON.parse(readFileSync(`${built}.map`, "utf8")));
  const { originalLine } = map.findEntry(before.length - 1, before.at(-1).length);
  return { file: `src/${mutant.file.replace(/\.js$/, ".ts")}`, line: (originalLine ?? 0) + 1 };
}
