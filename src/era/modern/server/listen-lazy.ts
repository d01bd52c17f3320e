import { lazyModule } from "../../../call/lazy.js";
import { INTERNAL_ERROR, Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { Change } from "../../../store/change-bus.js";
import type { Call, Result, ServerRuntime } from "../../server-era.js";

type Part = typeof import("./listen.js");

const listening = lazyModule(() => import("./listen.js"));

/** Serves a subscription by what is loaded with the first of them. */
export function listenLate(call: Call, runtime: ServerRuntime): Promise<Result> {
  const part = listening();
  return part instanceof Promise ? listenWhenLoaded(part, call, runtime) : part.listen(call, runtime);
}

/** The server may change and close meanwhile. */
async function listenWhenLoaded(loading: Promise<Part>, call: Call, runtime: ServerRuntime): Promise<Result> {
  const changes: Change[] = [];
  let closing = false;
  const stops = [
    runtime.changes.subscribe((change) => changes.push(change)),
    runtime.onClosing(() => {
      closing = true;
    }),
  ];
  try {
    const { listen } = await loading;
    if (closing) throw new Refusal(INTERNAL_ERROR, "The server is shutting down");
    return listen(call, runtime, changes);
  } finally {
    for (const stop of stops) stop();
  }
}
