import { ratio, spread } from "../lib/stats.mjs";

/** Subject whose ratios to the others are reported. */
const own = "bowline";

/**
 * Converts `{ cell: { subject: [window per round] } }` to `{ subject: { cell: figures } }`. `ofFloor` and `cpuOfFloor`
 * compare with the floor. `over` (for Bowline) compares calls per second with each of the others, `overBest` with the
 * best of them.
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
  if (name !== own) return {};
  const peers = Object.keys(series).filter((other) => other !== own && other !== floor && !other.includes(" -> "));
  const over = {};
  for (const peer of peers) over[peer] = ratio(valuesOf(series[own], "perSecond"), valuesOf(series[peer], "perSecond"));
  if (peers.length === 0) return {};
  const [best] = peers.sort((a, b) => over[a].median - over[b].median);
  return { over, overBest: { peer: best, ...over[best] } };
}
