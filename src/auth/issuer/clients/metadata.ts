import type { JSONWebKeySet } from "jose";
import { quoted } from "../../../protocol/text.js";
import { scopesOf } from "../../scopes.js";
import { OAuthProblem } from "../problem.js";
import { isSecureUri, redirectUriProblem } from "../redirect-uri.js";
import { type ClientMethod, CODE_GRANT, type IssuerClient } from "./client.js";

export type Json = { readonly [member: string]: unknown };

/** Rules for clients that describe themselves. */
export interface MetadataRules {
  readonly methods: readonly string[];
  /** Grants that a client may obtain by describing itself. */
  readonly grantTypes: readonly string[];
  /** Supported grants that a client cannot obtain by describing itself. */
  readonly reservedGrantTypes: readonly string[];
  readonly scopes: readonly string[];
  readonly maxItems: number;
  readonly maxChars: number;
}

/** Known members of client metadata (RFC 7591), validated and completed. */
export interface IssuerClientMetadata {
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method: ClientMethod;
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly scope?: string;
  readonly jwks?: JSONWebKeySet;
  readonly jwks_uri?: string;
  readonly dpop_bound_access_tokens?: boolean;
  readonly [text: string]: unknown;
}

const TEXTS = ["client_name", "software_id", "software_version"];
const LINKS = ["client_uri", "logo_uri", "policy_uri", "tos_uri", "jwks_uri"];
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/**
 * Parses client metadata. Throws an `OAuthProblem` that names the invalid member. Unknown, null and empty members are
 * left out.
 */
export function parseClientMetadata(value: unknown, rules: MetadataRules, method: ClientMethod): IssuerClientMetadata {
  const json = present(value);
  const grant_types = grantTypesOf(json, rules);
  const redirect_uris = redirectUrisOf(json, grant_types, rules);
  const response_types = list(json, "response_types", rules) ?? (grant_types.includes(CODE_GRANT) ? ["code"] : []);
  if (
    response_types.some((type) => type !== "code") ||
    response_types.includes("code") !== grant_types.includes(CODE_GRANT)
  ) {
    throw invalid("response_types must be code for authorization_code, and otherwise empty");
  }
  const token_endpoint_auth_method = methodOf(json, rules, method);
  return {
    redirect_uris,
    token_endpoint_auth_method,
    grant_types,
    response_types,
    ...texts(json, rules),
    ...links(json, rules),
    ...members(json, ["application_type"], (type) => type === "web" || type === "native", "web or native"),
    ...scopeOf(json, rules),
    ...keysOf(json, token_endpoint_auth_method, rules),
    ...members(json, ["dpop_bound_access_tokens"], (bound) => typeof bound === "boolean", "a boolean"),
  };
}

/** Returns the client that the metadata describes. */
export function toClient(id: string, source: IssuerClient["source"], metadata: IssuerClientMetadata): IssuerClient {
  const { client_name: name, policy_uri, tos_uri, scope, jwks, jwks_uri, dpop_bound_access_tokens } = metadata;
  const text = (given: unknown) => (typeof given === "string" ? given : undefined);
  return {
    id,
    source,
    name: text(name),
    policyUri: text(policy_uri),
    termsUri: text(tos_uri),
    redirectUris: metadata.redirect_uris,
    method: metadata.token_endpoint_auth_method,
    grantTypes: metadata.grant_types,
    scopes: scope === undefined ? undefined : scopesOf(scope),
    jwks,
    jwksUri: jwks_uri,
    dpopBound: dpop_bound_access_tokens,
  };
}

function present(value: unknown): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid("the client metadata is not a JSON object");
  const entries = Object.entries(value).filter(([, member]) => member !== null && member !== "");
  return Object.fromEntries(entries);
}

function redirectUrisOf(
  json: Json,
  grantTypes: readonly string[],
  { maxItems, maxChars }: MetadataRules,
): readonly string[] {
  const uris = json.redirect_uris ?? [];
  if (!Array.isArray(uris) || uris.length > maxItems)
    throw redirectProblem(`redirect_uris must be a list of at most ${maxItems} items`);
  if (uris.length === 0 && grantTypes.includes(CODE_GRANT)) throw redirectProblem("redirect_uris must not be empty");
  for (const uri of uris) {
    if (typeof uri !== "string") throw redirectProblem("redirect_uris must be a list of strings");
    const problem = uri.length > maxChars ? `has more than ${maxChars} characters` : redirectUriProblem(uri);
    if (problem !== undefined) throw redirectProblem(`the redirect URI ${quoted(uri)} ${problem}`);
  }
  return uris as string[];
}

