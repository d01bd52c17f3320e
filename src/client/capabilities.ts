import type { Connection } from "../era/client-era.js";
import { RpcError } from "../protocol/errors.js";
import { METHOD_NOT_FOUND } from "../protocol/jsonrpc/errors.js";
import type { ClientCapabilities, ServerCapabilities } from "../protocol/types/index.js";
import type { ClientOptions } from "./options.js";

/**
 * Creates the error for a method or notification that exists only in other protocol versions. Returns undefined for any
 * other method.
 */
export function missingMethod(method: string, { era, server }: Connection): RpcError | undefined {
  const replacement = era.replacements.get(method);
  if (replacement === undefined) return undefined;
  const message = `${method} does not exist in protocol version ${server.version}: ${replacement}`;
  return new RpcError(METHOD_NOT_FOUND, message, undefined, { local: true });
}

/** Server capability that each method requires. */
const NEEDED: { readonly [method: string]: readonly [keyof ServerCapabilities, string?] } = {
  "tools/list": ["tools"],
  "tools/call": ["tools"],
  "prompts/list": ["prompts"],
  "prompts/get": ["prompts"],
  "resources/list": ["resources"],
  "resources/templates/list": ["resources"],
  "resources/read": ["resources"],
  "resources/subscribe": ["resources", "subscribe"],
  "resources/unsubscribe": ["resources"],
  "completion/complete": ["completions"],
  "logging/setLevel": ["logging"],
};

/**
 * Creates the error for a method whose capability the server did not announce. Returns undefined for any other method.
 */
export function capabilityRefusal(method: string, announced: ServerCapabilities): RpcError | undefined {
  const needed = Object.hasOwn(NEEDED, method) ? NEEDED[method] : undefined;
  if (needed === undefined) return undefined;
  const [capability, part] = needed;
  const present = announced[capability] as Record<string, unknown> | undefined;
  if (present !== undefined && (part === undefined || present[part] === true)) return undefined;
  const missing = part === undefined ? capability : `${capability}.${part}`;
  return new RpcError(
    METHOD_NOT_FOUND,
    `${method} was not sent: the server did not announce ${missing} (option strictCapabilities)`,
    { method, capability: missing },
    { local: true },
  );
}

/** Derives the client's capabilities from its handlers and options. */
export function capabilitiesOf(options: ClientOptions): ClientCapabilities {
  const { onElicit, onElicitUrl, onSample, roots, capabilities } = options;
  const elicitation = {
    ...(onElicit === undefined ? undefined : { form: {} }),
    ...(onElicitUrl === undefined ? undefined : { url: {} }),
  };
  const { tools, context } = options.sampling ?? {};
  const sampling = {
    ...(tools === true ? { tools: {} } : undefined),
    ...(context === true ? { context: {} } : undefined),
  };
  const enabled = (options.extensions ?? []).map(({ id, settings = {} }) => [id, settings] as const);
  const extensions = { ...capabilities?.extensions, ...Object.fromEntries(enabled) };
  return {
    ...(capabilities?.experimental === undefined ? undefined : { experimental: { ...capabilities.experimental } }),
    ...(roots === undefined ? undefined : { roots: options.rootsListChanged === false ? {} : { listChanged: true } }),
    ...(onSample === undefined ? undefined : { sampling }),
    ...(onElicit === undefined && onElicitUrl === undefined ? undefined : { elicitation }),
    ...(capabilities?.extensions === undefined && enabled.length === 0 ? undefined : { extensions }),
  };
}
