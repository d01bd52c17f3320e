import { toErrorObject } from "../../../protocol/jsonrpc/errors.js";
import type { BuiltinHandler, ServerEra } from "../../server-era.js";
import { legacyMethods } from "../methods.js";
import { legacyDescriptor } from "./descriptor.js";
import { encodeProgress, encodeResult } from "./encode.js";
import { runWithPush } from "./handler.js";
import { createLegacyBinding } from "./http.js";
import { initialize } from "./initialize.js";
import { LegacySession } from "./session.js";
import { setLevel, subscribe, unsubscribe } from "./subscribe.js";

const builtins: ReadonlyMap<string, BuiltinHandler> = new Map<string, BuiltinHandler>([
  ["initialize", initialize],
  ["ping", () => ({})],
  ["logging/setLevel", setLevel],
  ["resources/subscribe", subscribe],
  ["resources/unsubscribe", unsubscribe],
]);

/** Legacy era on the server, with all its parts. */
export const legacyServer: ServerEra = {
  ...legacyDescriptor,
  methods: legacyMethods,
  typesResults: false,
  builtins,
  attach: (runtime, wire) => new LegacySession(legacyServer, runtime, wire),
  encode: encodeResult,
  encodeError: toErrorObject,
  misuse: () => undefined,
  encodeProgress,
  runHandler: runWithPush,
  http: (runtime, options) => createLegacyBinding(legacyServer, runtime, options),
  load: () => legacyServer,
};
