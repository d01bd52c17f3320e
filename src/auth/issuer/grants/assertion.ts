import { decodeJwt, decodeProtectedHeader, errors, type JWTPayload } from "jose";
import { DefinitionError } from "../../../protocol/errors.js";
import { quoted } from "../../../protocol/text.js";
import { digestOf, randomToken } from "../../crypto.js";
import { IssuerKeys, toJwtType } from "../../issuer-keys.js";
import { normalizeResource } from "../../resource.js";
import { scopesOf } from "../../scopes.js";
import type { IssuerClient } from "../clients/client.js";
import { type FoundGrant, type IssuerCore, type IssuerExtension, type TokenRequest, useUp } from "../core.js";
import type {
  IssuerIdentityAssertionOptions,
  TrustedIssuer,
  WorkloadGrant,
  WorkloadIdentityOptions,
} from "../options.js";
import { invalidGrant, OAuthProblem } from "../problem.js";
import { isSecureUri } from "../redirect-uri.js";
import { assertScopes, assertUnique, requestedResources, requestedScopes } from "../rules.js";
import type { Grant, Granted } from "../store/records.js";

export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";
const ID_JAG = "oauth-id-jag+jwt";
/** Types of JWTs that serve other purposes and must not be accepted as workload assertions. */
const OTHER_TYPES = [ID_JAG, "at+jwt", "dpop+jwt", "logout+jwt"];

/** Placeholder client of a workload that sends no client credentials. Its client id follows from its assertion. */
const WORKLOAD: IssuerClient = {
  id: "",
  source: "configured",
  redirectUris: [],
  method: "none",
  grantTypes: [JWT_BEARER],
};

/** Creates the extension that issues tokens for assertions of trusted issuers (RFC 7523). */
export function createAssertions(
  identity: IssuerIdentityAssertionOptions | undefined,
  workload: WorkloadIdentityOptions | undefined,
): IssuerExtension {
  if (identity !== undefined) assertTrusted("createIssuer: identityAssertion.providers", identity.providers);
  if (identity !== undefined && identity.subject === undefined && identity.providers.length > 1) {
    throw new DefinitionError(
      "createIssuer: identityAssertion.subject is required with several providers, which may use the same sub",
    );
  }
  if (workload !== undefined) assertTrusted("createIssuer: workloadIdentity.issuers", workload.issuers);
  let grant: AssertionGrant | undefined;
  return {
    ...(identity === undefined ? {} : { metadata: { authorization_grant_profiles_supported: [PROFILE] } }),
    ...(workload === undefined ? {} : { anonymous: (grantType) => (grantType === JWT_BEARER ? WORKLOAD : undefined) }),
    grants: {
      [JWT_BEARER]: async (core, request) => {
        grant ??= new AssertionGrant(core, identity, workload);
        return await grant.serve(request);
      },
    },
  };
}

function assertTrusted(option: string, trusted: readonly TrustedIssuer[]): void {
  if (trusted.length === 0) throw new DefinitionError(`${option} must name at least one issuer`);
  assertUnique(
    option,
    trusted.map(({ issuer }) => issuer),
  );
  for (const { issuer, jwksUri = issuer, keys } of trusted) {
    if (issuer === "") throw new DefinitionError(`${option} must not name an empty issuer`);
    if (keys === undefined && !isSecureUri(jwksUri)) {
      throw new DefinitionError(
        `${option}: the keys of ${JSON.stringify(issuer)} are not at an https URL; set jwksUri or keys`,
      );
    }
  }
}

/** Issues tokens for assertions of identity providers about users, and of platforms about workloads. */
class AssertionGrant {
  readonly #core: IssuerCore;
  readonly #identity: IssuerIdentityAssertionOptions | undefined;
  readonly #workload: WorkloadIdentityOptions | undefined;
  readonly #providers: ReadonlyMap<string, IssuerKeys>;
  readonly #platforms: ReadonlyMap<string, IssuerKeys>;

