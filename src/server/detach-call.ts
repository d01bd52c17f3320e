import type { ClientRequests, ClientRequestsOpener, RequestStrategy } from "../era/request-strategy.js";
import { ServedCall } from "../era/served-call.js";
import type { Call, ServerRuntime } from "../era/server-era.js";

/**
 * Creates a call that repeats another one and outlives it, for extensions that respond first and do the work later. It
 * sends no notifications, sends its requests through `asker`, and ends only by `end.abort(reason)`.
 */
export function detachCall(call: Call, asker: RequestStrategy): Call {
  const { session, id, method, params, client, origin } = call;
  return new ServedCall({
    era: { ...call.era, runHandler: async (_call, runtime, run) => run(askingThrough(asker, runtime)) },
    session,
    id,
    method,
    params,
    client,
    origin,
    wire: { shared: call.wire.shared, notify: () => {}, request: () => new Promise(() => {}) },
    progressToken: undefined,
    logLevel: () => undefined,
  });
}

/** Returns the requests of a handler, which are sent by the given strategy. */
export function askingThrough(asker: RequestStrategy, runtime: ServerRuntime): ClientRequestsOpener {
  let requests: Promise<ClientRequests> | undefined;
  return {
    open() {
      requests ??= import("../era/client-requests.js").then(
        (loaded) => new loaded.CheckedClientRequests(asker, runtime),
      );
      return requests;
    },
  };
}
