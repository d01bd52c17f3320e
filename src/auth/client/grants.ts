import { AuthError } from "../../protocol/auth-error.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import { BUILT_IN_EXTENSIONS } from "../../protocol/meta.js";
import { quoted } from "../../protocol/text.js";
import { formatOAuthError, readOAuthResponse, secretsOf } from "../errors.js";
import type { AuthorizationServerMetadata } from "./server-metadata.js";

const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";

/** Server and resource for which tokens are requested. */
export interface GrantTarget {
  /** Issuer of the authorization server, which is the audience of assertions. */
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata;
  readonly resource: string | undefined;
  readonly scope: string | undefined;
  readonly signal: AbortSignal;
  /** Posts a form to another authorization server, with the same checks and limits as all requests of the flow. */
  post(url: URL, form: URLSearchParams, headers: Readonly<Record<string, string>>): Promise<Response>;
}

/** OAuth grant without user interaction. */
export interface Grant {
  /** MCP extension that defines the grant. The client announces it as a capability. */
  readonly extension?: string | undefined;
  /** True if the assertion may only be sent to a token endpoint at the origin of the option `issuer`. */
  readonly bound?: boolean | undefined;
  /** Returns the grant type and the parameters of a token request. */
  request(
    target: GrantTarget,
  ): Promise<{ readonly type: string; readonly parameters: Readonly<Record<string, string>> }>;
}

/** Creates the client credentials grant. The client authenticates with the option `client`. */
export function clientCredentials(): Grant {
  return {
    extension: BUILT_IN_EXTENSIONS.clientCredentials,
    request: async () => ({ type: "client_credentials", parameters: {} }),
  };
}

/** Returns an assertion for the authorization server. */
export type Assert = (target: GrantTarget) => string | Promise<string>;

/**
 * Creates a grant for a workload, which exchanges a JWT from its platform. `assertion` is called for each token
 * request.
 */
export function workloadIdentity(assertion: Assert): Grant {
  return { request: async (target) => ({ type: JWT_BEARER, parameters: { assertion: await assertion(target) } }) };
}

export interface IdentityAssertionOptions {
  /**
   * Rejects authorization servers that do not announce the ID-JAG profile, before the identity provider is contacted.
   * @default false
   */
  readonly requireProfile?: boolean | undefined;
}

const ASSERTION_OPTIONS: Known<IdentityAssertionOptions> = { requireProfile: "boolean" };

/**
 * Creates a grant by an identity assertion (ID-JAG) of the user's identity provider. `assertion` is called for each
 * token request.
 */
export function identityAssertion(assertion: Assert, options: IdentityAssertionOptions = {}): Grant {
  assertOptions({ identityAssertion }, options, ASSERTION_OPTIONS);
  const { requireProfile = false } = options;
  return {
    extension: BUILT_IN_EXTENSIONS.enterpriseAuthorization,
    bound: true,
    async request(target) {
      const profiles: unknown = target.metadata.authorization_grant_profiles_supported;
      if (requireProfile && !(Array.isArray(profiles) && profiles.includes(ID_JAG_PROFILE))) {
        throw new AuthError(
          "configuration",
          `The metadata of ${target.issuer} does not list the profile ${ID_JAG_PROFILE} (option requireProfile)`,
        );
      }
      return { type: JWT_BEARER, parameters: { assertion: await assertion(target) } };
    },
  };
}

/** Identity provider that issues identity assertions by token exchange (RFC 8693). */
export interface IdentityProvider {
  readonly tokenEndpoint: string | URL;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** ID token, SAML assertion or refresh token of the user at the identity provider. */
  readonly subjectToken: string | (() => string | Promise<string>);
  /**
   * Type of `subjectToken`.
   * @default "urn:ietf:params:oauth:token-type:id_token"
   */
  readonly subjectTokenType?: string | undefined;
}

const PROVIDER: Known<IdentityProvider> = {
  tokenEndpoint: "any",
  clientId: "string",
  clientSecret: "string",
  subjectToken: [{ string: "any", function: "any" }, "required"],
  subjectTokenType: "string",
};

/**
 * Creates an `Assert` that exchanges the user's token at the identity provider for an identity assertion (ID-JAG),
 * which the MCP server's authorization server accepts.
 */
export function exchangeAtProvider(provider: IdentityProvider): Assert {
  assertOptions({ exchangeAtProvider }, provider, PROVIDER);
  return async (target) => {
    const { subjectToken, subjectTokenType = "urn:ietf:params:oauth:token-type:id_token" } = provider;
    const form = new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      requested_token_type: ID_JAG,
      audience: target.issuer,
      subject_token: typeof subjectToken === "string" ? subjectToken : await subjectToken(),
      subject_token_type: subjectTokenType,
    });
    const optional = {
      resource: target.resource,
      scope: target.scope,
      client_id: provider.clientId,
      client_secret: provider.clientSecret,
    };
    for (const [name, value] of Object.entries(optional)) if (value) form.set(name, value);
    const url = new URL(provider.tokenEndpoint);
    const response = await target.post(url, form, { accept: "application/json" });
    const { json, error } = await readOAuthResponse(response, secretsOf(form));
    if (error !== undefined) {
      throw new AuthError("token", `${url.origin} issued no identity assertion: ${formatOAuthError(error)}`, {
        ...error,
        status: response.status,
      });
    }
    if (json?.issued_token_type !== ID_JAG || typeof json.access_token !== "string") {
      const got = quoted(String(json?.issued_token_type));
      throw new AuthError(
        "token",
        `${url.origin} must return an access_token with the issued_token_type ${ID_JAG}, got ${got}`,
      );
    }
    return json.access_token;
  };
}
