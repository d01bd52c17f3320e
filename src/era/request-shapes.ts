/** Methods that mean the same in every protocol version; each era adds its own members. */
import type { Check } from "../protocol/check.js";
import { completionReference, params } from "../protocol/shapes/common.js";
import { anyObject, object, optional, record, string, uri } from "../protocol/shapes/kit.js";
import type { MethodShape } from "./method-table.js";

type Members = { readonly [member: string]: Check };

/** Nothing but perhaps `_meta`. */
export const noParams: Check = optional(params({}));

const list: MethodShape = { from: "client", params: optional(params({}, { cursor: string })) };

/** The methods that return a list page by page. */
export const lists: ReadonlyMap<string, MethodShape> = new Map([
  ["tools/list", list],
  ["prompts/list", list],
  ["resources/list", list],
  ["resources/templates/list", list],
]);

export function callToolParams(extra: Members): Check {
  return params({ name: string }, { arguments: anyObject, ...extra });
}

export function getPromptParams(extra: Members): Check {
  return params({ name: string }, { arguments: record(string), ...extra });
}

export function resourceParams(extra: Members): Check {
  return params({ uri }, extra);
}

export const complete: MethodShape = {
  from: "client",
  params: params(
    { ref: completionReference, argument: object({ name: string, value: string }) },
    { context: object({}, { arguments: record(string) }) },
  ),
};
