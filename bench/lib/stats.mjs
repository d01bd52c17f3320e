export function median(values) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The value below which a share of the values lies. */
export function quantile(values, share) {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** What is told of a series: its median and how far it spreads. Three digits say all that such a measurement knows. */
export function spread(values, digits = 3) {
  const known = values.filter(Number.isFinite);
  if (known.length === 0) return undefined;
  return {
    median: round(median(known), digits),
    min: round(Math.min(...known), digits),
    max: round(Math.max(...known), digits),
  };
}

/** The ratio of two series, round by round: what troubled the machine in a round troubled both. */
export function ratio(values, others) {
  return spread(values.map((value, index) => value / others[index]));
}

export function round(value, digits = 3) {
  return Number.isFinite(value) ? Number(value.toPrecision(digits)) : undefined;
}
