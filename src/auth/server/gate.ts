import type { GateAdmission, GateRefusal, Operation } from "../../http/exchange.js";
import { trimHeader } from "../../http/headers.js";
import { AuthError } from "../../protocol/auth-error.js";
import { isStateAway } from "../../protocol/errors.js";
import type { BoundToken, DpopCheck, GatedRequest, ProofOutcome } from "../dpop/check.js";
import { isAudience, statesAudience } from "../resource.js";
import { assertTokenInfo, InvalidTokenError, type TokenInfo, type TokenVerifier } from "./auth-info.js";
import type { ScopeRules } from "./scopes.js";

/** Parts of a bearer gate. */
export interface BearerGateParts {
  readonly verify: TokenVerifier;
  readonly rules: TokenRules;
  readonly scopes: ScopeRules;
  readonly dpop: DpopCheck | undefined;
  readonly metadataUrl: string | undefined;
  readonly maxTokenBytes: number;
  principalOf(info: TokenInfo): string | undefined;
}

interface Fault {
  readonly status: 401 | 403;
  readonly scheme: Scheme;
  readonly error: string;
  readonly description: string;
  readonly scopes: readonly string[];
  readonly nonce?: string | undefined;
}

type Verified =
  | { readonly info: TokenInfo; readonly refusal?: undefined }
  | { readonly info?: undefined; readonly refusal: GateRefusal };

const NOT_VALID = "The access token is not valid";
const JSON_HEADERS = { "content-type": "application/json", "cache-control": "no-store" };
const UNAVAILABLE = { "content-type": "application/json", "retry-after": "5" };
const MAX_DESCRIPTION = 200;

/** Authorizes each request by its access token: first checks that the token is valid, then that its scopes suffice. */
export class BearerGate {
  readonly #parts: BearerGateParts;
  readonly #schemes: readonly Scheme[];

  constructor(parts: BearerGateParts) {
    this.#parts = parts;
    this.#schemes = parts.dpop === undefined ? ["Bearer"] : ["Bearer", "DPoP"];
  }

