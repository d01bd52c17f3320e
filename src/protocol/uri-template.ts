import { DefinitionError } from "./errors.js";

/** Variable of an expression. */
export interface TemplateVariable {
  readonly name: string;
  readonly explode: boolean;
  /** Maximum number of characters of the value to use. */
  readonly prefix: number | undefined;
}

/** Literal text, or an expression at position `at`. */
export type TemplatePart =
  | string
  | { readonly operator: string; readonly variables: readonly TemplateVariable[]; readonly at: number };

/**
 * Rules of an operator: the text before the first variable, the separator between variables, and whether names are
 * written.
 */
export interface Operator {
  readonly first: string;
  readonly separator: string;
  readonly named: boolean;
}

export const OPERATORS: Readonly<Record<string, Operator>> = {
  "": { first: "", separator: ",", named: false },
  "+": { first: "", separator: ",", named: false },
  "#": { first: "#", separator: ",", named: false },
  ".": { first: ".", separator: ".", named: false },
  "/": { first: "/", separator: "/", named: false },
  ";": { first: ";", separator: ";", named: true },
  "?": { first: "?", separator: "&", named: true },
  "&": { first: "&", separator: "&", named: true },
};

const MAX_LENGTH = 2048;
const MAX_VARIABLES = 32;
const NAME = /^(?:\w|%[0-9A-Fa-f]{2})+(?:\.(?:\w|%[0-9A-Fa-f]{2})+)*$/;
const NOT_LITERAL = /[\s\p{Cc}"<>\\^`|}]|%(?![0-9A-Fa-f]{2})/u;

/** Parses a URI template into literal texts and expressions, in order. */
export function parseTemplateParts(text: string): readonly TemplatePart[] {
  const wrong = (problem: string, at: number) =>
    new DefinitionError(`URI template ${JSON.stringify(text.slice(0, 100))}: ${problem} at position ${at}`);
  if (text.length > MAX_LENGTH) throw wrong(`longer than ${MAX_LENGTH} characters`, MAX_LENGTH);
  const parts: TemplatePart[] = [];
  let count = 0;
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf("{", at);
    const literal = text.slice(at, open < 0 ? text.length : open);
    const foreign = literal.search(NOT_LITERAL);
    if (foreign >= 0) throw wrong(`invalid character ${JSON.stringify(literal[foreign])}`, at + foreign);
    if (literal !== "") parts.push(literal);
    if (open < 0) break;
    const close = text.indexOf("}", open);
    if (close < 0) throw wrong("unclosed expression", open);
    const body = text.slice(open + 1, close);
    const operator = /^[+#./;?&]/.exec(body)?.[0] ?? "";
    const variables = body.slice(operator.length).split(",").map(parseVariable);
    if (variables.includes(undefined)) throw wrong("malformed expression", open);
    count += variables.length;
    if (count > MAX_VARIABLES) throw wrong(`more than ${MAX_VARIABLES} variables`, open);
    parts.push({ operator, variables: variables as TemplateVariable[], at: open });
    at = close + 1;
  }
  return parts;
}

function parseVariable(text: string): TemplateVariable | undefined {
  const explode = text.endsWith("*");
  const prefix = /:([1-9]\d{0,3})$/.exec(text);
  const name = explode ? text.slice(0, -1) : prefix === null ? text : text.slice(0, prefix.index);
  return NAME.test(name) ? { name, explode, prefix: prefix === null ? undefined : Number(prefix[1]) } : undefined;
}
