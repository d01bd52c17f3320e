import type { BuiltinHandler, ServerEra } from "../../server-era.js";
import { STATELESS_VERSIONS } from "../../versions.js";
import { isOfModernEra } from "../envelope.js";
import { modernMethods } from "../methods.js";
import { discover } from "./discover.js";
import { codeMisuse, encodeError, encodeResult } from "./encode.js";
import { runWithReplay } from "./handler.js";
import { ModernBinding } from "./http.js";
import { listen } from "./listen.js";
import { ModernSession } from "./session.js";

const versions: readonly string[] = STATELESS_VERSIONS;

const builtins: ReadonlyMap<string, BuiltinHandler> = new Map<string, BuiltinHandler>([
  ["server/discover", discover],
  ["subscriptions/listen", listen],
]);

/** Modern era on the server: each request is self-contained. */
export const modernServer: ServerEra = {
  name: "modern",
  versions,
  methods: modernMethods,
  typesResults: true,
  builtins,
  claims: isOfModernEra,
  specifies: (method) => modernMethods.has(method),
  encode: encodeResult,
  encodeError,
  misuse: codeMisuse,
  encodeProgress: (_call, progressToken, progress) => ({ progressToken, ...progress }),
  runHandler: runWithReplay,
  http: (runtime, options) => new ModernBinding(modernServer, runtime, options),
  attach: (runtime, wire) => new ModernSession(modernServer, runtime, wire),
  httpMethods: () => [],
  load: () => modernServer,
};
