import { isObject } from "../../protocol/json.js";
import type { AnyMessage } from "../../recording/messages.js";

/** Returns the messages of a text: none if it is not JSON, several if it is a batch. */
export function messagesIn(text: string): readonly AnyMessage[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [];
  }
  return (Array.isArray(value) ? value : [value]).filter(isObject) as readonly AnyMessage[];
}