  constructor(
    core: IssuerCore,
    identity: IssuerIdentityAssertionOptions | undefined,
    workload: WorkloadIdentityOptions | undefined,
  ) {
    this.#core = core;
    this.#identity = identity;
    this.#workload = workload;
    this.#providers = keysOf(core, identity?.providers);
    this.#platforms = keysOf(core, workload?.issuers);
  }

  async serve(request: TokenRequest): Promise<FoundGrant> {
    const { client, form } = request;
    const assertion = form.need("assertion");
    if (assertion.length > this.#core.limits.maxAssertionBytes)
      throw invalidGrant(`the assertion is longer than ${this.#core.limits.maxAssertionBytes} bytes`);
    if (this.#workload === undefined) assertConfidential(request);
    const isIdentity = this.#workload === undefined || typeOf(assertion) === ID_JAG;
    if (!isIdentity) return await this.#serveWorkload(request, assertion);
    if (this.#identity === undefined) throw invalidGrant("identity assertions are not accepted");
    assertConfidential(request);
    const claims = await this.#read(assertion, this.#providers, [this.#core.issuer]);
    if (typeOf(assertion) !== ID_JAG) throw wrongType(assertion);
    if (Array.isArray(claims.aud) && claims.aud.length > 1)
      throw invalidGrant("the assertion has more than one audience");
    if (claims.client_id !== client.id) throw invalidGrant("the assertion is for another client");
    return await this.#serveUser(request, claims, this.#identity);
  }

  /**
   * Finds the grant of a user. The assertion determines the resources and the scopes. The request may name fewer
   * scopes, but no other resource.
   */
  async #serveUser(
    { client, form }: TokenRequest,
    claims: JWTPayload,
    { subject: subjectOf }: IssuerIdentityAssertionOptions,
  ): Promise<FoundGrant> {
    const audience = this.#resourceOf(claims);
    assertSame(form.getAll("resource"), audience);
    const stated = scopesOf(typeof claims.scope === "string" ? claims.scope : undefined);
    const asked = scopesOf(form.get("scope"));
    const scopes = stated.filter(
      (scope) =>
        (asked.length === 0 || asked.includes(scope)) &&
        this.#core.scopes.has(scope) &&
        (client.scopes?.includes(scope) ?? true),
    );
    if (scopes.length === 0) assertScopes(asked, scopes);
    const subject = subjectOf === undefined ? claims.sub : await subjectOf(claims, client);
    if (subject === undefined) throw invalidGrant("the user of the assertion is unknown");
    return this.#found(claims, { clientId: client.id, subject, scopes, audience });
  }

  async #serveWorkload({ client, form }: TokenRequest, assertion: string): Promise<FoundGrant> {
    if (OTHER_TYPES.includes(typeOf(assertion))) throw wrongType(assertion);
    const { issuer, base } = this.#core;
    const claims = await this.#read(assertion, this.#platforms, [issuer, `${base}/token`]);
    const allowed = await this.#allowed(claims);
    const audience = requestedResources(form.getAll("resource"), this.#core.resources, this.#core.defaultResource);
    const registered = allowed.scopes ?? client.scopes;
    const limits = { supported: [...this.#core.scopes.keys()], defaults: this.#core.defaultScopes, registered };
    const scopes = requestedScopes(form.get("scope"), limits);
    const { clientId = client.id === "" ? (claims.sub as string) : client.id } = allowed;
    return this.#found(claims, { clientId, subject: allowed.subject ?? (claims.sub as string), scopes, audience });
  }

  async #allowed(claims: JWTPayload): Promise<WorkloadGrant> {
    const platform = this.#workload?.issuers.find(({ issuer }) => issuer === claims.iss);
    const allowed = (await platform?.allow(claims)) ?? false;
    if (allowed === false) throw invalidGrant(`the workload ${quoted(String(claims.sub))} is not allowed`);
    return allowed === true ? {} : allowed;
  }

  /**
   * Returns the claims of an assertion. Throws `invalid_grant` unless it is signed by a trusted issuer, meant for this
   * server, and valid now.
   */
  async #read(
    assertion: string,
    trusted: ReadonlyMap<string, IssuerKeys>,
    audience: readonly string[],
  ): Promise<JWTPayload> {
    const issuer = issuerOf(assertion);
    const keys = trusted.get(issuer);
    if (keys === undefined) throw invalidGrant(`the iss ${quoted(issuer)} of the assertion is not trusted`);
    const { clockSkewMs, grantAssertionMs } = this.#core.limits;
    const check = {
      audience: [...audience],
      requiredClaims: ["sub", "exp", "iat", "jti"],
      clockTolerance: clockSkewMs / 1000,
    };
    const { payload } = await keys.verify(assertion, check).catch((error: unknown) => {
      throw error instanceof errors.JOSEError ? invalidGrant(problemOf(error)) : error;
    });
    const { sub, exp = 0, jti } = payload;
    if (typeof sub !== "string" || sub === "" || typeof jti !== "string" || jti === "") {
      throw invalidGrant("the assertion must have a sub and a jti, both non-empty strings");
    }
    if (exp * 1000 > this.#core.now() + grantAssertionMs + clockSkewMs)
      throw invalidGrant(`the assertion must expire within ${grantAssertionMs} ms`);
    return payload;
  }

  /** Returns the grant. Its `redeem` marks the assertion as used, because an assertion is valid for one use. */
  #found(
    { iss, jti, exp = 0 }: JWTPayload,
    may: Pick<Grant, "clientId" | "subject" | "scopes" | "audience">,
  ): FoundGrant {
    const { now, limits, lifetimes } = this.#core;
    const redeem = async (): Promise<Granted> => {
      const mark = `vouched:${await digestOf(`${iss} ${jti}`)}`;
      const refusal = invalidGrant("the assertion has already been used");
      await useUp(this.#core, [{ mark, expiresAt: exp * 1000 + limits.clockSkewMs, refusal }], may.subject);
      const grant = { ...may, id: randomToken(), expiresAt: now() + lifetimes.accessTokenMs };
      // No refresh token is issued: the issuer of the assertion decides how long the access lasts.
      return { grant, scopes: may.scopes, audience: may.audience, refreshes: false };
    };
    return { subject: may.subject, redeem };
  }

  #resourceOf({ resource }: JWTPayload): readonly string[] {
    const named = (Array.isArray(resource) ? resource : [resource]).filter((one) => typeof one === "string");
    try {
      return requestedResources(named, this.#core.resources, undefined);
    } catch {
      throw invalidGrant("the resource of the assertion is missing or unknown");
    }
  }
}

function keysOf(core: IssuerCore, trusted: readonly TrustedIssuer[] = []): ReadonlyMap<string, IssuerKeys> {
  return new Map(trusted.map((one) => [one.issuer, new IssuerKeys({ ...one, now: () => core.now() }, core.limits)]));
}

function assertConfidential({ client }: TokenRequest): void {
  if (client.method !== "none") return;
  throw new OAuthProblem("unauthorized_client", "only a confidential client may use an identity assertion");
}

function assertSame(named: readonly string[], audience: readonly string[]): void {
  const keys = audience.map(normalizeResource);
  if (named.every((resource) => keys.includes(normalizeResource(resource)))) return;
  throw new OAuthProblem("invalid_target", "the assertion is for another resource");
}

function typeOf(assertion: string): string {
  try {
    return toJwtType(decodeProtectedHeader(assertion).typ);
  } catch {
    return "";
  }
}

function wrongType(assertion: string): OAuthProblem {
  return invalidGrant(`the assertion has the wrong typ ${quoted(typeOf(assertion))}`);
}

function issuerOf(assertion: string): string {
  try {
    const { iss } = decodeJwt(assertion);
    return typeof iss === "string" ? iss : "";
  } catch {
    return "";
  }
}

function problemOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return "the assertion has expired";
  if (error instanceof errors.JWTClaimValidationFailed) return `the claim ${error.claim} of the assertion is not valid`;
  return "the assertion is not a valid JWT: check its kid, alg and signature";
}
