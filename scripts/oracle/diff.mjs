/** Number of lines that are shown around a change. */
const AROUND = 2;
/** Maximum number of lines for which the longest common part is searched. Longer texts are compared line by line. */
const MOST_LINES = 2000;

/**
 * Returns the readable difference of two transcripts. Texts that are JSON are expanded, so that a change in one is a
 * line. If only the bytes of such a text differ, the text is shown as it is.
 * @param {string | undefined} base
 * @param {string | undefined} next
 */
export function diffTranscripts(base, next) {
  const open = diffLines(toLines(base, layOpen), toLines(next, layOpen));
  return open.length > 0 ? open : diffLines(toLines(base), toLines(next));
}

function toLines(text, change = (value) => value) {
  if (text === undefined) return ["(nothing)"];
  return JSON.stringify(JSON.parse(text), (_key, value) => change(value), 1).split("\n");
}

function layOpen(value) {
  if (typeof value !== "string") return value;
  const data = value.startsWith("data: ") ? value.slice(6) : value;
  try {
    const parsed = JSON.parse(data);
    return typeof parsed === "object" ? parsed : value;
  } catch {
    return value;
  }
}

/**
 * Returns the lines that differ, with `-` for the base and `+` for the new build.
 * @param {readonly string[]} base
 * @param {readonly string[]} next
 */
function diffLines(base, next) {
  const rows = alignLines(base, next);
  const near = new Set();
  rows.forEach(([mark], at) => {
    if (mark !== " ") for (let line = at - AROUND; line <= at + AROUND; line++) near.add(line);
  });
  const shown = [];
  rows.forEach(([mark, text], at) => {
    if (near.has(at)) shown.push(`${mark} ${text}`);
    else if (near.has(at - 1)) shown.push("  ...");
  });
  return shown;
}

/** Aligns two lists by their longest common part. */
function alignLines(base, next) {
  let start = 0;
  while (start < base.length && start < next.length && base[start] === next[start]) start++;
  let end = 0;
  while (end < base.length - start && end < next.length - start && base.at(-1 - end) === next.at(-1 - end)) end++;
  const left = base.slice(start, base.length - end);
  const right = next.slice(start, next.length - end);
  const middle = left.length + right.length > MOST_LINES ? replace(left, right) : align(left, right);
  const same = (lines) => lines.map((line) => [" ", line]);
  return [...same(base.slice(0, start)), ...middle, ...same(base.slice(base.length - end))];
}

const replace = (left, right) => [...left.map((line) => ["-", line]), ...right.map((line) => ["+", line])];

function align(left, right) {
  const common = Array.from({ length: left.length + 1 }, () => new Uint16Array(right.length + 1));
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      common[i][j] = left[i] === right[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
    }
  }
  const rows = [];
  let i = 0;
  let j = 0;
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) {
      rows.push([" ", left[i++]]);
      j++;
    } else if (common[i + 1][j] >= common[i][j + 1]) rows.push(["-", left[i++]]);
    else rows.push(["+", right[j++]]);
  }
  return [...rows, ...replace(left.slice(i), right.slice(j))];
}
