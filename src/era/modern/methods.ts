/** The methods and notifications of 2026-07-28. What only takes requests needs no more than `request-shapes.ts`. */

import { params, subscriptionFilter } from "../../protocol/shapes/common.js";
import { string, stringOrInteger } from "../../protocol/shapes/kit.js";
import type { NotificationTable } from "../method-table.js";
import { notifications } from "../notification-shapes.js";

export { modernMethods } from "./request-shapes.js";

/** What older versions have and this one does not: dropped on arrival, whoever would take it. */
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
