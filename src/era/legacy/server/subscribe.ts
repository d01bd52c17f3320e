// The modern era has no file of this name: `listen.ts` serves subscriptions there.

import { andThen, type MaybePromise } from "../../../call/maybe-promise.js";
import { methodNotFound } from "../../../protocol/jsonrpc/errors.js";
import type { LoggingLevel } from "../../../protocol/types/index.js";
import { resourceNotFound } from "../../missing-resource.js";
import type { Call, Result, ServerRuntime } from "../../server-era.js";
import { toUnavailable } from "./refusals.js";
import { LegacySession } from "./session.js";
import type { SessionChange } from "./shared-sessions.js";

export function subscribe(call: Call, runtime: ServerRuntime): MaybePromise<Result> {
  const session = LegacySession.of(call);
  if (session.mute || runtime.capabilities.resources?.subscribe !== true) throw methodNotFound(call.method);
  const watch = call.params.uri as string;
  return andThen(runtime.hasResource(call, watch), (exists) => {
    // A session that has ended meanwhile would never unsubscribe.
    call.end.throwIfAborted();
    if (!exists) throw resourceNotFound(watch);
    session.subscriptions.add(watch, call.origin);
    return share(call, runtime, { watch });
  });
}

export function unsubscribe(call: Call, runtime: ServerRuntime): MaybePromise<Result> {
  if (runtime.capabilities.resources === undefined) throw methodNotFound(call.method);
  const session = LegacySession.of(call);
  const unwatch = call.params.uri as string;
  session.subscriptions.remove(unwatch);
  return share(call, runtime, { unwatch });
}

export function setLevel(call: Call, runtime: ServerRuntime): MaybePromise<Result> {
  if (runtime.capabilities.logging === undefined) throw methodNotFound(call.method);
  const session = LegacySession.of(call);
  const level = call.params.level as LoggingLevel;
  session.setLogLevel(level);
  return share(call, runtime, { level });
}

/** Tells other processes of a change. A change that cannot be stored now may be requested again. */
function share(call: Call, runtime: ServerRuntime, change: SessionChange): MaybePromise<Result> {
  const shared = LegacySession.of(call).share(change);
  if (shared === undefined) return {};
  return shared.then(
    () => ({}),
    (error: unknown) => {
      const away = toUnavailable(error);
      if (away === undefined) throw error;
      runtime.report(error, { where: "cluster", method: call.method, id: call.id });
      throw runtime.busy(503, "cluster", away.error.message);
    },
  );
}
