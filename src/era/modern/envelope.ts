import { isObject } from "../../protocol/json.js";
import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import type { Params, RpcMessage } from "../../protocol/jsonrpc/message.js";
import { isRequestId, REQUEST_ID } from "../../protocol/jsonrpc/parse.js";
import { isLoggingLevel } from "../../protocol/logging.js";
import { oneLine } from "../../protocol/text.js";
import type { ClientCapabilities, Implementation, LoggingLevel, ProgressToken } from "../../protocol/types/index.js";
import type { HeaderReader } from "../server-era.js";
import { MISSING_CAPABILITY, STATELESS_VERSIONS, UNSUPPORTED_VERSION } from "../versions.js";

const MODERN_VERSIONS: readonly string[] = STATELESS_VERSIONS;

export const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
export const CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo";
export const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";
export const LOG_LEVEL_KEY = "io.modelcontextprotocol/logLevel";
export const SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo";
export const SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId";

export { MISSING_CAPABILITY };
export const HEADER_MISMATCH = -32020;

/** Metadata that each request carries in `_meta`. */
export interface Envelope {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info: Implementation | undefined;
  readonly logLevel: LoggingLevel | undefined;
  readonly progressToken: ProgressToken | undefined;
}

type Meta = Record<string, unknown>;

/** Returns `_meta`, if it is an object. */
export function metaOf(params: Params | undefined): Meta | undefined {
  const meta = params?._meta;
  return isObject(meta) ? meta : undefined;
}

/**
 * True if a message belongs to this era: by its envelope, or else by the version in its header. Without an envelope, a
 * message that names a session belongs to the session, although some clients name their newest version in the header.
 */
export function isOfModernEra(message: RpcMessage, header?: HeaderReader): boolean {
  if ("params" in message && hasEnvelope(message.params)) return true;
  if (header === undefined || !MODERN_VERSIONS.includes(header("mcp-protocol-version") ?? "")) return false;
  return header("mcp-session-id") === undefined;
}

/** True if the params have an envelope. The version key alone decides. */
export function hasEnvelope(params: Params | undefined): boolean {
  return (params?._meta as Meta | null | undefined)?.[VERSION_KEY] !== undefined;
}

/** Reads the envelope of any version. Returns a refusal that names the first invalid member. */
export function readEnvelope(params: Params | undefined): Envelope | Refusal {
  const meta = metaOf(params);
  if (meta === undefined) return malformed("_meta", "an object");
  const version = meta[VERSION_KEY];
  if (typeof version !== "string") return malformed(`_meta["${VERSION_KEY}"]`, "a protocol version");
  const capabilities = meta[CAPABILITIES_KEY];
  if (!isObject(capabilities)) return malformed(`_meta["${CAPABILITIES_KEY}"]`, "an object of client capabilities");
  const logLevel = meta[LOG_LEVEL_KEY] ?? undefined;
  if (logLevel !== undefined && !isLoggingLevel(logLevel)) return malformed(`_meta["${LOG_LEVEL_KEY}"]`, "a log level");
  const progressToken = meta.progressToken ?? undefined;
  if (progressToken !== undefined && !isRequestId(progressToken)) return malformed("_meta.progressToken", REQUEST_ID);
  return { version, capabilities, info: readImplementation(meta[CLIENT_INFO_KEY]), logLevel, progressToken };
}

/** Reads an `Implementation`. Returns undefined if it is malformed, since it is for display only. */
export function readImplementation(value: unknown): Implementation | undefined {
  const info = value as Partial<Implementation> | null | undefined;
  return typeof info?.name === "string" && typeof info.version === "string" ? (info as Implementation) : undefined;
}

/** Creates the refusal of a version that the server does not support. */
export function unsupportedVersion(requested: string | undefined, supported: readonly string[]): Refusal {
  const shown = requested === undefined ? undefined : oneLine(requested);
  const message = `Unsupported protocol version: ${shown} (this server supports ${supported.join(", ")})`;
  return new Refusal(UNSUPPORTED_VERSION, message, { supported, requested: shown });
}

function malformed(place: string, expected: string): Refusal {
  return new Refusal(INVALID_PARAMS, `Invalid params: ${place} must be ${expected}`);
}
