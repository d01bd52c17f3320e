import type { AuthInfo } from "../http/auth-info.js";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitResult,
  InputResponses,
  LoggingLevel,
  SamplingContent,
} from "../protocol/types/index.js";
import type { OutputOf, StandardSchema } from "../schema/standard-schema.js";
import type { Changes } from "../server/changes.js";
import { type Context, handled } from "../server/context.js";

/** Request or notification in the form of the official SDK. */
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
 * Sends a request to the client. The schema determines only the type of the result. The result is not validated against
 * it, because Bowline validates responses itself.
 */
export type SendRequest = <S extends StandardSchema>(
  request: CompatMessage,
  resultSchema?: S,
  options?: CompatRequestOptions,
) => Promise<OutputOf<S>>;

/** Message of the client's model. It can have several content blocks only if the request has tools. */
export type SampledMessage<P> = P extends { readonly tools: object }
  ? CreateMessageResult
  : CreateMessageResult & { content: SamplingContent };

/** Second argument of a handler. It has the members of `extra` (official SDK version 1) and of `ctx` (version 2). */
export interface HandlerExtra {
  readonly signal: AbortSignal;
  readonly requestId: string | number;
  readonly sessionId: string | undefined;
  readonly authInfo: AuthInfo | undefined;
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
    readonly elicitInput: (params: CompatMessage["params"], options?: CompatRequestOptions) => Promise<ElicitResult>;
    readonly requestSampling: <P extends CreateMessageParams>(
      params: P,
      options?: CompatRequestOptions,
    ) => Promise<SampledMessage<P>>;
    /** Responses to the input requests of an earlier `input_required` result of the handler. */
    readonly inputResponses: InputResponses | undefined;
    /** Returns the state of that result. */
    readonly requestState: <T>() => T | undefined;
  };
  readonly http: { readonly authInfo: AuthInfo | undefined };
  /** Bowline's own context of the call. */
  readonly bowline: Context;
}

export function toExtra(ctx: Context, changes: Changes): HandlerExtra {
  const sendNotification = async (notification: CompatMessage) => {
    if (!publishChange(changes, notification)) await notifyClient(ctx, notification);
  };
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
      elicitInput: (params, options) =>
        askClient(ctx, { method: "elicitation/create", params }, options) as Promise<ElicitResult>,
      requestSampling: ({ ...params }: CreateMessageParams, options?: CompatRequestOptions) =>
        askClient(ctx, { method: "sampling/createMessage", params }, options) as Promise<never>,
      inputResponses: ctx.inputResponses,
      requestState: () => ctx.requestState as never,
    },
    http: { authInfo: ctx.auth },
    bowline: ctx,
  };
}

/** Returns the metadata of a request. Handlers read `progressToken` from it. */
function metaOf(ctx: Context): HandlerExtra["_meta"] {
  return ctx.meta as HandlerExtra["_meta"];
}

/** Sends a request to the client by the matching function of the context. */
export function askClient(ctx: Context, request: CompatMessage, options?: CompatRequestOptions): Promise<unknown> {
  return handled(ask(ctx, request, options));
}

async function ask(ctx: Context, request: CompatMessage, options: CompatRequestOptions = {}): Promise<unknown> {
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
 * Sends a notification of a call. Progress and log messages go through the context, which applies the client's progress
 * token and log level.
 */
export async function notifyClient(ctx: Context, { method, params = {} }: CompatMessage): Promise<void> {
  if (method === "notifications/progress")
    return ctx.progress(params.progress as number, params.total as number, params.message as string);
  if (method === "notifications/message")
    return ctx.log(params.level as LoggingLevel, params.data, params.logger as string);
  return ctx.notify(method, params);
}

const LIST_CHANGES = {
  "notifications/tools/list_changed": "toolsChanged",
  "notifications/prompts/list_changed": "promptsChanged",
  "notifications/resources/list_changed": "resourcesChanged",
} as const;

/** Publishes a notification of a change to all subscribed clients. Returns false for any other notification. */
export function publishChange(changes: Changes, { method, params = {} }: CompatMessage): boolean {
  if (method === "notifications/resources/updated") changes.resourceUpdated(String(params.uri));
  else if (Object.hasOwn(LIST_CHANGES, method)) changes[LIST_CHANGES[method as keyof typeof LIST_CHANGES]]();
  else return false;
  return true;
}
