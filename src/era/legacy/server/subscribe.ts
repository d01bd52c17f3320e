// The modern era has no file of this name: `listen.ts` serves subscriptions there.

import { andThen, type MaybePromise } from "../../../call/maybe-promise.js";
import { methodNotFound } from "../../../protocol/jsonrpc/errors.js";
import type { LoggingLevel } from "../../../protocol/types/index.js";
import type { Call, Result, ServerRuntime } from "../../server-era.js";
import { LegacySession } from "./session.js";

export function subscribe(call: Call, runtime: ServerRuntime): MaybePromise<Result> {
  const session = LegacySession.of(call);
  if (session.mute || runtime.capabilities.resources?.subscribe !== true) throw methodNotFound(call.method);
  const watch = call.params.uri as string;
  session.subscriptions.add(watch, call.origin);
  return andThen(session.share({ watch }), () => ({}));
}

export function unsubscribe(call: Call, runtime: ServerRuntime): MaybePromise<Result> {
  if (runtime.capabilities.resources === undefined) throw methodNotFound(call.method);
  const session = LegacySession.of(call);
  const unwatch = call.params.uri as string;
  session.subscriptions.remove(unwatch);
  return andThen(session.share({ unwatch }), () => ({}));
}

export function setLevel(call: Call, runtime: ServerRuntime): MaybePromise<Result> {
  if (runtime.capabilities.logging === undefined) throw methodNotFound(call.method);
  const session = LegacySession.of(call);
  const level = call.params.level as LoggingLevel;
  session.setLogLevel(level);
  return andThen(session.share({ level }), () => ({}));
}
