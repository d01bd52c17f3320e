// The modern era has no file of this name: `listen.ts` serves subscriptions there.

import { methodNotFound } from "../../../protocol/jsonrpc/errors.js";
import type { LoggingLevel } from "../../../protocol/types/index.js";
import type { Call, Result, ServerRuntime } from "../../server-era.js";
import { LegacySession } from "./session.js";

export function subscribe(call: Call, runtime: ServerRuntime): Result {
  if (runtime.capabilities.resources?.subscribe !== true) throw methodNotFound(call.method);
  LegacySession.of(call).subscriptions.add(call.params.uri as string, call.origin);
  return {};
}

export function unsubscribe(call: Call, runtime: ServerRuntime): Result {
  if (runtime.capabilities.resources === undefined) throw methodNotFound(call.method);
  LegacySession.of(call).subscriptions.remove(call.params.uri as string);
  return {};
}

export function setLevel(call: Call, runtime: ServerRuntime): Result {
  if (runtime.capabilities.logging === undefined) throw methodNotFound(call.method);
  LegacySession.of(call).setLogLevel(call.params.level as LoggingLevel);
  return {};
}
