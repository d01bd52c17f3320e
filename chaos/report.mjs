const number = new Intl.NumberFormat("en");
const show = (value) => (typeof value === "number" ? number.format(value) : String(value));
/** Number of violations of a rule that are printed. */
const SHOWN = 5;

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
  rules,
  problems,
  ...rest
}) {
  const without = broken === undefined ? "" : `, without ${broken}`;
  return [
    `Chaos on ${engine}${without}: ${show(seconds)} s, seed ${seed}`,
    "",
    ...table(
      ["load", "number", "minimum"],
      Object.entries(floors).map(([name, floor]) => [name, counts[name], floor]),
    ),
    "",
    ...table(["calls that ended with", "number"], Object.entries(verdicts)),
    "",
    ...table(
      ["recovery", "ms"],
      [
        ["times measured", recovery.count],
        ["half", recovery.p50],
        ["99 of 100", recovery.p99],
        ["longest", recovery.max],
        ["allowed for 99 of 100", recovery.limit],
      ],
    ),
    "",
    ...table(
      ["violations of", "number"],
      rules.map(({ rule, violations }) => [rule, violations.length]),
    ),
    "",
    ...rules.flatMap(({ rule, violations }) => violations.slice(0, SHOWN).map((text) => `${rule}: ${text}`)),
    ...(rest.notes ?? []),
    problems.length === 0 ? "PASSED" : `FAILED: ${problems.length} problems`,
    ...problems.map((problem) => `  ${problem}`),
  ].join("\n");
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
