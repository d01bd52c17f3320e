import { INTERNAL_ERROR, Refusal } from "../../jsonrpc/error-codes.js";
import type { Change } from "../../store/change-bus.js";
import type { Call, Result, ServerHost } from "../era.js";

let listening: typeof import("./listen.js") | undefined;

/** Serves a subscription by what is loaded with the first of them. */
export function listenLate(call: Call, host: ServerHost): Promise<Result> {
  return listening === undefined ? listenWhenLoaded(call, host) : listening.listen(call, host);
}

/** The server may change and close meanwhile. */
async function listenWhenLoaded(call: Call, host: ServerHost): Promise<Result> {
  const changes: Change[] = [];
  let closing = false;
  const stops = [
    host.changes.subscribe((change) => changes.push(change)),
    host.onClosing(() => {
      closing = true;
    }),
  ];
  try {
    listening = await import("./listen.js");
    if (closing) throw new Refusal(INTERNAL_ERROR, "The server is shutting down");
    return listening.listen(call, host, changes);
  } finally {
    for (const stop of stops) stop();
  }
}
