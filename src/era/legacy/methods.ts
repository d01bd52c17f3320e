/** Methods and notifications of 2024-11-05 to 2025-11-25: the union of these versions. */

import { clientCapabilities, implementation, params } from "../../protocol/shapes/common.js";
import { inputShapes } from "../../protocol/shapes/input.js";
import { number, object, string, stringOrInteger } from "../../protocol/shapes/kit.js";
import * as features from "../request-shapes.js";
import { loggingLevel, notifications } from "../request-shapes.js";
import type { MethodShape, MethodTable, NotificationTable } from "../server-era.js";

const subscription: MethodShape = { from: "client", params: features.resourceParams({}) };

export const legacyMethods: MethodTable = new Map<string, MethodShape>([
  [
    "initialize",
    {
      from: "client",
      params: params({ protocolVersion: string, capabilities: clientCapabilities, clientInfo: implementation }),
    },
  ],
  ["ping", { from: "both", params: features.noParams }],
  ["logging/setLevel", { from: "client", params: params({ level: loggingLevel }) }],
  ...features.lists,
  [
    "tools/call",
    { from: "client", nameFrom: "name", params: features.callToolParams({ task: object({}, { ttl: number }) }) },
  ],
  ["prompts/get", { from: "client", nameFrom: "name", params: features.getPromptParams({}) }],
  ["resources/read", { from: "client", nameFrom: "uri", params: features.resourceParams({}) }],
  ["resources/subscribe", subscription],
  ["resources/unsubscribe", subscription],
  ["completion/complete", features.complete],
  ...[...inputShapes].map(([method, { params }]) => [method, { from: "server", params }] as const),
]);

/** `requestId` may be absent since 2025-11-25. Such a notification cancels nothing. */
const cancelled = params({}, { requestId: stringOrInteger, reason: string });

/** Notifications of later versions. They are ignored on arrival. */
export const ADDED_NOTIFICATIONS: ReadonlySet<string> = new Set(["notifications/subscriptions/acknowledged"]);

export const legacyNotifications: NotificationTable = new Map([
  ...notifications,
  ["notifications/cancelled", cancelled],
  ["notifications/initialized", features.noParams],
  ["notifications/roots/list_changed", features.noParams],
  ["notifications/elicitation/complete", params({ elicitationId: string })],
]);
