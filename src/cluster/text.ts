/** First character of a text that is stored as JSON. */
const MARK = "\u0001";

/** Returns a form of the text that each engine can store. Some cannot store U+0000, and UTF-8 has no lone surrogates. */
export function toStored(text: string): string {
  if (!text.includes("\0") && !text.startsWith(MARK) && !LONE.test(text)) return text;
  return MARK + JSON.stringify(text);
}

/** Returns the text of its stored form. */
export function fromStored(stored: string | null | undefined): string {
  if (stored == null) return "";
  return stored.startsWith(MARK) ? (JSON.parse(stored.slice(1)) as string) : stored;
}

/** Matches a surrogate without its other half. */
const LONE = /\p{Surrogate}/u;
