import { MAX_URI, type UriPlan, type UriSlot, type UriTemplate, type UriVariables } from "./uri-template.js";

/** Returns the variables of a URI, percent-decoded once, or undefined if the URI does not match the whole template. */
export function matchUri<Text extends string>(
  template: UriTemplate<Text>,
  uri: string,
): UriVariables<Text> | undefined {
  return matchPlan(template.plan, uri) as UriVariables<Text> | undefined;
}

function matchPlan(plan: UriPlan, uri: string): Record<string, string | string[]> | undefined {
  if (uri.length > MAX_URI) return undefined;
  const mark = plan.query === undefined ? -1 : uri.indexOf("?");
  const texts = cut(plan, mark < 0 ? uri : uri.slice(0, mark));
  if (texts === undefined) return undefined;
  const found: [string, string | string[]][] = [];
  for (const [index, slot] of plan.slots.entries()) {
    const value = readSlot(slot, texts[index]!);
    if (value === undefined) return undefined;
    found.push([slot.name, value]);
  }
  if (plan.query === undefined) return Object.fromEntries(found);
  const values = readQuery(plan, mark < 0 ? undefined : uri.slice(mark + 1));
  return values === undefined ? undefined : Object.fromEntries([...found, ...values]);
}

/**
 * Splits a text into the values of the slots. A slot before the wide slot ends at the first occurrence of the literal
 * after it. A slot after the wide slot begins at the last occurrence of the literal before it. So there is no
 * backtracking.
 */
function cut({ literals, slots }: UriPlan, text: string): string[] | undefined {
  const last = slots.length;
  if (last === 0) return text === literals[0] ? [] : undefined;
  let start = literals[0]!.length;
  let end = text.length - literals[last]!.length;
  if (end < start || !text.startsWith(literals[0]!) || !text.endsWith(literals[last]!)) return undefined;
  const wide = slots.findIndex((slot) => slot.wide);
  const middle = wide < 0 ? last - 1 : wide;
  const texts: string[] = new Array(last);
  for (let index = 0; index < middle; index += 1) {
    const literal = literals[index + 1]!;
    const stop = text.indexOf(literal, start + 1);
    if (stop < 0 || stop + literal.length > end) return undefined;
    texts[index] = text.slice(start, stop);
    start = stop + literal.length;
  }
  for (let index = last - 1; index > middle; index -= 1) {
    const literal = literals[index]!;
    const from = text.lastIndexOf(literal, end - 1 - literal.length);
    if (from < start) return undefined;
    texts[index] = text.slice(from + literal.length, end);
    end = from;
  }
  texts[middle] = text.slice(start, end);
  return texts;
}

function readSlot(slot: UriSlot, text: string): string | string[] | undefined {
  if (text === "" || slot.forbidden.test(text)) return undefined;
  if (slot.split === undefined) {
    const value = decodePercent(text);
    return value !== undefined && value.length <= slot.maxLength ? value : undefined;
  }
  const items = text.split(slot.split).map(decodePercent);
  return items.includes(undefined) ? undefined : (items as string[]);
}

/**
 * Reads query variables, which may be absent and come in any order. Ignores parameters that the template does not name.
 */
function readQuery(plan: UriPlan, text: string | undefined): Map<string, string | string[]> | undefined {
  const values = new Map<string, string | string[]>();
  let rest = text ?? "";
  if (plan.fixedQuery !== undefined) {
    if (text === undefined || !text.startsWith(plan.fixedQuery)) return undefined;
    rest = text.slice(plan.fixedQuery.length);
    if (rest !== "" && !rest.startsWith("&") && plan.fixedQuery !== "") return undefined;
  }
  if (rest.includes("#")) return undefined;
  for (const pair of rest.split("&")) {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? pair : pair.slice(0, equals);
    const variable = plan.query!.get(name);
    if (variable === undefined) continue;
    const value = decodePercent(equals < 0 ? "" : pair.slice(equals + 1));
    if (value === undefined) return undefined;
    const known = values.get(name);
    if (Array.isArray(known)) known.push(value);
    else if (known === undefined) values.set(name, variable.explode ? [value] : value);
  }
  return values;
}

/** Decodes a percent-encoded text. Returns undefined if it is malformed. */
export function decodePercent(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