  async check(request: GatedRequest): Promise<GateAdmission | GateRefusal> {
    const { scopes, maxTokenBytes } = this.#parts;
    const credentials = readCredentials(request.header("authorization"), this.#schemes, maxTokenBytes);
    if (credentials.kind === "none") return this.#challengeAll();
    const { scheme } = credentials;
    if (credentials.kind === "malformed")
      return this.#invalid(scheme, `The Authorization header has no valid token of at most ${maxTokenBytes} bytes`);
    const { token } = credentials;
    const { info, refusal } = await this.#verify(token, scheme);
    if (refusal !== undefined) return refusal;
    const problem = findTokenProblem(info, this.#parts.rules) ?? this.#findBindingProblem(info, scheme);
    if (problem !== undefined) return this.#invalid(scheme, problem);
    const bound = { token, thumbprint: info.confirmation?.jkt };
    const proof = scheme === "DPoP" ? await this.#prove(request, bound) : undefined;
    if (proof !== undefined && "status" in proof) return proof;
    if (proof?.error !== undefined) {
      const { error, description = "", nonce } = proof;
      return this.#refuse({ status: 401, scheme, error, description, scopes: scopes.base, nonce });
    }
    if (!scopes.cover(grantedBy(info), scopes.base)) {
      const amend = (operations: readonly Operation[]) => this.#amended(scheme, operations);
      return { ...this.#insufficient(scheme, scopes.base), amend };
    }
    return {
      auth: info,
      principal: this.#parts.principalOf(info),
      // The token may expire during the check.
      lifeMs: info.expiresAt === undefined ? undefined : Math.max(0, info.expiresAt * 1000 - this.#parts.rules.now()),
      headers: proof?.nonce === undefined ? undefined : { "dpop-nonce": proof.nonce },
      judge: (operations) => this.#judge(info, scheme, operations),
    };
  }

  /** Verifies the token. A message of the verifier that repeats the token is not sent to the client. */
  async #verify(token: string, scheme: Scheme): Promise<Verified> {
    try {
      const info = await this.#parts.verify(token);
      if (typeof info !== "object" || info === null) return { refusal: this.#invalid(scheme, NOT_VALID) };
      assertTokenInfo(info);
      return { info };
    } catch (error) {
      if (error instanceof InvalidTokenError) {
        const safe = !error.message.includes(token);
        return { refusal: this.#invalid(scheme, safe ? error.message : NOT_VALID) };
      }
      return { refusal: unavailable(error) };
    }
  }

  async #prove(request: GatedRequest, bound: BoundToken): Promise<ProofOutcome | GateRefusal | undefined> {
    try {
      return await this.#parts.dpop?.check(request, bound);
    } catch (error) {
      return unavailable(error);
    }
  }

  /**
   * Returns the reason why a token must not be sent with the scheme; undefined if it may be. A bound token requires
   * proof of its key.
   */
  #findBindingProblem({ confirmation }: TokenInfo, scheme: Scheme): string | undefined {
    const bound = confirmation !== undefined && confirmation !== null;
    if (scheme === "DPoP") {
      return typeof confirmation?.jkt === "string"
        ? undefined
        : "The access token has no cnf.jkt, so it cannot be used with DPoP";
    }
    if (bound) return "The access token is bound to a key, so it cannot be used as a bearer token";
    return this.#parts.dpop?.required === true ? "Only access tokens that are bound to a key are accepted" : undefined;
  }

  #judge(info: TokenInfo, scheme: Scheme, operations: readonly Operation[]): GateRefusal | undefined {
    const { scopes } = this.#parts;
    try {
      const needed = scopes.neededFor(operations);
      return scopes.cover(grantedBy(info), needed) ? undefined : this.#insufficient(scheme, needed);
    } catch (error) {
      return { status: 500, error };
    }
  }

  #amended(scheme: Scheme, operations: readonly Operation[]): GateRefusal {
    const { scopes } = this.#parts;
    try {
      return this.#insufficient(scheme, [...new Set([...scopes.base, ...scopes.neededFor(operations)])]);
    } catch (error) {
      return { ...this.#insufficient(scheme, scopes.base), error };
    }
  }

  #invalid(scheme: Scheme, description: string): GateRefusal {
    const { base } = this.#parts.scopes;
    return this.#refuse({ status: 401, scheme, error: "invalid_token", description, scopes: base });
  }

  #insufficient(scheme: Scheme, scopes: readonly string[]): GateRefusal {
    const description = `The request needs the scopes: ${scopes.join(" ")}`;
    return this.#refuse({ status: 403, scheme, error: "insufficient_scope", description, scopes });
  }

