import { assertOptions, type Known } from "../protocol/known-options.js";
import type { StandardSchema } from "../schema/standard-schema.js";
import type { ClientOptions, ToolCallOptions } from "./options.js";

/** Options of `connect`, and members of the object that `createOAuth` returns, which may be passed as it is. */
const CLIENT: Known<ClientOptions & { readonly finish: unknown; readonly logout: unknown }> = {
  info: 1,
  identify: 1,
  era: 1,
  version: 1,
  versions: 1,
  prior: 1,
  session: 1,
  signal: 1,
  timeoutMs: 1,
  deadlineMs: 1,
  pings: 1,
  probeTimeoutMs: 1,
  onElicit: 1,
  onElicitUrl: 1,
  onSample: 1,
  samplingTools: 1,
  samplingContext: 1,
  applyDefaults: 1,
  rootsListChanged: 1,
  roots: 1,
  methods: 1,
  notifications: 1,
  onNotification: 1,
  capabilities: 1,
  extensions: 1,
  strictCapabilities: 1,
  logLevel: 1,
  showRequiredUrls: 1,
  cache: 1,
  onListChanged: 1,
  validator: 1,
  interceptors: 1,
  logger: 1,
  warnDeprecated: 1,
  onError: 1,
  onOpen: 1,
  onClose: 1,
  input: 1,
  headers: 1,
  fetch: 1,
  limits: 1,
  reconnect: 1,
  answerDuringCallsOnly: 1,
  sse: 1,
  clock: 1,
  finish: 1,
  logout: 1,
};

type AnyCallOptions = ToolCallOptions & { readonly output: StandardSchema; readonly result: StandardSchema };

const CALL: Known<AnyCallOptions> = {
  signal: 1,
  timeoutMs: 1,
  deadlineMs: 1,
  onProgress: 1,
  id: 1,
  meta: 1,
  capabilities: 1,
  logLevel: 1,
  input: 1,
  cache: 1,
  onResumable: 1,
  resume: 1,
  tool: 1,
  output: 1,
  result: 1,
};

/** Option names of the official SDK and their replacements, if the names here are not similar. */
const OTHER_NAMES = {
  maxTotalTimeout: "deadlineMs",
  resetTimeoutOnProgress: "timeoutMs",
};

const CAPABILITIES: Known<NonNullable<ClientOptions["capabilities"]>> = { experimental: 1, extensions: 1 };

/** Capabilities that a client declares by having a handler. */
const BY_HANDLER = { elicitation: "onElicit or onElicitUrl" };

/** Throws for an option that `connect` does not have, and for a capability that needs a handler. */
export function assertClientOptions(where: string, options: ClientOptions): void {
  assertOptions(where, options, CLIENT, OTHER_NAMES);
  assertOptions(`${where}: capabilities`, options.capabilities ?? {}, CAPABILITIES, BY_HANDLER);
}

/** Throws for an option that calls do not have. Allocates nothing for valid options, since each call is checked. */
export function assertCallOptions(method: string, options: object): void {
  for (const name in options) if (!(name in CALL)) assertOptions(method, options, CALL, OTHER_NAMES);
}
