const PSEUDONYM = /<[a-z]+:[\w.-]+>/;

/**
 * Returns where a replay shows something else than the live server did, or undefined. A pseudonym of the recording stands for
 * any text.
 */
export function differenceOf(live: unknown, replayed: unknown, path = ""): string | undefined {
  if (typeof live === "string" && typeof replayed === "string" && fits(live, replayed)) return undefined;
  if (typeof live !== "object" || typeof replayed !== "object" || live === null || replayed === null)
    return live === replayed ? undefined : `${path || "/"}: ${shortened(live)}, replayed as ${shortened(replayed)}`;
  const [one, two] = [live, replayed] as Readonly<Record<string, unknown>>[];
  const names = new Set([...Object.keys(live), ...Object.keys(replayed)]);
  for (const name of names) {
    const found = differenceOf(one![name], two![name], `${path}/${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function fits(live: string, replayed: string): boolean {
  if (live === replayed) return true;
  const parts = replayed.split(PSEUDONYM);
  let at = 0;
  for (const [index, part] of parts.entries()) {
    const found = index === parts.length - 1 ? live.length - part.length : live.indexOf(part, at);
    if (found < at || !live.startsWith(part, found) || (index === 0 && found !== 0)) return false;
    at = found + part.length;
  }
  return parts.length > 1;
}

function shortened(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 100 ? `${text.slice(0, 100)}...` : text;
}
