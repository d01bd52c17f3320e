import type { ClientRequests, ClientRequestsOpener, RequestStrategy } from "../era/request-strategy.js";
import type { ServerRuntime } from "../era/server-era.js";

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
