import { AsyncLocalStorage } from "node:async_hooks";
import type { Context } from "../server/context.js";

const storage = new AsyncLocalStorage<Context>();

/** Runs work such that {@link currentCall} returns `ctx` in it, also after an `await`. */
export function runInCall<T>(ctx: Context, work: () => T): T {
  return storage.run(ctx, work);
}

/** Returns the context of the call in which the caller runs. */
export function currentCall(): Context | undefined {
  return storage.getStore();
}
