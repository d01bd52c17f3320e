/** Markup that is safe to put into a page. */
export class Html {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

type Part = string | Html | undefined | readonly (Html | undefined)[];

/** Text that is put in is escaped, for content and for quoted attributes alike; only `Html` goes in as it is. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  let text = strings[0] ?? "";
  for (const [index, part] of parts.entries()) text += toText(part) + (strings[index + 1] ?? "");
  return new Html(text);
}

function toText(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Html) return part.text;
  return typeof part === "string" ? escaped(part) : part.map((item) => item?.text ?? "").join("");
}

const ENTITIES: { readonly [char: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"'`]/g, (char) => ENTITIES[char] ?? "");
}

const MAX_SHOWN = 120;

/** Text of a stranger as people may see it: one line, short, without characters that turn or hide what is around. */
export function shownText(text: string): string {
  const line = text.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]+/gu, " ").trim();
  const chars = [...line];
  return chars.length > MAX_SHOWN ? `${chars.slice(0, MAX_SHOWN).join("")}…` : line;
}
