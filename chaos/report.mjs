import { conclusion, exitCodeOf, outcomeOf } from "./floors.mjs";
import { RECOVERY_MS } from "./limits.mjs";

const number = new Intl.NumberFormat("en");
const show = (value) => (typeof value === "number" ? number.format(value) : String(value));
/** Number of violations of a rule that are printed. */
const SHOWN = 5;
/** Number of characters of an error that are printed. */
const WIDTH = 120;

/** Returns the report of a run as text. */
export function toText({
  engine,
  seed,
  broken,
  seconds,
  counts,
  floors,
  verdicts,
  recovery,
  errors,
  left,
  rules,
  problems,
  doubts,
}) {
  const without = broken === undefined ? "" : `, without ${broken}`;
  return [
    `Chaos on ${engine}${without}: ${show(seconds)} s, seed ${seed}`,
    "",
    ...table(
      ["load", "number", "minimum"],
      Object.entries(counts).map(([name, count]) => [name, count, floors[name] ?? "-"]),
    ),
    "",
    ...table(["calls that ended with", "number"], Object.entries(verdicts)),
    "",
    ...table(
      [`recovery in ms (99 of 100: at most ${show(RECOVERY_MS)})`, "times", "half", "99 of 100", "longest"],
      recovery.map(({ group, count, p50, p99, max }) => [group, count, p50, p99, max]),
    ),
    "",
    ...errorTable("nodes", errors.nodes),
    "",
    ...errorTable("clients", errors.clients),
    "",
    ...leftTable(left),
    "",
    ...table(
      ["violations of", "number"],
      rules.map(({ rule, violations }) => [rule, violations.length]),
    ),
    "",
    ...rules.flatMap(({ rule, violations }) => violations.slice(0, SHOWN).map((text) => `${rule}: ${text}`)),
    ...conclusion({ problems, doubts }),
  ].join("\n");
}

/** Returns the document of a run that did not take place, for a problem or a doubt. */
export function unrun(details, { problems = [], doubts = [] }) {
  return { ...details, outcome: outcomeOf({ problems, doubts }), problems, doubts };
}

/** Prints the outcome of all runs, and ends this process with their exit code. */
export function finish(documents, { json }) {
  const outcomes = documents.map(({ outcome }) => outcome);
  const count = (name) => outcomes.filter((outcome) => outcome === name).length;
  if (json) console.log(JSON.stringify(documents, undefined, 2));
  else console.log(`${count("passed")} passed, ${count("failed")} failed, ${count("inconclusive")} inconclusive`);
  process.exit(exitCodeOf(outcomes));
}

/** Returns the errors that nodes or clients reported, with their numbers. */
export function errorTable(whose, errors) {
  return table([`errors that ${whose} reported`, "number"], errors.map(shorten));
}

const shorten = ([text, count]) => [text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text, count];

/** Returns what is left in the engine. */
export function leftTable(left) {
  const rows = left.map(({ kind, count, longestMs }) => [kind, count, Math.round(longestMs / 1000)]);
  return table(["left in the engine at the end", "number", "longest life in s"], rows);
}

/** Returns aligned columns, with numbers to the right. */
export function table(heads, rows) {
  const texts = rows.map((row) => row.map(show));
  const widths = heads.map((head, column) => Math.max(head.length, ...texts.map((row) => row[column].length)));
  const line = (cells, isNumber) =>
    cells
      .map((cell, column) => (isNumber(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join("  ")
      .trimEnd();
  return [
    line(heads, (column) => column > 0),
    widths.map((width) => "─".repeat(width)).join("  "),
    ...texts.map((row) => line(row, (column) => column > 0)),
  ];
}
