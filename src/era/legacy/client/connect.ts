// The modern era has no such file: a modern client needs no handshake, and `era.ts` probes the server.

import { untilAborted } from "../../../call/abortable.js";
import type { CallLifetime } from "../../../call/lifetime.js";
import { AuthError } from "../../../protocol/auth-error.js";
import { ConnectionError, McpError, TimeoutError, VersionError } from "../../../protocol/errors.js";
import { fromErrorObject, METHOD_NOT_FOUND } from "../../../protocol/jsonrpc/errors.js";
import { oneLine, quoted } from "../../../protocol/text.js";
import type { InitializeResult } from "../../../protocol/types/index.js";
import {
  type ClientEra,
  type ClientResult,
  type ClientRuntime,
  type Connection,
  type OpenOptions,
  type SavedSession,
  WrongEraError,
} from "../../client-era.js";
import { assertDescription } from "../../client-limits.js";
import { type ClientTransport, type HttpTarget, NO_RECEIVER, type TransportTarget } from "../../transport.js";
import { isAmong, supportedIn } from "../../versions.js";
import { sseDeprecation } from "../deprecations.js";
import { capabilitiesAt, identityAt } from "../initialize.js";
import { legacyResults } from "../results.js";
import { LegacyConnection } from "./connection.js";
import { LegacyHttpTransport } from "./http.js";
import { openSseTransport } from "./sse.js";

/** Opens a connection by the handshake. */
export async function open(
  era: ClientEra,
  wire: TransportTarget,
  runtime: ClientRuntime,
  options: OpenOptions,
  lifetime: CallLifetime,
): Promise<Connection> {
  // Another era may have taken over the channel while this module was loaded.
  lifetime.throwIfAborted();
  if (options.session !== undefined) return resumeSession(era, wire, runtime, options, options.session);
  if (wire.kind === "channel") return openByHandshake(era, wire.transport, runtime, options, lifetime, false);
  const transport = new LegacyHttpTransport(wire.target);
  try {
    return await openByHandshake(era, transport, runtime, options, lifetime);
  } catch (error) {
    if (!mayUseHttpSse(error, transport.handshakeStatus, wire.target.sse ?? true)) throw error;
    const older = await openHttpSse(wire.target, lifetime, error);
    runtime.deprecated?.(sseDeprecation);
    return openByHandshake(era, older, runtime, options, lifetime);
  }
}

/** Continues a session that another client has opened. */
async function resumeSession(
  era: ClientEra,
  wire: TransportTarget,
  runtime: ClientRuntime,
  options: OpenOptions,
  { id, initialized }: SavedSession,
): Promise<Connection> {
  const version = (initialized as unknown as InitializeResult)?.protocolVersion;
  if (wire.kind !== "http") throw invalidSession("only a connection over HTTP has a session");
  if (typeof id !== "string" || typeof version !== "string")
    throw invalidSession("pass `client.session` of a connection to the same server");
  if (!isAmong(options.versions, version)) throw invalidSession(`allow its version ${quoted(version)}`);
  const firstId = Math.floor(Math.random() * 2 ** 50);
  const transport = new LegacyHttpTransport(wire.target, { session: { id, version }, firstId });
  const connection = new LegacyConnection(era, transport, runtime);
  connection.renewWith(transport, opener(connection, transport, runtime, options));
  connection.adopt(asInitialized(initialized));
  await transport.listen();
  return connection;
}

function invalidSession(why: string): McpError {
  return new McpError("invalid_session", `session cannot be continued: ${why}`);
}

/** True if the status of the first POST allows the conclusion that the server uses HTTP+SSE. */
function mayUseHttpSse(error: unknown, status: number | undefined, trigger: boolean | "any-4xx"): boolean {
  if (error instanceof WrongEraError || trigger === false || status === undefined) return false;
  if (trigger === true) return status === 400 || status === 404 || status === 405;
  return status >= 400 && status < 500 && status !== 401 && status !== 403;
}

/** Opens HTTP+SSE. If that fails, throws the error of the POST, unless the error of the GET says more. */
async function openHttpSse(target: HttpTarget, lifetime: CallLifetime, refused: unknown): Promise<ClientTransport> {
  try {
    return await openSseTransport(target, lifetime);
  } catch (error) {
    const told = lifetime.aborted || error instanceof AuthError || error instanceof TimeoutError || isTelling(error);
    throw told ? error : refused;
  }
}

/**
 * True if the server is down, is not ready, or requires authorization. Other statuses mean that it has no such stream.
 */
