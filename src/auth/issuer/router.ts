import type { IssuerCore } from "./core.js";
import { authorize } from "./endpoints/authorize.js";
import { consent } from "./endpoints/consent.js";
import { jwks, metadata, metadataPath } from "./endpoints/metadata.js";
import { register } from "./endpoints/register.js";
import { revoke } from "./endpoints/revoke.js";
import { token } from "./endpoints/token.js";
import { json, NOT_STORED } from "./http.js";
import type { LimitedEndpoint } from "./options.js";
import { errorPage } from "./pages/page.js";
import { OAuthProblem, toProblem } from "./problem.js";

/** Endpoint of the issuer. */
export interface Endpoint {
  readonly name: string;
  readonly methods: readonly string[];
  /** True for APIs: errors are JSON, and CORS allows any origin. False for pages: errors are HTML. */
  readonly api: boolean;
  /** True if the rate limit applies. */
  readonly limited: boolean;
  serve(core: IssuerCore, request: Request): Promise<Response>;
}

const browser = (name: LimitedEndpoint, methods: readonly string[], serve: Endpoint["serve"]): Endpoint => ({
  name,
  methods,
  api: false,
  limited: true,
  serve,
});
const program = (name: LimitedEndpoint, serve: Endpoint["serve"]): Endpoint => ({
  ...browser(name, ["POST"], serve),
  api: true,
});
const document = (name: string, serve: Endpoint["serve"]): Endpoint => ({
  name,
  methods: ["GET", "HEAD"],
  api: true,
  limited: false,
  serve,
});

/** Returns the endpoints by path. A disabled feature has no endpoint. */
export function endpointsOf({ issuer, base, options, login }: IssuerCore): ReadonlyMap<string, Endpoint> {
  const path = new URL(base).pathname.replace(/\/$/, "");
  const endpoints = new Map([
    [metadataPath(issuer), document("metadata", metadata)],
    [`${path}/jwks`, document("jwks", jwks)],
    [`${path}/authorize`, browser("authorize", ["GET", "POST"], authorize)],
    [`${path}/consent`, browser("consent", ["POST"], consent)],
    [`${path}/token`, program("token", token)],
  ]);
  if (login.callback !== undefined) endpoints.set(`${path}/callback`, browser("callback", ["GET"], login.callback));
  if (options.registration !== false) endpoints.set(`${path}/register`, program("register", register));
  if (options.revocation !== false) endpoints.set(`${path}/revoke`, program("revoke", revoke));
  return endpoints;
}

/** Handles a request. Never rejects. */
export async function route(core: IssuerCore, endpoint: Endpoint, request: Request): Promise<Response> {
  if (endpoint.api && request.method === "OPTIONS") return preflight(endpoint);
  const response = await answer(core, endpoint, request);
  return endpoint.api ? forEveryOrigin(response) : response;
}

async function answer(core: IssuerCore, endpoint: Endpoint, request: Request): Promise<Response> {
  try {
    assertMethod(endpoint, request);
    await assertWithinLimit(core, endpoint, request);
    const response = await endpoint.serve(core, request);
    return request.method === "HEAD" ? new Response(null, response) : response;
  } catch (error) {
    const problem = toProblem(core, error);
    return endpoint.api ? jsonProblem(problem) : await errorPage(core.name, problem);
  }
}

function jsonProblem(problem: OAuthProblem): Response {
  return json(problem.status, problem, { ...NOT_STORED, ...problem.headers });
}

function assertMethod({ methods }: Endpoint, { method }: Request): void {
  if (methods.includes(method)) return;
  const allow = methods.join(", ");
  throw new OAuthProblem("invalid_request", `the method must be ${allow}, got ${method}`, {
    status: 405,
    headers: { allow },
  });
}

async function assertWithinLimit(core: IssuerCore, { name, limited }: Endpoint, request: Request): Promise<void> {
  const seconds = limited ? await core.rateLimit?.(name as LimitedEndpoint, request) : undefined;
  if (seconds === undefined || seconds <= 0) return;
  const headers = { "retry-after": String(Math.ceil(seconds)) };
  throw new OAuthProblem("temporarily_unavailable", "too many requests; try again later", { status: 429, headers });
}

function preflight({ methods }: Endpoint): Response {
  return new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": "*",
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": "authorization, content-type, dpop, mcp-protocol-version",
      "access-control-max-age": "86400",
    },
  });
}

/** Allows any origin. API endpoints ignore cookies, so a page of another origin gains nothing by it. */
function forEveryOrigin(response: Response): Response {
  response.headers.set("access-control-allow-origin", "*");
  response.headers.set("access-control-expose-headers", "www-authenticate, dpop-nonce, retry-after");
  return response;
}
