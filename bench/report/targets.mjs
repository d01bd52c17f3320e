import { readFileSync } from "node:fs";

export const readTargets = () => JSON.parse(readFileSync(new URL("../targets.json", import.meta.url), "utf8"));

/**
 * Returns each target (`{ title, at, least | most }`, where `at` is a path into the results) with its result: a number,
 * or the median of a spread. A target that was not measured is neither met nor missed.
 */
export function judge(targets, results) {
  return targets.map(({ title, at, ...bound }) => {
    const found = at.reduce((node, key) => node?.[key], results);
    const value = typeof found === "number" ? found : found?.median;
    const spread = typeof found === "object" ? { min: found.min, max: found.max } : undefined;
    return { title, ...bound, value, spread, met: isMet(bound, value) };
  });
}

function isMet({ least = -Infinity, most = Infinity }, value) {
  return value === undefined ? undefined : value >= least && value <= most;
}

export const boundOf = ({ least, most }) => (least === undefined ? `at most ${most}` : `at least ${least}`);

export const verdictOf = ({ met }) => (met === undefined ? "not measured" : met ? "met" : "not met");

export const reachedOf = ({ value, spread }) =>
  value === undefined ? "-" : spread?.min === undefined ? `${value}` : `${value} [${spread.min}..${spread.max}]`;

/** Returns the targets as lines of text, and the number of targets that are met. */
export function toLines(targets) {
  const measured = targets.filter(({ met }) => met !== undefined);
  const widest = Math.max(0, ...measured.map(({ title }) => title.length));
  const lines = measured.map((target) =>
    [verdictOf(target).padEnd(8), target.title.padEnd(widest), boundOf(target).padEnd(14), reachedOf(target)].join(
      "  ",
    ),
  );
  const met = measured.filter((target) => target.met).length;
  return [
    ...lines,
    `${met} targets met, ${measured.length - met} not met, ${targets.length - measured.length} not measured`,
  ];
}
