/** The methods of 2026-07-28. The envelope in `_meta` is checked before these are asked. */

import type { Check } from "../../protocol/check.js";
import { inputParams, params, subscriptionFilter } from "../../protocol/shapes/common.js";
import type { MethodShape, MethodTable } from "../method-table.js";
import * as features from "../request-shapes.js";

/** A method that may be answered by a question for input. */
function asking(nameFrom: "name" | "uri", params: Check): MethodShape {
  return { from: "client", nameFrom, asks: true, params };
}

export const modernMethods: MethodTable = new Map<string, MethodShape>([
  ["server/discover", { from: "client", cacheable: true, params: features.noParams }],
  ...[...features.lists].map(([method, shape]) => [method, { ...shape, cacheable: true }] as const),
  ["tools/call", asking("name", features.callToolParams(inputParams))],
  ["prompts/get", asking("name", features.getPromptParams(inputParams))],
  ["resources/read", { ...asking("uri", features.resourceParams(inputParams)), cacheable: true }],
  ["completion/complete", features.complete],
  ["subscriptions/listen", { from: "client", params: params({ notifications: subscriptionFilter }) }],
]);
