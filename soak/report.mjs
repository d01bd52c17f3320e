import { sum } from "./judge.mjs";

const number = new Intl.NumberFormat("en");
const show = (value) => (typeof value === "number" ? number.format(value) : String(value));
const mib = (bytes) => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

/** Returns the report of a run as text. */
export function toText(run) {
  const { lanes, floods, before, after, problems, seconds, seed, longestPauseMs } = run;
  return [
    `Soak of ${show(seconds)} s, seed ${seed}; longest pause of the event loop: ${show(longestPauseMs)} ms`,
    "",
    ...table(
      ["wire", "rounds", "calls", "ok", "aborted", "timed out", "lost", "refused", "unexpected", "outages"],
      [...lanes.map(toRow), toRow({ name: "all", ...totals(lanes) })],
    ),
    "",
    ...table(
      ["flood", "bound", "times", "sent", "served", "refused"],
      floods.map(({ name, bound, times, sent, served, refused }) => [name, bound, times, sent, served, refused]),
    ),
    "",
    ...table(["held", "after warm-up", "in the end"], [...holdings(before, after)]),
    "",
    problems.length === 0 ? "PASSED: nothing unexpected, nothing grew" : `FAILED: ${problems.length} problems`,
    ...problems.map((problem) => `  ${problem}`),
  ].join("\n");
}

function toRow({ name, rounds, calls, ok, aborted, timedOut, lost, refused, unexpected, outages }) {
  return [name, rounds, calls, ok, aborted, timedOut, lost, refused, unexpected, outages];
}

function totals(lanes) {
  const names = ["rounds", "calls", "ok", "aborted", "timedOut", "lost", "refused", "unexpected", "outages"];
  return Object.fromEntries(names.map((name) => [name, sum(lanes, name)]));
}

function* holdings(before, after) {
  yield ["heap", mib(before.heap), mib(after.heap)];
  yield ["of it compiled code", mib(before.code), mib(after.code)];
  for (const [name, child] of Object.entries(before.children))
    yield [`heap of the child of ${name}`, mib(child.heap), mib(after.children[name].heap)];
  yield ["memory of the process (not judged)", mib(before.rss), mib(after.rss)];
  yield ["sockets", before.sockets, after.sockets];
  const kinds = new Set([...Object.keys(before.handles), ...Object.keys(after.handles)]);
  for (const kind of kinds) yield [kind, before.handles[kind] ?? 0, after.handles[kind] ?? 0];
  for (const [name, stats] of Object.entries(before.stats))
    yield [`stats() of ${name}`, brief(stats), brief(after.stats[name])];
}

function brief(stats) {
  const held = Object.entries(stats).filter(([, count]) => count !== 0);
  return held.length === 0 ? "nothing" : held.map(([name, count]) => `${name} ${count}`).join(", ");
}

/** Returns aligned columns, with numbers to the right. */
function table(heads, rows) {
  const texts = rows.map((row) => row.map(show));
  const widths = heads.map((head, column) => Math.max(head.length, ...texts.map((row) => row[column].length)));
  const isNumber = heads.map((_, column) => rows.every((row) => typeof row[column] === "number"));
  const line = (cells) =>
    cells
      .map((cell, column) => (isNumber[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join("  ")
      .trimEnd();
  return [line(heads), widths.map((width) => "─".repeat(width)).join("  "), ...texts.map(line)];
}
