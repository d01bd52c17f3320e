/** The methods and notifications of 2024-11-05 to 2025-11-25: the union of what those versions allow. */
import { inputShapes } from "../../schema/input-shapes.js";
import { number, object, string, stringOrInteger } from "../../schema/shape.js";
import {
  clientCapabilities,
  implementation,
  loggingLevel,
  params,
  result,
  serverCapabilities,
} from "../../schema/shapes.js";
import * as features from "../feature-shapes.js";
import type { MethodShape, MethodTable, NotificationTable } from "../method-table.js";

const emptyResult = result({});

const initialize: MethodShape = {
  from: "client",
  params: params({ protocolVersion: string, capabilities: clientCapabilities, clientInfo: implementation }),
  result: result(
    { protocolVersion: string, capabilities: serverCapabilities, serverInfo: implementation },
    { instructions: string },
  ),
};

const subscription: MethodShape = { from: "client", params: features.resourceParams({}), result: emptyResult };

const callTool: MethodShape = {
  from: "client",
  nameFrom: "name",
  params: features.callToolParams({ task: object({}, { ttl: number }) }),
  result: features.callToolResultWithoutContent,
};

export const legacyMethods: MethodTable = new Map<string, MethodShape>([
  ["initialize", initialize],
  ["ping", { from: "both", params: features.noParams, result: emptyResult }],
  ["logging/setLevel", { from: "client", params: params({ level: loggingLevel }), result: emptyResult }],
  ...features.lists,
  ["tools/call", callTool],
  [
    "prompts/get",
    { from: "client", nameFrom: "name", params: features.getPromptParams({}), result: features.getPromptResult },
  ],
  [
    "resources/read",
    { from: "client", nameFrom: "uri", params: features.resourceParams({}), result: features.readResourceResult },
  ],
  ["resources/subscribe", subscription],
  ["resources/unsubscribe", subscription],
  ["completion/complete", features.complete],
  ...[...inputShapes].map(([method, shape]) => [method, { from: "server", ...shape }] as const),
]);

/** `requestId` may be absent since 2025-11-25; such a cancellation cancels nothing. */
const cancelled = params({}, { requestId: stringOrInteger, reason: string });

/** What later versions have and these do not: dropped on arrival, whoever would take it. */
export const ADDED_NOTIFICATIONS: ReadonlySet<string> = new Set(["notifications/subscriptions/acknowledged"]);

export const legacyNotifications: NotificationTable = new Map([
  ...features.notifications,
  ["notifications/cancelled", cancelled],
  ["notifications/initialized", features.noParams],
  ["notifications/roots/list_changed", features.noParams],
  ["notifications/elicitation/complete", params({ elicitationId: string })],
]);
