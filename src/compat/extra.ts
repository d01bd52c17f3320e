import { RpcError } from "../protocol/errors.js";
import { isObject } from "../protocol/json.js";
import type { CreateMessageParams, LoggingLevel } from "../protocol/types/index.js";
import type { OutputOf, StandardSchema } from "../schema/standard-schema.js";
import type { Context } from "../server/context.js";

/** Request or notification in the form that handlers of the official SDK use. */
export interface CompatMessage {
  readonly method: string;
  readonly params?: { readonly [key: string]: unknown } | undefined;
}

/** Limits of a request to the client. */
export interface CompatRequestOptions {
  readonly timeout?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends a request to the client. The result has the type of the schema. The schema itself is not run, since Bowline
 * checks responses.
 */
export type SendRequest = <S extends StandardSchema>(
  request: CompatMessage,
  resultSchema?: S,
  options?: CompatRequestOptions,
) => Promise<OutputOf<S>>;

/**
 * Second argument of a handler: `extra` of version 1 of the official SDK, together with the members of `ctx` of version
 * 2.
 */
export interface HandlerExtra {
  readonly signal: AbortSignal;
  readonly requestId: string | number;
  readonly sessionId: string | undefined;
  readonly authInfo: unknown;
  readonly _meta: { readonly [key: string]: unknown } | undefined;
  readonly sendNotification: (notification: CompatMessage) => Promise<void>;
  readonly sendRequest: SendRequest;
  readonly mcpReq: {
    readonly id: string | number;
    readonly method: string;
    readonly signal: AbortSignal;
    readonly _meta: { readonly [key: string]: unknown } | undefined;
    readonly notify: (notification: CompatMessage) => Promise<void>;
    readonly send: SendRequest;
    readonly log: (level: LoggingLevel, data: unknown, logger?: string) => Promise<void>;
    readonly elicitInput: (params: CompatMessage["params"]) => Promise<unknown>;
    readonly requestSampling: (params: CompatMessage["params"]) => Promise<unknown>;
  };
  readonly http: { readonly authInfo: unknown };
  /** Bowline's context of the call. */
  readonly bowline: Context;
}

export function toExtra(ctx: Context): HandlerExtra {
  const sendNotification = (notification: CompatMessage) => notifyClient(ctx, notification);
  const sendRequest = ((request, _schema, options) => askClient(ctx, request, options)) as SendRequest;
  const own = { signal: ctx.signal, _meta: metaOf(ctx) };
  return {
    ...own,
    requestId: ctx.requestId,
    sessionId: ctx.sessionId,
    authInfo: ctx.auth,
    sendNotification,
    sendRequest,
    mcpReq: {
      ...own,
      id: ctx.requestId,
      method: ctx.method,
      notify: sendNotification,
      send: sendRequest,
      log: async (level, data, logger) => ctx.log(level, data, logger),
      elicitInput: (params) => askClient(ctx, { method: "elicitation/create", params }),
      requestSampling: (params) => askClient(ctx, { method: "sampling/createMessage", params }),
    },
    http: { authInfo: ctx.auth },
    bowline: ctx,
  };
}

/** Returns the metadata of a request. Handlers read `progressToken` to decide whether to report progress. */
function metaOf(ctx: Context): HandlerExtra["_meta"] {
  return ctx.meta as HandlerExtra["_meta"];
}

/** Sends a request to the client by the method of the context that suits its protocol version. */
export async function askClient(
  ctx: Context,
  request: CompatMessage,
  options: CompatRequestOptions = {},
): Promise<unknown> {
  const { method, params = {} } = request;
  const limits = { timeoutMs: options.timeout, signal: options.signal };
  switch (method) {
    case "elicitation/create":
      return params.mode === "url"
        ? ctx.elicitUrl(String(params.message), String(params.url), {
            ...limits,
            elicitationId: params.elicitationId as string,
          })
        : ctx.elicit(String(params.message), params.requestedSchema as never, limits);
    case "sampling/createMessage":
      return ctx.sample(params as unknown as CreateMessageParams, limits);
    case "roots/list":
      return { roots: await ctx.listRoots(limits) };
    default:
      return ctx.request(method, params, limits);
  }
}

/**
 * Sends a notification of a call. Progress and logs go through the context, which applies the client's token and level.
 */
export async function notifyClient(ctx: Context, { method, params = {} }: CompatMessage): Promise<void> {
  if (method === "notifications/progress")
    return ctx.progress(params.progress as number, params.total as number, params.message as string);
  if (method === "notifications/message")
    return ctx.log(params.level as LoggingLevel, params.data, params.logger as string);
  return ctx.notify(method, params);
}

/** Code of the error that requires a URL elicitation. */
const URL_ELICITATION_REQUIRED = -32042;

/** Runs a handler. Converts an error of the official SDK, which has a numeric `code`, to a JSON-RPC error. */
export async function withErrors<T>(work: () => T, isTool = false): Promise<Awaited<T>> {
  try {
    return await work();
  } catch (error) {
    if (!isObject(error) || typeof error.code !== "number") throw error;
    // The official SDK converts other errors of a tool to a result for the model.
    if (isTool && error.code !== URL_ELICITATION_REQUIRED) throw error;
    throw new RpcError(error.code, String(error.message), error.data);
  }
}
