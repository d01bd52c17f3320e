import type { ElicitFormParams } from "../protocol/types/index.js";
import { AnswerRun, checkField, choicesOf } from "../schema/elicitation-answer.js";
import { UsageError } from "./failures.js";

/** Field of a form, and its value. */
export type Field = Readonly<Record<string, unknown>>;
export type FieldValue = string | number | boolean | readonly string[];
export type Content = Record<string, FieldValue>;

/** Returns the fields of a form by name, in order. */
export function fieldsOf({ requestedSchema }: ElicitFormParams): readonly (readonly [name: string, field: Field])[] {
  return Object.entries((requestedSchema?.properties ?? {}) as unknown as Readonly<Record<string, Field>>);
}

export function isRequired(name: string, { requestedSchema }: ElicitFormParams): boolean {
  const { required } = requestedSchema as { readonly required?: readonly string[] };
  return required?.includes(name) === true;
}

/** A choice of a field: its value and the label that people see. */
export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** Returns the choices of a field, with their titles, or undefined if any value is allowed. */
export function labelledChoices(field: Field): readonly Choice[] | undefined {
  const values = choicesOf(field);
  if (values === undefined) return undefined;
  const { items, enumNames } = field as { readonly items?: Field; readonly enumNames?: readonly string[] };
  const titled = (field.oneOf ?? items?.anyOf) as readonly { readonly title?: string }[] | undefined;
  return values.map((value, index) => ({ value, label: titled?.[index]?.title ?? enumNames?.[index] ?? value }));
}

/** Reads what a person typed for a field. Returns the reason if it does not fit. */
export function readField(field: Field, text: string): { readonly value: FieldValue } | { readonly problem: string } {
  const value = toValue(field, text);
  if (value === undefined) return { problem: expectedOf(field) };
  const run = new AnswerRun(true);
  checkField(field, value, "", run);
  const [issue] = run.issues;
  return issue === undefined ? { value } : { problem: issue.message };
}

function toValue(field: Field, text: string): FieldValue | undefined {
  const choices = labelledChoices(field);
  switch (field.type) {
    case "boolean":
      return /^(?:y|yes|true)$/i.test(text) ? true : /^(?:n|no|false)$/i.test(text) ? false : undefined;
    case "integer":
    case "number":
      return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;
    case "array": {
      const parts = text.split(",").map((part) => part.trim());
      const values = parts.filter((part) => part !== "").map((part) => choiceOf(choices, part));
      return values.includes(undefined) ? undefined : (values as string[]);
    }
    default:
      return choices === undefined ? text : choiceOf(choices, text);
  }
}

/** Returns the choice with this value, label or number. */
function choiceOf(choices: readonly Choice[] | undefined, text: string): string | undefined {
  if (choices === undefined) return text;
  const named = choices.find(({ value, label }) => value === text || label === text);
  return (named ?? (/^\d+$/.test(text) ? choices[Number(text) - 1] : undefined))?.value;
}

function expectedOf(field: Field): string {
  if (field.type === "boolean") return "must be y or n";
  if (field.type === "integer" || field.type === "number") return "must be a number";
  return field.type === "array"
    ? "must be numbers or names, with commas between them"
    : "must be a number or a name of the list";
}

/** Answers of the command line: `--answer name=value`. */
export class GivenAnswers {
  readonly #texts = new Map<string, string>();
  readonly #unused: Set<string>;

  constructor(texts: readonly string[]) {
    for (const text of texts) {
      const cut = text.indexOf("=");
      if (cut < 1) throw new UsageError(`--answer must be name=value, got ${JSON.stringify(text)}`);
      this.#texts.set(text.slice(0, cut), text.slice(cut + 1));
    }
    this.#unused = new Set(this.#texts.keys());
  }

  get unused(): readonly string[] {
    return [...this.#unused];
  }

  /** Returns the answers for the fields of a form. Throws a `UsageError` for one that does not fit its field. */
  forForm(question: ElicitFormParams): Content {
    const content: Content = {};
    for (const [name, field] of fieldsOf(question)) {
      const text = this.#texts.get(name);
      if (text === undefined) continue;
      this.#unused.delete(name);
      const read = readField(field, text);
      if ("problem" in read) throw new UsageError(`--answer ${name}: ${read.problem}`);
      content[name] = read.value;
    }
    return content;
  }
}

/** Returns the names of fields that must be answered and have neither a value nor a default. */
export function missingFields(question: ElicitFormParams, content: Content): readonly string[] {
  return fieldsOf(question)
    .filter(([name, field]) => isRequired(name, question) && content[name] === undefined && field.default === undefined)
    .map(([name]) => name);
}
