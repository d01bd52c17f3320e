export function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Returns the value below which a share of the values is. */
export function quantile(values, share) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Returns the median and the range of a series, with as many digits as such a measurement justifies. */
export function spread(values, digits = 3) {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return undefined;
  return {
    median: round(median(known), digits),
    min: round(Math.min(...known), digits),
    max: round(Math.max(...known), digits),
  };
}

/** Returns the ratio of two series, round by round, since a disturbance in a round affects both. */
export function ratio(values, others) {
  return spread(values.map((value, index) => value / others[index]));
}

export function round(value, digits = 3) {
  return Number.isFinite(value) ? Number(value.toPrecision(digits)) : undefined;
}

/** Returns how much the second of each pair exceeds the first, as a share of the first. */
export const pairedDifferences = (pairs) => pairs.map(([before, after]) => (after - before) / before);

const resamples = 2000;

/**
 * Returns the median of all values of some groups and its 95 % interval: `{ median, low, high }`. Values of one group
 * depend on each other, so each resample of the bootstrap draws groups first and then values within them. The draws are
 * the same each time.
 */
export function groupedMedian(groups) {
  const known = groups.map((group) => group.filter(Number.isFinite)).filter((group) => group.length > 0);
  const draw = drawer(1);
  const medians = Array.from({ length: known.length === 0 ? 0 : resamples }, () =>
    median(known.flatMap(() => resample(draw(known), draw))),
  ).sort((a, b) => a - b);
  return { median: median(known.flat()), low: quantile(medians, 0.025), high: quantile(medians, 0.975) };
}

const resample = (values, draw) => values.map(() => draw(values));

/** Returns a function that draws an element of an array. Equal seeds give equal draws (mulberry32). */
function drawer(seed) {
  let state = seed;
  return (values) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return values[Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * values.length)];
  };
}

/** Returns the verdict on the interval of a difference, given the accepted difference. */
export function verdictOn({ low, high }, accepted) {
  if (high <= accepted) return `at most ${round(accepted * 100)} % worse`;
  return low > accepted ? "worse" : "undecided";
}