  /** Challenges a request without credentials. Sends no error code, as RFC 6750 recommends. */
  #challengeAll(): GateRefusal {
    const { dpop, scopes } = this.#parts;
    const schemes = dpop?.required === true ? (["DPoP"] as const) : this.#schemes;
    const challenges = schemes.map((scheme) => formatChallenge(scheme, this.#params(scheme, {}, scopes.base)));
    return { status: 401, headers: { "www-authenticate": challenges.join(", "), "cache-control": "no-store" } };
  }

  #refuse({ status, scheme, error, description, scopes, nonce }: Fault): GateRefusal {
    const told = toPrintable(description.slice(0, MAX_DESCRIPTION));
    const body = { error, error_description: told };
    const challenge = formatChallenge(scheme, this.#params(scheme, body, scopes));
    const header = this.#alternative(scheme, error);
    return {
      status,
      headers: {
        ...JSON_HEADERS,
        "www-authenticate": header === undefined ? challenge : `${challenge}, ${header}`,
        ...(nonce === undefined ? undefined : { "dpop-nonce": nonce }),
      },
      body: JSON.stringify(body),
      reason: told,
    };
  }

  /** Returns an additional DPoP challenge for a rejected bearer token, because the token may be a bound one. */
  #alternative(scheme: Scheme, error: string): string | undefined {
    if (scheme === "DPoP" || this.#parts.dpop === undefined || error !== "invalid_token") return undefined;
    return formatChallenge("DPoP", this.#params("DPoP", {}, []));
  }

  #params(scheme: Scheme, fault: ChallengeParams, scopes: readonly string[]): ChallengeParams {
    return {
      ...fault,
      scope: scopes.length === 0 ? undefined : scopes.join(" "),
      resource_metadata: this.#parts.metadataUrl,
      algs: scheme === "DPoP" ? this.#parts.dpop?.algorithms.join(" ") : undefined,
    };
  }
}

const UNAVAILABLE_BODY = JSON.stringify({ error: "temporarily_unavailable" });

/**
 * Returns the refusal of a request that cannot be checked now, because the authorization server, or the state in which
 * tokens and proofs are looked up, cannot be reached. Its token may be valid. Throws other errors.
 */
function unavailable(error: unknown): GateRefusal {
  if (!(error instanceof AuthError) && !isStateAway(error)) throw error;
  return { status: 503, headers: UNAVAILABLE, body: UNAVAILABLE_BODY, error };
}

function grantedBy({ scopes }: TokenInfo): readonly string[] {
  return Array.isArray(scopes) ? scopes : [];
}

/** Rules for verified tokens. */
export interface TokenRules {
  /** Normalized resource that tokens must have as audience; undefined accepts any audience. */
  readonly resource: string | undefined;
  /** True to accept tokens without an audience, because the verifier checks it. */
  readonly verifierChecksAudience: boolean;
  readonly requireExpiry: boolean;
  /** Returns the current time in milliseconds since 1970. */
  now(): number;
}

/** Returns the reason, for the client, why a verified token is not accepted; undefined if it is. */
export function findTokenProblem(info: TokenInfo, rules: TokenRules): string | undefined {
  return findExpiryProblem(info.expiresAt, rules) ?? findAudienceProblem(info.audience, rules);
}

function findExpiryProblem(expiresAt: unknown, { requireExpiry, now }: TokenRules): string | undefined {
  if (expiresAt === undefined) return requireExpiry ? "The access token has no expiry" : undefined;
  if (typeof expiresAt !== "number" || !Number.isFinite(expiresAt))
    return "The expiry of the access token is not a number";
  return expiresAt * 1000 <= now() ? "The access token has expired" : undefined;
}

function findAudienceProblem(audience: unknown, rules: TokenRules): string | undefined {
  const { resource, verifierChecksAudience } = rules;
  if (resource === undefined) return undefined;
  if (!statesAudience(audience)) {
    return verifierChecksAudience ? undefined : `The access token has no audience, expected ${resource}`;
  }
  return isAudience(audience, resource) ? undefined : `The audience of the access token is not ${resource}`;
}

/** Credentials of an `Authorization` header. */
export type Credentials =
  | { readonly kind: "none" }
  | { readonly kind: "malformed"; readonly scheme: Scheme }
  | { readonly kind: "token"; readonly scheme: Scheme; readonly token: string };

export type Scheme = "Bearer" | "DPoP";

const NONE: Credentials = { kind: "none" };
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;

/**
 * Parses an `Authorization` header. An unsupported scheme counts as no credentials. Scheme names are case-insensitive.
 */
export function readCredentials(
  header: string | undefined,
  schemes: readonly Scheme[],
  maxTokenBytes: number,
): Credentials {
  const text = trimHeader(header ?? "");
  const end = text.search(/[ \t]/);
  const name = (end === -1 ? text : text.slice(0, end)).toLowerCase();
  const scheme = schemes.find((known) => known.toLowerCase() === name);
  if (scheme === undefined) return NONE;
  const token = end === -1 ? "" : trimHeader(text.slice(end));
  if (token.length > maxTokenBytes || !TOKEN.test(token)) return { kind: "malformed", scheme };
  return { kind: "token", scheme, token };
}

/** Parameters of a challenge. Undefined ones are left out. */
export type ChallengeParams = { readonly [name: string]: string | undefined };

const MAX_LENGTH = 1024;

/**
 * Formats a challenge of a `WWW-Authenticate` header. Replaces characters that a header cannot carry, and cuts off long
 * values.
 */
export function formatChallenge(scheme: string, params: ChallengeParams): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(params)) if (value !== undefined) parts.push(`${name}=${quote(value)}`);
  return parts.length === 0 ? scheme : `${scheme} ${parts.join(", ")}`;
}

/** Formats a quoted string of RFC 9110 in printable ASCII. */
function quote(value: string): string {
  const printable = toPrintable(value.slice(0, MAX_LENGTH));
  return `"${printable.replace(/["\\]/g, "\\$&")}"`;
}

/** Replaces all characters except printable ASCII, because headers cannot carry them. */
export function toPrintable(text: string): string {
  return text.replace(/[^\x20-\x7e]/gu, "?");
}
