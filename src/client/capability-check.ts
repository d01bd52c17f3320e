import { RpcError } from "../protocol/errors.js";
import { METHOD_NOT_FOUND } from "../protocol/jsonrpc/errors.js";
import type { ServerCapabilities } from "../protocol/types/index.js";

/** What a server must have announced for a method to make sense. */
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

/** A refusal of this side that reads like the server's own would. */
export function capabilityRefusal(method: string, announced: ServerCapabilities): RpcError | undefined {
  const needed = Object.hasOwn(NEEDED, method) ? NEEDED[method] : undefined;
  if (needed === undefined) return undefined;
  const [capability, part] = needed;
  const present = announced[capability] as Record<string, unknown> | undefined;
  if (present !== undefined && (part === undefined || present[part] === true)) return undefined;
  const missing = part === undefined ? capability : `${capability}.${part}`;
  return new RpcError(
    METHOD_NOT_FOUND,
    `${method} was not sent: the server did not announce ${missing}`,
    { method, capability: missing },
    { local: true },
  );
}