function isTelling(error: unknown): boolean {
  if (!(error instanceof ConnectionError)) return false;
  const { status = 500 } = error;
  return status >= 500 || status === 401 || status === 403 || status === 429;
}

async function openByHandshake(
  era: ClientEra,
  transport: ClientTransport,
  runtime: ClientRuntime,
  options: OpenOptions,
  lifetime: CallLifetime,
  ownsTransport = true,
): Promise<Connection> {
  const connection = new LegacyConnection(era, transport, runtime);
  try {
    const open = opener(connection, transport, runtime, options);
    if (transport instanceof LegacyHttpTransport) connection.renewWith(transport, open);
    await open(lifetime);
    return connection;
  } catch (error) {
    // The channel stays open, since another era may be tried on it.
    if (!ownsTransport) throw error;
    // No connection exists yet, so its end is not reported. Another attempt may follow.
    transport.receiver = NO_RECEIVER;
    // The server is notified within limits of its own. A caller that aborts does not wait for it.
    await untilAborted(connection.close(), lifetime);
    throw error;
  }
}

function opener(
  connection: LegacyConnection,
  transport: ClientTransport,
  runtime: ClientRuntime,
  options: OpenOptions,
) {
  return async (lifetime: CallLifetime): Promise<void> => {
    const initialized = await initialize(transport, runtime, options, lifetime);
    await options.beforeUse?.();
    connection.adopt(initialized);
    await untilAborted(notifyInitialized(transport, runtime), lifetime);
  };
}

/** Statuses which mean that the server has not processed the message. */
const UNREAD = new Set([408, 429, 502, 503, 504]);

/**
 * Sends `notifications/initialized`. Before it arrives, a server sends no requests and no changes. A server that
 * refuses it may still answer calls, so a refusal is only reported. Rejects if the server has not processed it.
 */
async function notifyInitialized(transport: ClientTransport, runtime: ClientRuntime): Promise<void> {
  try {
    await transport.notify("notifications/initialized", undefined, true);
  } catch (error) {
    const status = error instanceof ConnectionError ? error.status : undefined;
    if (status === undefined || UNREAD.has(status)) throw error;
    runtime.onProblem(error as Error);
  }
}

/** Sends `initialize`. It is never cancelled on the wire: closing the connection ends it. */
async function initialize(
  transport: ClientTransport,
  runtime: ClientRuntime,
  { versions, last }: OpenOptions,
  lifetime: CallLifetime,
): Promise<InitializeResult> {
  const offered = versions[0] as string;
  const { extensions } = runtime;
  const capabilities = extensions?.withoutResultTypes(runtime.capabilities) ?? runtime.capabilities;
  const params = {
    protocolVersion: offered,
    capabilities: capabilitiesAt(offered, extensions?.receiver?.declare(capabilities) ?? capabilities),
    clientInfo: identityAt(offered, runtime.info),
  };
  const response = await transport
    .request({ method: "initialize", params, cancellable: false }, lifetime)
    .catch((error: unknown) => Promise.reject(last ? error : refusedByStatus(error)));
  if ("error" in response) throw refusal(response.error, last);
  assertDescription("initialize", response.result, runtime.limits);
  const result = asInitialized(response.result);
  if (isAmong(versions, result.protocolVersion)) return result;
  throw new VersionError(
    `No common protocol version: the server answered ${oneLine(result.protocolVersion)}, this client supports ${versions.join(", ")}`,
    [result.protocolVersion],
    versions,
  );
}

function asInitialized(result: ClientResult): InitializeResult {
  const problem = legacyResults.get("initialize")?.(result);
  if (problem === undefined) return result as unknown as InitializeResult;
  throw new McpError("invalid_result", `initialize: ${problem.path} of the result must be ${problem.expected}`);
}

/**
 * Converts an error response to `initialize`. A server that names its versions, or knows no handshake, may be reachable
 * in another era.
 */
function refusal(error: { code: number; message: string; data?: unknown }, last: boolean): Error {
  const cause = fromErrorObject(error);
  const supported = supportedIn(error);
  if (supported !== undefined) {
    return new WrongEraError(`the server refused initialize and supports ${supported.join(", ")}`, supported, {
      cause,
    });
  }
  if (last || error.code !== METHOD_NOT_FOUND) return cause;
  return new WrongEraError(`the server refused initialize: ${error.message}`, undefined, { cause });
}

function refusedByStatus(error: unknown): unknown {
  const status = error instanceof ConnectionError ? error.status : undefined;
  const refused = status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403;
  return refused
    ? new WrongEraError(`the server refused initialize with status ${status}`, undefined, { cause: error })
    : error;
}
