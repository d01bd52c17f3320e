import { coversServer, normalizeResource, resourceIdentifier } from "../../auth/resource.js";
import type { AuthFacts, IssuerFacts, RefusalFacts, TokenFacts, Tried } from "../auth-facts.js";
import type { Problem, Rule } from "../rule.js";
import { list, quoted } from "./words.js";

/** Rules of servers that ask for tokens. */
export const AUTH: readonly Rule[] = [
  {
    id: "auth/challenge",
    finds: "401 without a challenge, or without the address of the metadata",
    remedy: 'Send WWW-Authenticate: Bearer resource_metadata="<URL of the metadata>" with each 401.',
    needs: ["url"],
    requirement: "hosting:auth:missing-401",
    check: ({ auth }) => auth?.refused && challengeProblems(auth.refused),
  },
  {
    id: "auth/metadata",
    finds: "metadata that is missing, for another resource, or at a private address",
    remedy:
      "Publish the metadata of the resource, with resource and authorization_servers, and that of each authorization server.",
    needs: ["url"],
    requirement: "hosting:auth:metadata-endpoints",
    check: ({ auth }) => auth?.refused && metadataProblems(auth.url, auth.refused),
  },
  {
    id: "auth/issuer",
    finds: "an authorization server whose metadata names another issuer",
    remedy: "Write the issuer in authorization_servers exactly as the authorization server publishes it.",
    needs: ["url"],
    requirement: "hosting:auth:as:metadata:issuer-verbatim",
    check: ({ auth }) => issuerProblems(auth, issuerProblem),
  },
  {
    id: "auth/pkce",
    finds: "an authorization server that does not offer PKCE with S256, so that clients must refuse it",
    remedy: 'List "S256" in code_challenge_methods_supported of the authorization server.',
    needs: ["url"],
    requirement: "hosting:auth:as:metadata:pkce",
    check: ({ auth }) => issuerProblems(auth, pkceProblem),
  },
  {
    id: "auth/registration",
    finds: "an authorization server with which no client can register by itself",
    remedy:
      "Support client ID metadata documents, or dynamic registration; or tell users which client id to configure.",
    needs: ["url"],
    check: ({ auth }) => issuerProblems(auth, registrationProblem),
  },
  {
    id: "auth/token",
    finds: "a token for another server, that has expired, lacks scopes, or is bound to a key",
    remedy: "Get a token for this server: name it as the resource of the authorization request.",
    needs: ["url"],
    requirement: "hosting:auth:aud-validation",
    check: ({ auth }) => (auth?.token === undefined ? undefined : tokenProblems(auth, auth.token)),
  },
];

type Problems = readonly Problem[] | undefined;

function challengeProblems({ heard, challenge, resource }: RefusalFacts): Problems {
  const { lines } = heard;
  if (challenge === undefined) {
    const header = heard.headers.get("www-authenticate");
    const text = header === null ? "401 has no WWW-Authenticate" : `401 has no Bearer challenge, but ${quoted(header)}`;
    return [{ level: "error", place: "401", text: `${text}: clients do not learn how to get a token`, lines }];
  }
  if (challenge.resourceMetadata !== undefined) return [];
  const text = "the challenge has no resource_metadata: clients have to guess the address of the metadata";
  const requirement = "hosting:auth:challenge:resource-metadata";
  return [{ level: resource === undefined ? "warning" : "note", place: "401", text, lines, requirement }];
}

/** Tells what each request for a document yielded. */
function attempts(tried: readonly Tried[]): string {
  return tried.map(({ url, problem = "found", ms }) => `${url}: ${problem} (${Math.round(ms)} ms)`).join("; ");
}

function metadataProblems(url: URL, { tried, resource, issuers, heard }: RefusalFacts): Problems {
  const lines = [...heard.lines, ...tried.flatMap((one) => one.lines)];
  const unsafe = [...tried, ...issuers.flatMap((issuer) => issuer.tried)].find(({ isRefused }) => isRefused);
  if (unsafe !== undefined) {
    const text = `the metadata names an address that clients do not request: ${unsafe.problem}`;
    return [
      { level: "error", place: unsafe.url, text, lines, remedy: "Name addresses that are public and use https." },
    ];
  }
  if (resource === undefined) {
    const isOld = issuers.some(({ metadata }) => metadata !== undefined);
    const text = `there is no metadata of the resource: ${attempts(tried)}`;
    return [{ level: isOld ? "warning" : "error", place: url.href, text, lines }];
  }
  const { at, resource: named } = resource;
  if (typeof named !== "string" || !coversServer(named, url)) {
    const text = `the metadata is for ${quoted(String(named))}, not for ${resourceIdentifier(url)}: clients refuse it`;
    return [{ level: "error", place: at, text, lines: resource.lines }];
  }
  if (issuers.length === 0) {
    const text = "authorization_servers has no valid issuer";
    const requirement = "hosting:auth:prm:authorization-servers-field";
    return [{ level: "error", place: at, text, lines: resource.lines, requirement }];
  }
  return issuers
    .filter(({ metadata }) => metadata === undefined)
    .map((issuer) => ({
      level: "error",
      place: issuer.named,
      text: `there is no metadata of the authorization server: ${attempts(issuer.tried)}`,
      lines: issuer.lines,
    }));
}

