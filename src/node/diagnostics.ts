import { channel, tracingChannel } from "node:diagnostics_channel";
import type { ClientInterceptor, ClientOptions } from "../client/options.js";
import type { ServerDescription } from "../era/client-era.js";
import type { Params, RequestId } from "../protocol/jsonrpc/message.js";
import type { ServerInterceptor, ServerOptions } from "../server/options.js";

/**
 * Names of the `node:diagnostics_channel` channels. The names of requests are tracing channels. Each other name stands
 * for two plain channels, with the suffixes `:open` and `:close`.
 */
export const DIAGNOSTIC_CHANNELS = {
  serverRequest: "bowline:server:request",
  serverConnection: "bowline:server:connection",
  serverSession: "bowline:server:session",
  clientRequest: "bowline:client:request",
  clientConnection: "bowline:client:connection",
} as const;

/** Request that a server handles. `result` or `error` is present when it has ended. */
export interface ServerRequestEvent {
  readonly method: string;
  readonly params: Params;
  readonly id: RequestId;
  readonly version: string;
  readonly sessionId: string | undefined;
  /** True if the client cancelled the request, the connection was lost, or the server shut down. */
  readonly cancelled: boolean;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Request of a client. `result` or `error` is present when it has ended. */
export interface ClientRequestEvent {
  readonly method: string;
  readonly params: Params | undefined;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Connection of a client. `reason` is the cause of its end, unless it was closed normally. */
export interface ClientConnectionEvent {
  readonly server?: ServerDescription;
  readonly reason?: Error | undefined;
}

const NAMES = DIAGNOSTIC_CHANNELS;

/**
 * Returns server options that publish requests, and the opening and closing of connections and sessions, to
 * `node:diagnostics_channel`. Costs almost nothing without subscribers.
 */
export function diagnoseServer(options: ServerOptions = {}): ServerOptions {
  const { interceptors = [], onConnection, http } = options;
  const connections = lifeOf(NAMES.serverConnection);
  return {
    ...options,
    interceptors: [publishServed(), ...interceptors],
    onConnection(connection) {
      connections.opened({ connection });
      void connection.closed.then(() => connections.closed({ connection }));
      onConnection?.(connection);
    },
    ...(http?.sessions === false ? undefined : { http: { ...http, sessions: publishSessions(http?.sessions ?? {}) } }),
  };
}

/**
 * Returns client options that publish requests, and the opening and closing of the connection, to
 * `node:diagnostics_channel`. Costs almost nothing without subscribers.
 */
export function diagnoseClient(options: ClientOptions = {}): ClientOptions {
  const { interceptors = [], onOpen, onClose } = options;
  const connections = lifeOf(NAMES.clientConnection);
  return {
    ...options,
    interceptors: [publishSent(), ...interceptors],
    onOpen(server) {
      connections.opened({ server } satisfies ClientConnectionEvent);
      onOpen?.(server);
    },
    onClose(reason) {
      connections.closed({ reason } satisfies ClientConnectionEvent);
      onClose?.(reason);
    },
  };
}

function publishServed(): ServerInterceptor {
  const requests = tracingChannel<unknown, object>(NAMES.serverRequest);
  return (call, next) => {
    if (!requests.hasSubscribers) return next(call);
    const { method, params, id, client, sessionId } = call;
    const event: ServerRequestEvent = {
      method,
      params,
      id,
      version: client.version,
      sessionId,
      get cancelled() {
        return call.signal.aborted;
      },
    };
    return requests.tracePromise(() => next(call), event);
  };
}

function publishSent(): ClientInterceptor {
  const requests = tracingChannel<unknown, object>(NAMES.clientRequest);
  return (call, next) => {
    if (!requests.hasSubscribers) return next(call);
    const { method, params } = call;
    return requests.tracePromise(() => next(call), { method, params } satisfies ClientRequestEvent);
  };
}

type Sessions = Exclude<NonNullable<NonNullable<ServerOptions["http"]>["sessions"]>, false>;

function publishSessions(sessions: Sessions): Sessions {
  const { onOpen, onEnd } = sessions;
  const life = lifeOf(NAMES.serverSession);
  return {
    ...sessions,
    async onOpen(sessionId) {
      await onOpen?.(sessionId);
      life.opened({ sessionId });
    },
    onEnd(sessionId) {
      life.closed({ sessionId });
      return onEnd?.(sessionId);
    },
  };
}

function lifeOf(name: string): { opened(event: object): void; closed(event: object): void } {
  const [open, close] = [channel(`${name}:open`), channel(`${name}:close`)];
  return { opened: (event) => open.publish(event), closed: (event) => close.publish(event) };
}
