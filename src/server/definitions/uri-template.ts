import { DefinitionError } from "../../protocol/errors.js";
import { OPERATORS, parseTemplateParts, type TemplatePart } from "../../protocol/uri-template.js";

/** Maximum length of a URI. A longer URI matches no template. */
export const MAX_URI = 16_384;

/** Variables of a template, inferred from its text. Exploded variables are lists, query variables are optional. */
export type UriVariables<Text extends string> = string extends Text
  ? Record<string, string | string[]>
  : Simplify<ExpressionsOf<Text>>;

/** Names of the variables of a template. Any name if the text is not known to the compiler. */
export type UriVariableName<Text extends string> = keyof UriVariables<Text> & string;

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

/** URI template for matching. Matches are unambiguous and take linear time. See {@link matchUri}. */
export interface UriTemplate<Text extends string = string> {
  readonly text: Text;
  readonly variables: readonly string[];
  readonly plan: UriPlan;
}

/** Variable in the path. It ends where the next literal begins. */
export interface UriSlot {
  readonly name: string;
  /** True if the value may contain slashes. */
  readonly wide: boolean;
  /** Separator of a list. Undefined for a single value. */
  readonly split: string | undefined;
  readonly forbidden: RegExp;
  readonly maxLength: number;
}

/** Matching plan of a template: slots between literals, then query variables by name. */
export interface UriPlan {
  readonly literals: readonly string[];
  readonly slots: readonly UriSlot[];
  /** Query that the template's text contains literally. */
  readonly fixedQuery: string | undefined;
  readonly query: ReadonlyMap<string, { readonly explode: boolean }> | undefined;
}

/** Parses a URI template (RFC 6570). Throws if it is malformed, or if matching it would be ambiguous. */
export function parseUriTemplate<const Text extends string>(text: Text): UriTemplate<Text> {
  const parts = parseTemplateParts(text);
  const plan = planOf(text, parts);
  const variables = parts.flatMap((part) => (typeof part === "string" ? [] : part.variables.map(({ name }) => name)));
  return { text, variables, plan };
}

function planOf(text: string, parts: readonly TemplatePart[]): UriPlan {
  const wrong = (problem: string, at: number) =>
    new DefinitionError(`URI template ${JSON.stringify(text)}: ${problem} at position ${at}`);
  const literals = [""];
  const slots: UriSlot[] = [];
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
      throw wrong(operator === "?" ? "a second question mark" : "{&...} that does not follow a literal query", at);
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

/**
 * True if a query expression may follow the preceding literals: `?` begins the query, `&` continues a literal query.
 */
function beginsOnce(operator: string, literals: readonly string[], isOpen: boolean): boolean {
  if (isOpen) return operator === "&";
  const mark = literals.findIndex((literal) => literal.includes("?"));
  return operator === "?" ? mark < 0 : mark === literals.length - 1;
}