type Metadata = NonNullable<IssuerFacts["metadata"]>;

/** Applies a rule to each authorization server whose metadata is known. */
function issuerProblems(
  auth: AuthFacts | undefined,
  find: (metadata: Metadata, issuer: IssuerFacts) => Pick<Problem, "level" | "text" | "remedy"> | undefined,
): Problems {
  const known = auth?.refused?.issuers.filter(({ metadata }) => metadata !== undefined) ?? [];
  if (known.length === 0) return undefined;
  return known.flatMap((issuer) => {
    const problem = find(issuer.metadata!, issuer);
    return problem === undefined ? [] : [{ ...problem, place: issuer.named, lines: issuer.lines }];
  });
}

function issuerProblem(
  { issuer }: Metadata,
  { named }: IssuerFacts,
): Pick<Problem, "level" | "text" | "remedy"> | undefined {
  // A bare origin may be written with a slash.
  if (issuer === named || issuer === `${named}/`) return undefined;
  const text = `the server names the issuer ${quoted(named)}, but its metadata ${quoted(String(issuer))}: clients refuse it`;
  const pin = JSON.stringify({ [named]: issuer });
  const remedy = `Write the same issuer in both. Until then, Bowline's clients accept the pair with oauth({ allowIssuerMismatch: ${pin} }).`;
  return { level: "error", text, remedy };
}

function pkceProblem({
  code_challenge_methods_supported: methods,
}: Metadata): Pick<Problem, "level" | "text"> | undefined {
  if (Array.isArray(methods) && methods.includes("S256")) return undefined;
  const offered = Array.isArray(methods)
    ? `offers ${list(methods.map(String))}, not S256`
    : "does not say that it offers PKCE";
  return { level: "error", text: `the authorization server ${offered}` };
}

function registrationProblem(metadata: Metadata): Pick<Problem, "level" | "text"> | undefined {
  const { registration_endpoint: endpoint, client_id_metadata_document_supported: documents } = metadata;
  if (typeof endpoint === "string" || documents === true) return undefined;
  const text =
    "supports neither metadata documents of clients nor registration: each user needs a client id from its operator";
  return { level: "warning", text: `the authorization server ${text}` };
}

/** Time that is too short to begin with. */
const SOON_SECONDS = 60;

function tokenProblems({ url, refused }: AuthFacts, { scheme, claims, secondsLeft, isAccepted }: TokenFacts): Problems {
  const problem = (text: string, remedy?: string): Problem => ({
    level: isAccepted ? "warning" : "error",
    place: "Authorization",
    text,
    lines: [],
    ...(remedy !== undefined && { remedy }),
  });
  const { aud, cnf } = claims;
  const audiences = (Array.isArray(aud) ? aud : aud === undefined ? [] : [aud]).map(String);
  const resource = normalizeResource(refused?.resource?.resource);
  const isMeant = (one: string) =>
    coversServer(one, url) || (resource !== undefined && normalizeResource(one) === resource);
  const accepted = isAccepted ? ", and the server accepts it nevertheless" : "";
  const problems: Problem[] = [];
  if (audiences.length === 0) problems.push(problem(`the token names no audience${accepted}`));
  else if (!audiences.some(isMeant))
    problems.push(
      problem(`the token is for ${list(audiences.map((one) => quoted(one)))}, not for this server${accepted}`),
    );
  if (secondsLeft !== undefined && secondsLeft < SOON_SECONDS) {
    const when =
      secondsLeft < 0 ? `has expired ${Math.ceil(-secondsLeft)} s ago` : `expires in ${Math.floor(secondsLeft)} s`;
    problems.push(problem(`the token ${when}`, "Get a new token."));
  }
  const lacking = wantedScopes(refused).filter((scope) => !scopesOf(claims).includes(scope));
  if (lacking.length > 0)
    problems.push(problem(`the token lacks the scopes ${list(lacking)}`, "Ask for these scopes with the next token."));
  const isBound = typeof (cnf as { readonly jkt?: unknown } | null | undefined)?.jkt === "string";
  if (isBound && scheme === "bearer") {
    const remedy = "Use a client that sends DPoP proofs, or get a token without binding.";
    problems.push(problem("the token is bound to a key (DPoP), but is sent as Bearer", remedy));
  }
  return problems;
}

function wantedScopes(refused: RefusalFacts | undefined): readonly string[] {
  return refused?.challenge?.scope?.split(/\s+/).filter(Boolean) ?? [];
}

/** Returns the scopes of a token. Some issuers write them as a list, or under a name of their own. */
function scopesOf({ scope, scp }: TokenFacts["claims"]): readonly string[] {
  return [scope, scp].flat().flatMap((one) => (typeof one === "string" ? one.split(/\s+/) : []));
}
