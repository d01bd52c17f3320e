import { pointerTo } from "../../protocol/json.js";
import { differencesOf } from "../../recording/differences.js";
import type { RecordingEvent } from "../../recording/events.js";
import type { RecordingFile } from "../../recording/reader.js";
import { Redactor } from "../../recording/redactor.js";

/** Value of a recording that looks secret. */
export interface Leftover {
  readonly line: number;
  /** JSON pointer into the line. */
  readonly path: string;
  /** Kind of its pseudonym, or `random` for a text that no person and no schema would write. */
  readonly kind: string;
}

/** Text in which a random one is searched. A longer run is data, such as an image. */
const RUN = /[A-Za-z0-9_+=-]{24,200}/g;
/** Bits of each character from which a text counts as random. */
const MIN_ENTROPY = 4;

/** Finds what a recorder would replace, and texts that look random. `keep` names members that may stay. */
export function leftoversOf({ header, events }: RecordingFile, keep: readonly string[]): readonly Leftover[] {
  const redactor = new Redactor({ redact: header.redaction.redact, keep });
  return events.flatMap(({ line, ...event }) => {
    // Its members are names of kinds.
    if (event.k === "done") return [];
    const replaced = differencesOf(event, redacted(event, redactor)).map(({ path, live }) => ({
      line,
      path,
      kind: /<([a-z]+):/.exec(JSON.stringify(live) ?? "")?.[1] ?? "secret",
    }));
    const known = new Set(replaced.map(({ path }) => path));
    const random = randomIn(event, "").filter(
      (path) => !known.has(path) && !keep.some((name) => path.endsWith(`/${name}`)),
    );
    return [...replaced, ...random.map((path) => ({ line, path, kind: "random" }))];
  });
}

function redacted(event: RecordingEvent, redactor: Redactor): object {
  const told = redactor.event(event);
  if (event.k !== "frame") return told;
  if (event.raw !== undefined) return { ...told, raw: redactor.text(event.raw) };
  return { ...told, m: redactor.message(event.m) };
}

/** Returns the places of texts that look random. */
function randomIn(value: unknown, path: string): string[] {
  if (typeof value === "string") return (value.match(RUN) ?? []).some(isRandom) ? [path] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => randomIn(member, path + pointerTo(name)));
}

function isRandom(text: string): boolean {
  if (!/\d/.test(text) || !/[a-z]/.test(text) || !/[A-Z]/.test(text)) return false;
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits >= MIN_ENTROPY;
}
