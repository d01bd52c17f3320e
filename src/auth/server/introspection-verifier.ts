import { atCaller } from "../../protocol/at-caller.js";
import { AuthError } from "../../protocol/auth-error.js";
import { DefinitionError } from "../../protocol/errors.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../../protocol/known-options.js";
import { timeoutSignal } from "../abortable.js";
import {
  AUTHORIZATION_SERVER_OPTIONS,
  AuthorizationServerClient,
  type AuthorizationServerOptions,
  type ServerMetadata,
} from "../authorization-server.js";
import { CLIENT_CREDENTIALS, chooseMethod, type KnownClient, toClientAuth } from "../client-auth.js";
import type { TokenInfo, TokenVerifier } from "./auth-info.js";
import { GATE_LIMITS, type GateLimits, MOVED_LIMITS } from "./limits.js";
import { TokenCache, toAuthInfo } from "./verified-tokens.js";

/** Options of `introspectionVerifier`. Either `issuer` or `endpoint` is required. */
export interface IntrospectionVerifierOptions extends AuthorizationServerOptions {
  /** Issuer of the authorization server. The introspection endpoint is looked up in its metadata. */
  readonly issuer?: string | undefined;
  /** Introspection endpoint, for a server whose metadata does not name it. */
  readonly endpoint?: string | undefined;
  /** Credentials of this server at the authorization server. */
  readonly client: Pick<KnownClient, "id" | "secret" | "method" | "key" | "keyId" | "alg" | "assertion">;
  /** Limits of the verifier, each with a default. */
  readonly limits?: Optional<GateLimits> | undefined;
}

const OPTIONS: Known<IntrospectionVerifierOptions> = {
  ...AUTHORIZATION_SERVER_OPTIONS,
  issuer: "string",
  endpoint: "string",
  client: { ...CLIENT_CREDENTIALS, id: "any", secret: "string", method: "string" },
  limits: GATE_LIMITS,
};

/** Creates a verifier that introspects access tokens at the authorization server (RFC 7662). */
export function introspectionVerifier(options: IntrospectionVerifierOptions): TokenVerifier {
  return atCaller(introspectionVerifier, () =>
    createIntrospectionVerifier(options ?? ({} as IntrospectionVerifierOptions)),
  );
}

function createIntrospectionVerifier(options: IntrospectionVerifierOptions): TokenVerifier {
  assertOptions("introspectionVerifier", options, OPTIONS, MOVED_LIMITS);
  const { issuer, endpoint } = options;
  const limits = withDefaults(options.limits, GATE_LIMITS);
  const { introspectedTokenMs, maxIntrospections } = limits;
  if (issuer === undefined && endpoint === undefined) {
    throw new DefinitionError("introspectionVerifier: issuer and endpoint are both missing; set one of them");
  }
  if (typeof options.client?.id !== "string")
    throw new DefinitionError(
      "introspectionVerifier: client.id is missing; set client to the { id, secret } of this server",
    );
  const server = new AuthorizationServerClient(options, limits);
  const introspection = new IntrospectionClient(options, server, limits.requestMs);
  const kept = new TokenCache(limits.maxIntrospectedTokens, server.now);
  // A separate cache, so that invalid tokens do not evict valid ones.
  const refused = new TokenCache(limits.maxRefusedTokens, server.now);
  // A token may become active a moment after it was issued, so a rejection is remembered only briefly.
  const refusedMs = Math.min(introspectedTokenMs, limits.refusedTokenMs);
  const asking = new Map<string, Promise<TokenInfo | undefined>>();

  const ask = async (token: string): Promise<TokenInfo | undefined> => {
    const info = await introspection.ask(token);
    if (info !== undefined) kept.keep(info, introspectedTokenMs);
    else refused.keep({ token, scopes: [] }, refusedMs);
    return info;
  };
  return (token) => {
    if (refused.find(token) !== undefined) return undefined;
    const known = kept.find(token) ?? asking.get(token);
    if (known !== undefined) return known;
    if (asking.size >= maxIntrospections)
      throw failed(`${maxIntrospections} introspection requests are under way; raise limits.maxIntrospections`);
    const answer = ask(token).finally(() => asking.delete(token));
    asking.set(token, answer);
    return answer;
  };
}

/** Sends introspection requests. Failures are `AuthError`s that do not contain the token. */
class IntrospectionClient {
  readonly #options: IntrospectionVerifierOptions;
  readonly #server: AuthorizationServerClient;
  readonly #requestMs: number;
  #metadata: Promise<ServerMetadata> | undefined;

  constructor(options: IntrospectionVerifierOptions, server: AuthorizationServerClient, requestMs: number) {
    this.#options = options;
    this.#server = server;
    this.#requestMs = requestMs;
    const { issuer, endpoint } = options;
    if (endpoint === undefined) return;
    this.#metadata = Promise.resolve({ issuer: issuer ?? endpoint, introspection_endpoint: endpoint });
  }

  async ask(token: string): Promise<TokenInfo | undefined> {
    const metadata = await this.#find();
    const { introspection_endpoint: endpoint } = metadata;
    if (endpoint === undefined)
      throw failed(`The metadata of ${this.#options.issuer} has no introspection_endpoint; set endpoint`);
    const response = await this.#server.post(endpoint, await this.#toRequest(metadata, token), "token");
    if (response.status !== 200)
      throw failed(`The introspection endpoint ${endpoint} answered with status ${response.status}`);
    const claims = await readObject(response, endpoint);
    if (claims.active !== true) return undefined;
    const { issuer } = this.#options;
    if (issuer !== undefined && claims.iss !== undefined && claims.iss !== issuer) return undefined;
    return toAuthInfo(token, claims);
  }

  /** Fetches the metadata once. A failure is not cached. */
  #find(): Promise<ServerMetadata> {
    this.#metadata ??= this.#server.metadata(this.#options.issuer ?? "").catch((error: unknown) => {
      this.#metadata = undefined;
      throw error;
    });
    return this.#metadata;
  }

  async #toRequest(metadata: ServerMetadata, token: string): Promise<RequestInit> {
    const { client } = this.#options;
    const { secret, key, assertion } = client;
    const hasKey = key !== undefined || assertion !== undefined;
    const listed = metadata.introspection_endpoint_auth_methods_supported;
    const method = client.method ?? (hasKey ? "private_key_jwt" : chooseMethod(secret !== undefined, listed));
    const authentication = { clientId: client.id, secret, method, signer: client };
    const authenticate = await toClientAuth(authentication, metadata, timeoutSignal(this.#requestMs));
    const body = new URLSearchParams({ token, token_type_hint: "access_token" });
    const headers = new Headers({ accept: "application/json" });
    await authenticate(metadata, { client_id: client.id }, body, headers);
    headers.set("content-type", "application/x-www-form-urlencoded;charset=UTF-8");
    return { headers, body: body.toString() };
  }
}

async function readObject(response: Response, endpoint: string): Promise<{ readonly [name: string]: unknown }> {
  const value: unknown = await response.json().catch(() => undefined);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as { [name: string]: unknown };
  throw failed(`The introspection endpoint ${endpoint} did not answer with a JSON object`);
}

function failed(message: string): AuthError {
  return new AuthError("token", message);
}
