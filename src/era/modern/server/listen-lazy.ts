import { late } from "../../../call/lazy.js";
import { INTERNAL_ERROR, Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { Change } from "../../../store/change-bus.js";
import type { Call, Result, ServerHost } from "../../server-era.js";

type Part = typeof import("./listen.js");

const listening = late(() => import("./listen.js"));

/** Serves a subscription by what is loaded with the first of them. */
export function listenLate(call: Call, host: ServerHost): Promise<Result> {
  const part = listening();
  return part instanceof Promise ? listenWhenLoaded(part, call, host) : part.listen(call, host);
}

/** The server may change and close meanwhile. */
async function listenWhenLoaded(loading: Promise<Part>, call: Call, host: ServerHost): Promise<Result> {
  const changes: Change[] = [];
  let closing = false;
  const stops = [
    host.changes.subscribe((change) => changes.push(change)),
    host.onClosing(() => {
      closing = true;
    }),
  ];
  try {
    const { listen } = await loading;
    if (closing) throw new Refusal(INTERNAL_ERROR, "The server is shutting down");
    return listen(call, host, changes);
  } finally {
    for (const stop of stops) stop();
  }
}
