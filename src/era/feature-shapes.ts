/** Methods and notifications that mean the same in every protocol version; each era adds its own members. */
import type { Check } from "../schema/check.js";
import {
  anyObject,
  anything,
  array,
  boolean,
  number,
  object,
  optional,
  present,
  record,
  string,
  stringOrInteger,
  uri,
} from "../schema/shape.js";
import * as shapes from "../schema/shapes.js";
import type { MethodShape } from "./method-table.js";

type Members = { readonly [member: string]: Check };

const { params, result } = shapes;

/** Nothing but perhaps `_meta`. */
export const noParams: Check = optional(params({}));

function list(member: string, of: Check): MethodShape {
  return { from: "client", params: optional(params({}, { cursor: string })), result: shapes.page(member, of) };
}

/** The methods that return a list page by page. */
export const lists: ReadonlyMap<string, MethodShape> = new Map([
  ["tools/list", list("tools", shapes.tool)],
  ["prompts/list", list("prompts", shapes.prompt)],
  ["resources/list", list("resources", shapes.resource)],
  ["resources/templates/list", list("resourceTemplates", shapes.resourceTemplate)],
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

const toolContent = array(shapes.contentBlock);
const toolExtras = { structuredContent: anything, isError: boolean };

export const callToolResult: Check = result({ content: toolContent }, toolExtras);
/** As some servers send it: with structured content alone. */
export const callToolResultWithoutContent: Check = result({}, { content: toolContent, ...toolExtras });
export const getPromptResult: Check = result({ messages: array(shapes.promptMessage) }, { description: string });
export const readResourceResult: Check = result({ contents: array(shapes.resourceContents) });

export const complete: MethodShape = {
  from: "client",
  params: params(
    { ref: shapes.completionReference, argument: object({ name: string, value: string }) },
    { context: object({}, { arguments: record(string) }) },
  ),
  result: result({ completion: shapes.completion }),
};

/** The notifications that every version has, but for the cancellation. */
export const notifications: ReadonlyMap<string, Check> = new Map([
  [
    "notifications/progress",
    params({ progressToken: stringOrInteger, progress: number }, { total: number, message: string }),
  ],
  ["notifications/message", params({ level: shapes.loggingLevel, data: present }, { logger: string })],
  ["notifications/resources/updated", params({ uri: string })],
  ["notifications/resources/list_changed", noParams],
  ["notifications/tools/list_changed", noParams],
  ["notifications/prompts/list_changed", noParams],
]);
