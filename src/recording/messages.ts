import { isObject } from "../protocol/json.js";
import type { RequestId } from "../protocol/jsonrpc/message.js";
import { type FrameEvent, messageOf } from "./events.js";

/** JSON-RPC message of any kind, as it was recorded. */
export interface AnyMessage {
  readonly id?: RequestId | null;
  readonly method?: string;
  readonly params?: { readonly [key: string]: unknown };
  readonly result?: { readonly [key: string]: unknown };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

/** Key of `_meta` with the id of the subscription that a notification belongs to. */
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/** Returns the messages of a frame: none if it is not JSON, several if it is a batch. */
export function messagesOf(frame: FrameEvent): readonly AnyMessage[] {
  const content = messageOf(frame);
  return (Array.isArray(content) ? content : [content]).filter(isObject) as readonly AnyMessage[];
}

export function isRequest(message: AnyMessage): boolean {
  return typeof message.method === "string" && isId(message.id);
}

export function isNotification(message: AnyMessage): boolean {
  return typeof message.method === "string" && !isId(message.id);
}

export function isResponse(message: AnyMessage): boolean {
  return message.method === undefined && isId(message.id);
}

function isId(id: unknown): id is RequestId {
  return typeof id === "string" || typeof id === "number";
}

/** Returns the params of a message, none if they are not an object. */
export function paramsOf(message: AnyMessage): { readonly [key: string]: unknown } {
  return isObject(message.params) ? message.params : {};
}

function metaOf(message: AnyMessage): { readonly [key: string]: unknown } {
  const { _meta } = paramsOf(message);
  return isObject(_meta) ? _meta : {};
}

/** Returns the progress token that a request asks with. */
export function tokenOf(request: AnyMessage): unknown {
  return metaOf(request).progressToken;
}

/** Returns the id of the subscription that a notification names. */
export function subscriptionOf(notification: AnyMessage): unknown {
  return metaOf(notification)[SUBSCRIPTION];
}

/** Returns a notification with the progress token and the subscription id of the other side. */
export function withOwner(notification: AnyMessage, token: unknown, id: RequestId | null | undefined): AnyMessage {
  const params = paramsOf(notification);
  const hasToken = params.progressToken !== undefined && token !== undefined;
  const hasSubscription = subscriptionOf(notification) !== undefined;
  if (!hasToken && !hasSubscription) return notification;
  return {
    ...notification,
    params: {
      ...params,
      ...(hasToken && { progressToken: token }),
      ...(hasSubscription && { _meta: { ...metaOf(notification), [SUBSCRIPTION]: id } }),
    },
  };
}
