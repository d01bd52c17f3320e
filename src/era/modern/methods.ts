import type { Check } from "../../protocol/json.js";
import { inputParams, params, subscriptionFilter } from "../../protocol/shapes/common.js";
import { string, stringOrInteger } from "../../protocol/shapes/kit.js";
import * as features from "../request-shapes.js";
import { notifications } from "../request-shapes.js";
import type { MethodShape, MethodTable, NotificationTable } from "../server-era.js";

/** Methods and notifications of 2026-07-28. */

/** Notifications of older versions that this version does not have. They are ignored on arrival. */
export const REMOVED_NOTIFICATIONS: ReadonlySet<string> = new Set([
  "notifications/initialized",
  "notifications/roots/list_changed",
  "notifications/elicitation/complete",
]);

export const modernNotifications: NotificationTable = new Map([
  ...notifications,
  ["notifications/cancelled", params({ requestId: stringOrInteger }, { reason: string })],
  ["notifications/subscriptions/acknowledged", params({ notifications: subscriptionFilter })],
]);

/** Returns the shape of a method whose result may be `input_required`. */
function asking(nameFrom: "name" | "uri", params: Check): MethodShape {
  return { from: "client", nameFrom, asks: true, params };
}

/** Methods of 2026-07-28. The envelope in `_meta` is checked before these shapes. */
export const modernMethods: MethodTable = new Map<string, MethodShape>([
  ["server/discover", { from: "client", cacheable: true, params: features.noParams }],
  ...[...features.lists].map(([method, shape]) => [method, { ...shape, cacheable: true }] as const),
  ["tools/call", asking("name", features.callToolParams(inputParams))],
  ["prompts/get", asking("name", features.getPromptParams(inputParams))],
  ["resources/read", { ...asking("uri", features.resourceParams(inputParams)), cacheable: true }],
  ["completion/complete", features.complete],
  ["subscriptions/listen", { from: "client", params: params({ notifications: subscriptionFilter }) }],
]);