function grantTypesOf(json: Json, rules: MetadataRules): readonly string[] {
  const { grantTypes, reservedGrantTypes } = rules;
  const asked = list(json, "grant_types", rules) ?? [CODE_GRANT];
  const reserved = asked.find((type) => reservedGrantTypes.includes(type));
  if (reserved !== undefined) throw invalid(`the grant type ${reserved} cannot be registered`);
  const granted = asked.filter((type) => grantTypes.includes(type));
  if (granted.length === 0) throw invalid(`grant_types must contain ${grantTypes.join(" or ")}`);
  return granted;
}

function methodOf(json: Json, { methods }: MetadataRules, fallback: ClientMethod): ClientMethod {
  const method = json.token_endpoint_auth_method ?? fallback;
  if (methods.some((known) => known === method)) return method as ClientMethod;
  throw invalid(`token_endpoint_auth_method must be one of ${methods.join(", ")}`);
}

function scopeOf(json: Json, { scopes }: MetadataRules): { scope?: string } {
  if (json.scope === undefined) return {};
  if (typeof json.scope !== "string") throw invalid("scope must be a string");
  const asked = scopesOf(json.scope);
  const unknown = asked.find((scope) => !scopes.includes(scope));
  if (unknown !== undefined) throw invalid(`scope contains the unknown scope ${quoted(unknown)}`);
  return { scope: asked.join(" ") };
}

function keysOf(json: Json, method: ClientMethod, { maxItems }: MetadataRules): { jwks?: JSONWebKeySet } {
  const { jwks, jwks_uri } = json;
  if (method === "private_key_jwt" && (jwks === undefined) === (jwks_uri === undefined)) {
    throw invalid("private_key_jwt requires either jwks or jwks_uri");
  }
  if (jwks === undefined) return {};
  const keys: unknown = (jwks as Json).keys;
  const fine = Array.isArray(keys) && keys.length > 0 && keys.length <= maxItems && keys.every(isPublicKey);
  if (!fine) throw invalid(`jwks must contain 1 to ${maxItems} public keys`);
  return { jwks: jwks as JSONWebKeySet };
}

function isPublicKey(key: unknown): boolean {
  if (typeof key !== "object" || key === null) return false;
  return typeof (key as Json).kty === "string" && PRIVATE_MEMBERS.every((member) => !(member in key));
}

/** Returns the names, the other texts and the contacts. */
function texts(json: Json, rules: MetadataRules): Json {
  const { maxItems, maxChars } = rules;
  const names = [...TEXTS, ...Object.keys(json).filter((key) => key.startsWith("client_name#"))].slice(0, maxItems);
  const isText = (value: unknown) => typeof value === "string" && value.length <= maxChars;
  const contacts = list(json, "contacts", rules);
  return {
    ...members(json, names, isText, `a string of at most ${maxChars} characters`),
    ...(contacts && { contacts }),
  };
}

/** Returns the links. They may be shown to users, so only https, and http on this machine, is accepted. */
function links(json: Json, { maxChars }: MetadataRules): Json {
  const isLink = (value: unknown) => typeof value === "string" && value.length <= maxChars && isSecureUri(value);
  return members(json, LINKS, isLink, `an https URL of at most ${maxChars} characters`);
}

/** Returns the named members that are present. Throws if one is invalid. */
function members(
  json: Json,
  names: readonly string[],
  isValid: (value: unknown) => boolean,
  expected: string,
): Record<string, unknown> {
  const found = names.filter((name) => json[name] !== undefined);
  const wrong = found.find((name) => !isValid(json[name]));
  if (wrong !== undefined) throw invalid(`${wrong.slice(0, 40)} must be ${expected}`);
  return Object.fromEntries(found.map((name) => [name, json[name]]));
}

function list(json: Json, name: string, { maxItems }: MetadataRules): readonly string[] | undefined {
  const value = json[name];
  if (value === undefined) return undefined;
  const fine = Array.isArray(value) && value.length <= maxItems && value.every((item) => typeof item === "string");
  if (!fine) throw invalid(`${name} must be a list of at most ${maxItems} strings`);
  return [...new Set(value as string[])];
}

function invalid(message: string): OAuthProblem {
  return new OAuthProblem("invalid_client_metadata", message);
}

function redirectProblem(message: string): OAuthProblem {
  return new OAuthProblem("invalid_redirect_uri", message);
}
