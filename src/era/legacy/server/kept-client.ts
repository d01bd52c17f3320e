// The modern era has no such file: a modern request carries the description of its client.

import { INVALID_PARAMS, Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { InitializeParams } from "../../../protocol/types/index.js";
import type { CallOrigin, ClientDescription } from "../../server-era.js";

const CAPABILITIES = ["experimental", "roots", "sampling", "elicitation", "tasks", "extensions"];
const IDENTITY = ["name", "version", "title", "description", "websiteUrl"];

/**
 * Describes a client for the lifetime of its session: a copy of the known members of its handshake, of at most
 * `maxChars` characters of JSON. Icons are dropped if they do not fit.
 */
export function describeClient(
  version: string,
  params: InitializeParams,
  maxChars: number,
): ClientDescription | Refusal {
  const capabilities = pick(params.capabilities, CAPABILITIES);
  const info = pick(params.clientInfo, IDENTITY);
  const { icons } = params.clientInfo;
  const texts = [
    { capabilities, info: { ...info, icons } },
    { capabilities, info },
  ].map((kept) => JSON.stringify(kept));
  const text = texts.find(({ length }) => length <= maxChars);
  if (text !== undefined) return { version, ...(JSON.parse(text) as Omit<ClientDescription, "version">) };
  return new Refusal(
    INVALID_PARAMS,
    `Invalid params for initialize: capabilities and clientInfo must have at most ${maxChars} characters (limits.maxClientChars)`,
  );
}

function pick(from: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)));
}

/** Copies the data that outlives a request. Its headers and body are not kept. */
export function keepOrigin({ auth, principal, endsAt, judge, url, sessionId, remote }: CallOrigin): CallOrigin {
  return { auth, principal, endsAt, judge, sessionId, remote, ...(url !== undefined && { url }) };
}
