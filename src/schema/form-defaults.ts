import { isObject } from "../protocol/json.js";
import type { AnswerContent, RequestedSchema } from "./elicitation-answer.js";

/** The answer with defaults in place of what is missing. What was given, even if empty, stays. */
export function applyDefaults(form: RequestedSchema, content: AnswerContent): AnswerContent {
  const filled: Record<string, AnswerContent[string]> = { ...content };
  for (const [name, field] of Object.entries(form.properties ?? {})) {
    const value = isObject(field) ? field.default : undefined;
    if (value !== undefined && (filled[name] === undefined || !Object.hasOwn(filled, name))) filled[name] = value;
  }
  return filled;
}
