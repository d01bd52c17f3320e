const percent = (share) => `${share < 0 ? "" : "+"}${(share * 100).toFixed(1)} %`;
const micros = (value) => value.toFixed(2);

const head = ["wire", "old us/call", "new us/call", "difference", "95 % interval", "verdict"];

/** Returns a comparison of two builds as text: the builds, and a line per wire. */
export function toComparison(document) {
  const { old, new: current } = document;
  const rows = Object.entries(document.wires).map(([wire, { oldUs, newUs, difference, verdict }]) => [
    wire,
    micros(oldUs),
    micros(newUs),
    percent(difference.median),
    `${percent(difference.low)} .. ${percent(difference.high)}`,
    verdict,
  ]);
  const changed = current.changed ? " with changes" : "";
  return [
    `old: ${old.ref} (${old.commit.slice(0, 12)}); new: the working tree (${current.commit.slice(0, 12)}${changed})`,
    "CPU time per call; the difference is the median over pairs of windows.",
    "",
    ...align([head, ...rows]),
  ].join("\n");
}

/** Pads the cells of each column: numbers to the right, the first and the last column to the left. */
function align(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (isText(column) ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join("  ")
      .trimEnd(),
  );
}

const isText = (column) => column === 0 || column === head.length - 1;
