import { peers, sessionless } from "../adapters/peers.mjs";
import { ratio, spread } from "../lib/stats.mjs";

/** Subjects whose ratios to the others are reported. */
const own = ["bowline", sessionless("bowline")];

/** Peers of which `overBest` is the best: those in JavaScript, served as the wire says. */
const isRival = (name) => peers[name] !== undefined && peers[name].native === undefined;

/**
 * Converts `{ cell: { subject: [window per round] } }` to `{ subject: { cell: figures } }`. `ofFloor` and `cpuOfFloor`
 * compare with the floor. For Bowline, `over` and `cpuOf` compare calls per second and CPU time per call with each of
 * the others, and `overBest` compares calls per second with the best in JavaScript.
 */
export function tabulate(cells, floor) {
  const table = {};
  for (const [cell, series] of Object.entries(cells)) {
    for (const name of Object.keys(series)) {
      table[name] ??= {};
      table[name][cell] = {
        ...figuresOf(series[name]),
        ...againstFloor(series, name, floor),
        ...againstPeers(series, name, floor),
      };
    }
  }
  return table;
}

function figuresOf(windows) {
  const of = (key, digits) =>
    spread(
      windows.map((window) => window[key]),
      digits,
    );
  return { perSecond: of("perSecond", 4), p50Us: of("p50Us"), p99Us: of("p99Us"), cpuUs: of("cpuUs") };
}

const valuesOf = (windows, key) => windows.map((window) => window[key]);

function againstFloor(series, name, floor) {
  if (floor === undefined || series[floor] === undefined) return {};
  const compare = (key) => ratio(valuesOf(series[name], key), valuesOf(series[floor], key));
  return { ofFloor: compare("perSecond"), cpuOfFloor: compare("cpuUs") };
}

function againstPeers(series, name, floor) {
  if (!own.includes(name)) return {};
  const others = Object.keys(series).filter((other) => ![...own, floor].includes(other) && !other.includes(" -> "));
  if (others.length === 0) return {};
  const compare = (key) =>
    Object.fromEntries(others.map((peer) => [peer, ratio(valuesOf(series[name], key), valuesOf(series[peer], key))]));
  const over = compare("perSecond");
  const [best] = others.filter(isRival).sort((a, b) => over[a].median - over[b].median);
  const overBest = best === undefined ? {} : { overBest: { peer: best, ...over[best] } };
  return { over, cpuOf: compare("cpuUs"), ...overBest };
}
