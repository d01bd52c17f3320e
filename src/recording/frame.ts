import { isShallow, type Redactor } from "./redactor.js";

/** Content of a frame: `m` if it is JSON that would be serialized to the same text, else `raw`. */
export type FrameContent = { readonly m: unknown } | { readonly raw: string };

/** Content of a frame, with the text that `m` is serialized to, if that is known. */
export type KnownContent = FrameContent & { readonly json?: string };

/** Returns the content of a frame, redacted if there is a redactor. */
export function frameContent(text: string, redactor: Redactor | undefined): KnownContent {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { raw: redactor === undefined ? text : redactor.text(text) };
  }
  const m = redactor === undefined ? value : redactor.message(value);
  if (m !== value) return { m };
  // A redactor leaves no value that is too deep.
  const isExact = (redactor !== undefined || isShallow(value)) && JSON.stringify(value) === text;
  if (isExact) return { m, json: text };
  return { raw: redactor === undefined ? text : redactor.text(text) };
}
