import { ProtocolError } from "../protocol/errors.js";
import type { Check, Problem } from "../protocol/json.js";
import { invalidParams, methodNotFound } from "../protocol/jsonrpc/errors.js";
import type { Params, RpcNotification } from "../protocol/jsonrpc/message.js";
import { LOGGING_LEVELS } from "../protocol/logging.js";
import { completionReference, params } from "../protocol/shapes/common.js";
import {
  anyObject,
  number,
  object,
  oneOf,
  optional,
  present,
  record,
  string,
  stringOrInteger,
  uri,
} from "../protocol/shapes/kit.js";
import { withoutNulls } from "../protocol/shapes/nulls.js";
import { mustBe, oneLine } from "../protocol/text.js";
import type { Call, MethodShape, NotificationTable } from "./server-era.js";

/** Shapes of the methods that are equal in every protocol version. Each era adds its own members. */

type Members = { readonly [member: string]: Check };

/** Params without required members. Only `_meta` is checked. */
export const noParams: Check = optional(params({}));

const list: MethodShape = { from: "client", params: optional(params({}, { cursor: string })) };

/** Methods that return a list in pages. */
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

export const loggingLevel: Check = oneOf(...LOGGING_LEVELS);

/** Notifications that every version has, except `notifications/cancelled`, whose params differ between the eras. */
export const notifications: ReadonlyMap<string, Check> = new Map([
  [
    "notifications/progress",
    params({ progressToken: stringOrInteger, progress: number }, { total: number, message: string }),
  ],
  ["notifications/message", params({ level: loggingLevel, data: present }, { logger: string })],
  ["notifications/resources/updated", params({ uri: string })],
  ["notifications/resources/list_changed", noParams],
  ["notifications/tools/list_changed", noParams],
  ["notifications/prompts/list_changed", noParams],
]);

/**
 * Returns the params of a call that were refused, without members that are null. Throws if they are refused all the
 * same, or if only servers send this method.
 */
export function readAgain({ era, method, params }: Call, check: Check, problem: Problem): Params {
  if (era.methods.get(method)?.from === "server") throw methodNotFound(method);
  const read = withoutNulls(check, params, problem);
  if (read === undefined) throw invalidParams(method, problem);
  return read;
}

/**
 * Returns the problem of a notification by the rules of an era. Of a notification that the era does not define, only
 * `_meta` is checked.
 */
export function notificationProblem(
  known: NotificationTable,
  { method, params }: RpcNotification,
): ProtocolError | undefined {
  const problem = (known.get(method) ?? noParams)(params);
  return problem && new ProtocolError(`${oneLine(method)}: ${mustBe(problem)}`);
}
