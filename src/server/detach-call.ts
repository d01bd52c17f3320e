import { type Call, ServedCall } from "../era/call.js";
import type { Asker } from "../era/era.js";

/**
 * A call of its own that does the same as another and outlives it: for extensions that answer now and do the work later.
 * It says nothing on its way, asks through `asker`, and ends by `end.abort(reason)` alone.
 */
export function detachCall(call: Call, asker: Asker): Call {
  const { session, id, method, params, client, origin } = call;
  return new ServedCall({
    era: { ...call.era, settle: (_call, _host, run) => run(asker) },
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
