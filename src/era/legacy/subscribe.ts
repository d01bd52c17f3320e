import type { LoggingLevel } from "../../schema/types.js";
import type { Call } from "../call.js";
import type { Result } from "../era.js";
import { LegacySession } from "./session.js";

export function subscribe(call: Call): Result {
  LegacySession.of(call).subscribe(call.params.uri as string);
  return {};
}

export function unsubscribe(call: Call): Result {
  LegacySession.of(call).unsubscribe(call.params.uri as string);
  return {};
}

export function setLevel(call: Call): Result {
  LegacySession.of(call).setLogLevel(call.params.level as LoggingLevel);
  return {};
}
