import type { Call, ServerRuntime } from "./server-era.js";

declare const opened: unique symbol;

/** Definition that `ctx.state` opens. Only `defineState` of `bowline/state` makes one. */
export interface OpenedByContext<T> {
  readonly name: string;
  /** Type of the opened value. Exists for type inference only and has no value. */
  readonly [opened]: T;
}

/** What `ctx.state` calls. */
export interface OpenableState<T> extends OpenedByContext<T> {
  open(call: Call, runtime: ServerRuntime): T;
}
