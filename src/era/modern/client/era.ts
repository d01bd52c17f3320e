import type { CallLifetime } from "../../../call/lifetime.js";
import { ConnectionError, isVersionList, ProtocolError, TimeoutError } from "../../../protocol/errors.js";
import type { RpcErrorObject, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import { mustBe } from "../../../protocol/text.js";
import type { DiscoverResult } from "../../../protocol/types/index.js";
import {
  type ClientEra,
  type ClientResult,
  type ClientRuntime,
  type Connection,
  type OpenOptions,
  WrongEraError,
} from "../../client-era.js";
import { assertDescription } from "../../client-limits.js";
import type { TransportTarget } from "../../transport.js";
import { STATELESS_VERSIONS, supportedIn } from "../../versions.js";
import { HEADER_MISMATCH, MISSING_CAPABILITY } from "../envelope.js";
import { modernMethods, modernNotifications } from "../methods.js";
import { modernResults } from "../results.js";
import { ModernConnection } from "./connection.js";
import { ModernHttpTransport } from "./http.js";
import { toTypedError } from "./typed-error.js";

/** Methods and notifications of earlier versions, with their replacement. */
const REMOVED: ReadonlyMap<string, string> = new Map([
  ["initialize", "there is no handshake"],
  ["ping", "call any method, such as server/discover"],
  ["logging/setLevel", "use setLogLevel, which sets the level of each call"],
  ["resources/subscribe", "use watch"],
  ["resources/unsubscribe", "close the watch"],
  ["notifications/initialized", "there is no handshake"],
  ["notifications/roots/list_changed", "the server asks for roots when it needs them"],
]);

/** Modern era on the client: each request is self-contained. */
export const modernClient: ClientEra = {
  name: "modern",
  versions: STATELESS_VERSIONS,
  isCacheable: (method) => modernMethods.get(method)?.cacheable === true,
  alwaysAsks: false,
  mayBeIgnored: true,
  declaresOnce: false,
  deprecates: true,
  toError: toTypedError,
  isOfOldListing: ({ rpcCode }) => rpcCode === HEADER_MISMATCH,
  pingMethod: "server/discover",
  replacements: REMOVED,
  specifies: (method) => modernMethods.has(method) || modernNotifications.has(method) || REMOVED.has(method),
  open,
};

async function open(
  wire: TransportTarget,
  runtime: ClientRuntime,
  options: OpenOptions,
  lifetime: CallLifetime,
): Promise<Connection> {
  const version = options.versions[0] as string;
  const transport = wire.kind === "channel" ? wire.transport : new ModernHttpTransport(wire.target, version);
  const connection = new ModernConnection(modernClient, transport, runtime, options.versions, version);
  if (options.discovered !== undefined) connection.adopt(asDiscovered(options.discovered, options.versions));
  else if (!options.pinned) {
    const discovered = await probe(connection, options, lifetime);
    assertDescription("server/discover", discovered, runtime.limits);
    connection.adopt(discovered);
  }
  return connection;
}

/**
 * Asks the server for its versions. If the server refuses the version of the request, asks once more with a common
 * version.
 */
async function probe(
  connection: ModernConnection,
  { versions, last, onAnswer }: OpenOptions,
  lifetime: CallLifetime,
): Promise<DiscoverResult> {
  let answer = await ask(connection, lifetime, last, onAnswer);
  const supported = "error" in answer ? supportedIn(answer.error) : undefined;
  if (supported !== undefined) {
    connection.version = mutual(versions, supported, refusalOf(answer));
    answer = await ask(connection, lifetime, last);
  }
  if ("error" in answer) throw verdict(answer.error, last);
  return asDiscovered(answer.result, versions);
}

/**
 * Sends `server/discover`. A timeout on a channel, a malformed response, or an HTTP status from 400 to 499 other than 401
 * and 403, suggests another era. A lost connection suggests it only if the server process exited without output, or its
 * last output is about the request.
 */
async function ask(
  connection: ModernConnection,
  lifetime: CallLifetime,
  last: boolean,
  onAnswer?: () => void,
): Promise<RpcResponse> {
  try {
    return await connection.probe(lifetime, onAnswer);
  } catch (error) {
    if (connection.transportKind === "channel") {
      if (error instanceof TimeoutError) throw older("did not answer server/discover", error);
      if (error instanceof ConnectionError && error.delivery === "sent") throw leftAtProbe(error);
    }
    if (error instanceof ProtocolError && !last) throw older(`sent no valid response: ${error.message}`, error);
    const status = error instanceof ConnectionError ? error.status : undefined;
    if (status !== undefined && status >= 400 && status < 500 && status !== 401 && status !== 403) {
      throw older(`answered server/discover with status ${status}`, error);
    }
    throw error;
  }
}

/** Typical output of programs that exit because of an unknown message. */
const ABOUT_THE_PROBE =
  /server\/discover|method not found|json-?rpc|(initialized?|unexpected|unknown|unsupported|invalid) (first )?(request|message|method)/i;

/**
 * Interprets the exit of a server process during the probe. It exited because of the probe, or because it cannot run,
 * in which case another start would not help. Its last output decides. Without any output, only another start can tell.
 */
function leftAtProbe(error: ConnectionError): Error {
  const { exitCode, stderr, likelyCause } = error;
  const isMute = stderr.length === 0 && (exitCode === 0 || (typeof exitCode === "number" && likelyCause === undefined));
  return isMute || stderr.some((line) => ABOUT_THE_PROBE.test(line))
    ? older("exited at server/discover", error)
    : error;
}

/** Creates the error for a server that seems to be older, with advice for a caller that excluded legacy versions. */
function older(what: string, cause?: unknown): WrongEraError {
  const advice = 'it seems to be a legacy server: allow its versions with era "auto" or in `versions`';
  return new WrongEraError(`the server ${what}; ${advice}`, undefined, { cause });
}

function refusalOf(answer: RpcResponse): Error | undefined {
  return "error" in answer ? toTypedError(answer.error, "server/discover") : undefined;
}

function mutual(versions: readonly string[], offered: readonly string[], evidence: unknown): string {
  const version = versions.find((candidate) => offered.includes(candidate));
  if (version !== undefined) return version;
  throw new WrongEraError(`the server supports ${offered.join(", ")}`, offered, { cause: evidence });
}

/**
 * Interprets an error response to the probe. A refusal of the caller (401, 403) says nothing about the era, so it is
 * final only if no other era is left to try.
 */
function verdict(error: RpcErrorObject, last: boolean): Error {
  const cause = toTypedError(error, "server/discover");
  const data = error.data as { requiredCapabilities?: unknown } | undefined | null;
  const recognised =
    error.code === HEADER_MISMATCH ||
    (error.code === MISSING_CAPABILITY && typeof data?.requiredCapabilities === "object") ||
    supportedIn(error) !== undefined;
  const isForCaller = cause.status === 401 || cause.status === 403;
  return recognised || (last && isForCaller)
    ? cause
    : older(`answered server/discover with an error: ${error.message}`, cause);
}

function asDiscovered(result: ClientResult, versions: readonly string[]): DiscoverResult {
  const problem = modernResults.get("server/discover")?.(result);
  if (problem !== undefined || !isVersionList(result.supportedVersions)) {
    const why = mustBe(problem ?? { path: "/supportedVersions", expected: "a list of versions" });
    throw older(`answered server/discover with an invalid result (${why})`);
  }
  mutual(versions, result.supportedVersions, undefined);
  return result as unknown as DiscoverResult;
}
