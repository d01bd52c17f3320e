import { isPrivate } from "../../auth/addresses.js";
import { isIssuer, metadataCandidates } from "../../auth/authorization-server.js";
import { tokenChallengeOf } from "../../auth/client/challenge.js";
import { resourceCandidates } from "../../auth/client/discover.js";
import { type AuthRun, OAuthHttp } from "../../auth/http.js";
import { timeOfDay } from "../../call/clock.js";
import type { AuthStep } from "../../protocol/auth-error.js";
import { isObject } from "../../protocol/json.js";
import { messageOf } from "../../protocol/text.js";
import type { AuthFacts, IssuerFacts, RefusalFacts, ResourceFacts, TokenFacts, Tried } from "../auth-facts.js";
import { Exchanges } from "../exchanges.js";
import type { Network } from "../network.js";
import type { Session } from "../session.js";
import type { OpenEra } from "./eras.js";
import { trafficOf } from "./sample.js";

/** Most authorization servers of a resource that are asked. */
const MAX_ISSUERS = 3;

type Json = Readonly<Record<string, unknown>>;

/** Asks without a token, and looks for the metadata as clients do. Registers and logs in nowhere. */
export async function probeAuth(session: Session, eras: readonly OpenEra[]): Promise<AuthFacts | undefined> {
  const { url, network } = session.subject;
  const traffic = url && trafficOf(eras, url);
  if (url === undefined || network === undefined || traffic === undefined) return undefined;
  const { authorization, ...headers } = traffic.sample.headers;
  const token = authorization === undefined ? undefined : tokenOf(authorization, traffic.isSpoken, session);
  const heard = await new Exchanges(session, network).ask({ ...traffic.sample, headers });
  if (heard.status !== 401) return { url, ...(token && { token }) };
  const challenge = tokenChallengeOf(new Response(null, { headers: heard.headers }));
  const documents = new Documents(session, network, url);
  const { tried, resource } = await findResource(documents, url, challenge?.resourceMetadata);
  // Without metadata of the resource, clients take the origin of the server for the issuer.
  const named = resource?.issuers.filter(isIssuer) ?? [url.origin];
  const issuers: IssuerFacts[] = [];
  for (const issuer of named.slice(0, MAX_ISSUERS)) issuers.push(await findIssuer(documents, issuer));
  const refused: RefusalFacts = { heard, challenge, tried, ...(resource && { resource }), issuers };
  return { url, refused, ...(token && { token }) };
}

async function findResource(
  documents: Documents,
  url: URL,
  named: string | undefined,
): Promise<{ readonly tried: readonly Tried[]; readonly resource?: ResourceFacts }> {
  const tried: Tried[] = [];
  for (const candidate of resourceCandidates(url, named)) {
    const { json, ...one } = await documents.get(candidate, "resource_metadata");
    tried.push(one);
    if (json === undefined) continue;
    const { resource, authorization_servers: issuers, scopes_supported: scopes } = json;
    return {
      tried,
      resource: { at: one.url, resource, issuers: listOf(issuers), scopes: listOf(scopes), lines: one.lines },
    };
  }
  return { tried };
}

async function findIssuer(documents: Documents, named: string): Promise<IssuerFacts> {
  const tried: Tried[] = [];
  for (const candidate of metadataCandidates(named)) {
    const { json, ...one } = await documents.get(candidate, "server_metadata");
    tried.push(one);
    if (typeof json?.issuer === "string") return { named, tried, metadata: json, lines: one.lines };
  }
  return { named, tried, lines: tried.flatMap(({ lines }) => lines) };
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/**
 * Fetches documents that the server names. Like a client, it sends neither token nor header of the user, and requests no private
 * address unless the server has one.
 */
class Documents {
  readonly #session: Session;
  readonly #network: Network;
  readonly #server: URL;

  constructor(session: Session, network: Network, server: URL) {
    this.#session = session;
    this.#network = network;
    this.#server = server;
  }

  async get(url: URL, step: AuthStep): Promise<Tried & { readonly json?: Json }> {
    const { subject, log } = this.#session;
    const allowPrivate = isPrivate(this.#server.hostname);
    const { c, fetch } = this.#session.fetch(allowPrivate ? this.#network.fetch : this.#network.guarded);
    const http = new OAuthHttp(fetch, { allowInsecure: false, allowPrivate }, {});
    const signal = subject.signal ?? new AbortController().signal;
    const run: AuthRun = { signal, tried: [], now: () => timeOfDay(subject.clock) };
    const mark = log.mark;
    const began = subject.clock.now();
    const told = () => ({
      url: url.href,
      ms: subject.clock.now() - began,
      lines: log
        .since(mark, c)
        .filter(({ event }) => event.k === "response" || event.k === "frame")
        .map(({ line }) => line),
    });
    try {
      const document = await http.getDocument(url, run, step);
      if (document.kind === "found")
        return { ...told(), status: 200, problem: undefined, isRefused: false, json: document.json };
      const { why, status } = document;
      return { ...told(), status, problem: why, isRefused: run.tried.length === 0 };
    } catch (error) {
      signal.throwIfAborted();
      const { code } = error as { readonly code?: unknown };
      return { ...told(), status: undefined, problem: messageOf(error), isRefused: code === "configuration" };
    }
  }
}

/** Reads a token, if it is a JWT. Its signature is the server's business. */
function tokenOf(authorization: string, isAccepted: boolean, { subject }: Session): TokenFacts | undefined {
  const [, scheme = "", payload] = /^(\S+) +[\w-]+\.([\w-]+)\.[\w-]+$/.exec(authorization.trim()) ?? [];
  const claims = payload === undefined ? undefined : decoded(payload);
  if (claims === undefined) return undefined;
  const { exp } = claims;
  const secondsLeft = typeof exp === "number" ? exp - timeOfDay(subject.clock) / 1000 : undefined;
  return { scheme: scheme.toLowerCase(), claims, secondsLeft, isAccepted };
}

function decoded(base64url: string): Json | undefined {
  try {
    const binary = atob(base64url.replace(/-/g, "+").replace(/_/g, "/"));
    const json: unknown = JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, (char) => char.charCodeAt(0))));
    return isObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
