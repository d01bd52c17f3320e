import type { Asker, Asking, Questions } from "../era/asking.js";
import { ServedCall } from "../era/served-call.js";
import type { Call, ServerHost } from "../era/server-era.js";

/**
 * A call of its own that does the same as another and outlives it: for extensions that answer now and do the work later.
 * It says nothing on its way, asks through `asker`, and ends by `end.abort(reason)` alone.
 */
export function detachCall(call: Call, asker: Asker): Call {
  const { session, id, method, params, client, origin } = call;
  return new ServedCall({
    era: { ...call.era, settle: async (_call, host, run) => run(askingThrough(asker, host)) },
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

function askingThrough(asker: Asker, host: ServerHost): Asking {
  let questions: Promise<Questions> | undefined;
  return {
    open() {
      questions ??= import("../era/client-requests.js").then(({ QuestionDesk }) => new QuestionDesk(asker, host));
      return questions;
    },
  };
}
