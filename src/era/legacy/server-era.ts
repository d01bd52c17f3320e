import { toErrorObject } from "../../jsonrpc/error-codes.js";
import type { BuiltinHandler, ChannelEra } from "../era.js";
import { encodeProgress, encodeResult } from "./encode.js";
import { legacyFacts } from "./facts.js";
import { initialize } from "./initialize.js";
import { legacyMethods } from "./methods.js";
import { createLegacyBinding } from "./server-http.js";
import { LegacySession } from "./session.js";
import { settleByPushing } from "./settle.js";
import { setLevel, subscribe, unsubscribe } from "./subscribe.js";

const builtins: ReadonlyMap<string, BuiltinHandler> = new Map<string, BuiltinHandler>([
  ["initialize", initialize],
  ["ping", () => ({})],
  ["logging/setLevel", setLevel],
  ["resources/subscribe", subscribe],
  ["resources/unsubscribe", unsubscribe],
]);

/** The era of handshakes and sessions, in full. */
export const legacyServer: ChannelEra = {
  ...legacyFacts,
  methods: legacyMethods,
  typesResults: false,
  builtins,
  attach: (host, wire) => new LegacySession(legacyServer, host, wire),
  encode: encodeResult,
  encodeError: toErrorObject,
  misuse: () => undefined,
  encodeProgress,
  settle: settleByPushing,
  http: (host, options) => createLegacyBinding(legacyServer, host, options),
  load: async () => legacyServer,
};
