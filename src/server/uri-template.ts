import { DefinitionError } from "../schema/errors.js";
import { OPERATORS, parseTemplateParts, type TemplatePart } from "../schema/uri-syntax.js";

/** Longer URIs do not match anything. */
const MAX_URI = 16_384;

/** The variables of a template by its text: exploded ones are lists, query ones may be absent. */
export type UriVariables<Text extends string> = string extends Text
  ? Record<string, string | string[]>
  : Simplify<ExpressionsOf<Text>>;

type Simplify<T> = { [Key in keyof T]: T[Key] };
type ExpressionsOf<Text extends string> = Text extends `${string}{${infer Body}}${infer Rest}`
  ? ExpressionOf<Body> & ExpressionsOf<Rest>
  : unknown;
type ExpressionOf<Body extends string> = Body extends `${"?" | "&"}${infer List}`
  ? Partial<ListOf<List>>
  : Body extends `${"+" | "#" | "." | "/" | ";"}${infer List}`
    ? ListOf<List>
    : ListOf<Body>;
type ListOf<List extends string> = List extends `${infer First},${infer Rest}`
  ? OneOf<First> & ListOf<Rest>
  : OneOf<List>;
type OneOf<Spec extends string> = Spec extends `${infer Name}*`
  ? { [Key in Name]: string[] }
  : Spec extends `${infer Name}:${string}`
    ? { [Key in Name]: string }
    : { [Key in Spec]: string };

/** A URI template that URIs can be matched against, without doubt and in time linear in their length. */
export interface UriTemplate<Text extends string = string> {
  readonly text: Text;
  readonly variables: readonly string[];
  /** The variables of a URI, percent-decoded once, or undefined when it does not match as a whole. */
  match(uri: string): UriVariables<Text> | undefined;
}

/** A variable to find in the path: up to the text that follows it. */
interface Slot {
  readonly name: string;
  /** `wide` spans segments. */
  readonly wide: boolean;
  /** What a list is split at; undefined for a single value. */
  readonly split: string | undefined;
  readonly forbidden: RegExp;
  readonly maxLength: number;
}

/** What a template looks like to `match`: slots between literal texts, then named query variables. */
interface Plan {
  readonly literals: readonly string[];
  readonly slots: readonly Slot[];
  /** The query that is part of the literal text. */
  readonly fixedQuery: string | undefined;
  readonly query: ReadonlyMap<string, { readonly explode: boolean }> | undefined;
}

/** Reads a URI template (RFC 6570). One that is malformed, or that cannot be matched without doubt, is refused. */
export function parseUriTemplate<const Text extends string>(text: Text): UriTemplate<Text> {
  const parts = parseTemplateParts(text);
  const plan = planOf(text, parts);
  const variables = parts.flatMap((part) => (typeof part === "string" ? [] : part.variables.map(({ name }) => name)));
  return {
    text,
    variables,
    match: (uri) => matchPlan(plan, uri) as UriVariables<Text> | undefined,
  };
}

function planOf(text: string, parts: readonly TemplatePart[]): Plan {
  const wrong = (problem: string, at: number) =>
    new DefinitionError(`URI template ${JSON.stringify(text)}: ${problem} at position ${at}`);
  const literals = [""];
  const slots: Slot[] = [];
  const query = new Map<string, { explode: boolean }>();
  const names = new Set<string>();
  for (const part of parts) {
    if (typeof part === "string") {
      if (query.size > 0) throw wrong("text after query variables", text.lastIndexOf(part));
      literals.push(literals.pop() + part);
      continue;
    }
    const { operator, variables, at } = part;
    const { first, separator, named } = OPERATORS[operator]!;
    const isQuery = operator === "?" || operator === "&";
    if (isQuery && !beginsOnce(operator, literals, query.size > 0)) {
      throw wrong("a query that does not begin with one question mark, or has other variables in it", at);
    }
    for (const [index, { name, explode, prefix }] of variables.entries()) {
      if (names.has(name)) throw wrong(`the variable ${JSON.stringify(name)} is used twice`, at);
      names.add(name);
      if (isQuery) {
        query.set(name, { explode });
        continue;
      }
      if (query.size > 0) throw wrong("a variable after query variables", at);
      if (named && explode) throw wrong("an exploded path parameter, which cannot be matched", at);
      const before = literals.pop() + (index === 0 ? first : separator) + (named ? `${name}=` : "");
      if (before === "" && slots.length > 0) throw wrong("two variables with nothing between them", at);
      const wide = operator === "+" || operator === "#" || (operator === "/" && explode);
      if (wide && slots.some((slot) => slot.wide)) throw wrong("a second variable that spans segments", at);
      const forbidden = operator === "+" || operator === "#" ? /[^\s\S]/ : wide ? /[?#]/ : /[/?#]/;
      literals.push(before, "");
      slots.push({ name, wide, split: explode ? separator : undefined, forbidden, maxLength: prefix ?? MAX_URI });
    }
  }
  const last = literals.at(-1)!;
  const mark = query.size > 0 ? last.indexOf("?") : -1;
  if (mark >= 0) literals[literals.length - 1] = last.slice(0, mark);
  return {
    literals,
    slots,
    fixedQuery: mark < 0 ? undefined : last.slice(mark + 1),
    query: query.size > 0 ? query : undefined,
  };
}

/** Whether a query expression fits what is before it: `?` opens the query, `&` goes on with one that is all literal. */
function beginsOnce(operator: string, literals: readonly string[], isOpen: boolean): boolean {
  if (isOpen) return operator === "&";
  const mark = literals.findIndex((literal) => literal.includes("?"));
  return operator === "?" ? mark < 0 : mark === literals.length - 1;
}

function matchPlan(plan: Plan, uri: string): Record<string, string | string[]> | undefined {
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
 * Cuts a text into what the slots hold. Slots before the one that spans segments end at the first occurrence of the
 * literal after them, those behind it begin at the last occurrence of the literal before them: no backtracking.
 */
function cut({ literals, slots }: Plan, text: string): string[] | undefined {
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

function readSlot(slot: Slot, text: string): string | string[] | undefined {
  if (text === "" || slot.forbidden.test(text)) return undefined;
  if (slot.split === undefined) {
    const value = decode(text);
    return value !== undefined && value.length <= slot.maxLength ? value : undefined;
  }
  const items = text.split(slot.split).map(decode);
  return items.includes(undefined) ? undefined : (items as string[]);
}

/** Query variables come in any order and may be absent; parameters that the template does not name are ignored. */
function readQuery(plan: Plan, text: string | undefined): Map<string, string | string[]> | undefined {
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
    const value = decode(equals < 0 ? "" : pair.slice(equals + 1));
    if (value === undefined) return undefined;
    const known = values.get(name);
    if (Array.isArray(known)) known.push(value);
    else if (known === undefined) values.set(name, variable.explode ? [value] : value);
  }
  return values;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
