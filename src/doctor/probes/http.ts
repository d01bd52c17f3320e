import { isLoopback } from "../../auth/addresses.js";
import { timeOfDay } from "../../call/clock.js";
import { type Asked, Exchanges, programsOf, type Recorded, recordedPosts, type Sample } from "../exchanges.js";
import type { CallStream, CorsFacts, Heard, HttpFacts, LimitFacts, MalformedFacts, ReachFacts } from "../http-facts.js";
import type { Network } from "../network.js";
import type { Session } from "../session.js";
import type { OpenEra } from "./eras.js";
import { observeIdle } from "./idle.js";
import { type Traffic, trafficOf } from "./sample.js";

const SESSION = "mcp-session-id";
/** Names that belong to nobody (RFC 2606). */
const FOREIGN_HOST = "rebound.example";
const FOREIGN_ORIGIN = "https://page.example";
const LARGE_BYTES = 5 * 1024 * 1024;
const DEEP_LEVELS = 100_000;
/** Paths at which servers often are. */
const USUAL_PATHS = ["/mcp", "/", "/api/mcp", "/v1/mcp"];
const DAY_MS = 86_400_000;

/** What the probes of a URL share. */
interface Probe extends Traffic {
  readonly session: Session;
  readonly network: Network;
  readonly url: URL;
  readonly http: Exchanges;
}

/** Sends requests that clients do not send, and some that pages of other sites could send. */
export async function probeHttp(session: Session, eras: readonly OpenEra[]): Promise<HttpFacts | undefined> {
  const { url, network } = session.subject;
  if (url === undefined || network === undefined) return undefined;
  const traffic = trafficOf(eras, url);
  if (traffic === undefined) return undefined;
  const { isSpoken } = traffic;
  const probe = { session, network, url, http: new Exchanges(session, network), ...traffic };
  const reach = await probeReach(probe);
  // The older transport has its messages elsewhere. Nothing else applies to it, or to a URL without a server.
  const isPlain = isSpoken && !eras.some(({ facts }) => facts.isSse);
  const isGuarded = reach.opening?.status === 401;
  const facts = {
    ...(isPlain || isGuarded ? await probeAccess(probe) : {}),
    ...(isPlain ? await probeMessages(probe) : {}),
  };
  return { reach, ...facts, throttled: throttledIn(session) };
}

async function probeReach({ session, network, http, url, sample, isSpoken }: Probe): Promise<ReachFacts> {
  const certificateDays = await daysOf(session, network, url);
  const certificate = certificateDays === undefined ? undefined : { certificateDays };
  if (isSpoken) return { url, isSpoken, ...certificate };
  const opening = await http.ask(sample);
  const isMissing = opening.status === 404 || opening.status === 405;
  const elsewhere = isMissing ? await placeOf(http, url, sample) : undefined;
  return { url, isSpoken, opening, ...(elsewhere && { elsewhere }), ...certificate };
}

async function daysOf({ subject }: Session, { certificateEnd }: Network, url: URL): Promise<number | undefined> {
  if (url.protocol !== "https:") return undefined;
  const end = await certificateEnd?.(url, subject.signal ?? new AbortController().signal);
  return end === undefined ? undefined : (end - timeOfDay(subject.clock)) / DAY_MS;
}

/** Returns the address of the same host at which a server answers. */
async function placeOf(http: Exchanges, url: URL, sample: Sample): Promise<string | undefined> {
  for (const path of USUAL_PATHS) {
    const place = new URL(path, url);
    if (place.pathname === url.pathname) continue;
    const heard = await http.ask({ ...sample, url: place });
    if (heard.message !== undefined || heard.status === 401) return place.href;
  }
  return undefined;
}

/** Asks who may send requests. */
async function probeAccess(probe: Probe): Promise<Pick<HttpFacts, "foreignHost" | "foreignOrigin" | "cors">> {
  const { http, network, url, sample } = probe;
  const with_ = (headers: Record<string, string>): Asked => ({ ...sample, headers: { ...sample.headers, ...headers } });
  // Elsewhere a foreign name says nothing: a page cannot rebind its name to a machine that the browser reaches anyway.
  const host = isLoopback(url.hostname) ? await http.ask(with_({ host: FOREIGN_HOST }), network.raw) : undefined;
  const foreignOrigin = await http.ask(with_({ origin: FOREIGN_ORIGIN }));
  return { ...(host && { foreignHost: host }), foreignOrigin, cors: await probeCors(probe) };
}

async function probeCors({ http, url, sample, posts, isSpoken }: Probe): Promise<CorsFacts> {
  const { origin } = url;
  // Which headers a server needs that serves no client is not known.
  const names = isSpoken ? posts.flatMap(({ asked }) => Object.keys(asked.headers)) : ["content-type"];
  const sent = [...new Set([...names.filter((name) => /^(mcp-|content-type$)/.test(name)), "authorization"])];
  if (sent.includes("mcp-method")) sent.push("mcp-name");
  const { authorization: _, ...headers } = sample.headers;
  const preflight = await http.ask({
    method: "OPTIONS",
    url,
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": sent.sort().join(","),
    },
  });
  // Without a token, so that a challenge is seen if there is one.
  const post = await http.ask({ ...sample, headers: { ...headers, origin } });
  const read = [
    ...(posts.some((one) => SESSION in one.headers) ? [SESSION] : []),
    ...(post.headers.has("www-authenticate") ? ["www-authenticate"] : []),
  ];
  return { preflight, post, sent, read };
}

/** Asks how the server treats messages that it cannot serve. */
async function probeMessages(probe: Probe): Promise<Omit<HttpFacts, "reach" | "throttled">> {
  const { session, posts, http } = probe;
  const unknownSession = await probeSession(posts, http);
  const malformed = await probeMalformed(probe);
  const limits = await probeLimits(probe);
  const streams = session.subject.trial === undefined ? undefined : callStreams(probe);
  const idle = session.subject.slow ? await observeIdle(session, probe.network, posts) : undefined;
  return {
    malformed,
    limits,
    ...(unknownSession && { unknownSession }),
    ...(streams && { streams }),
    ...(idle && { idle }),
  };
}

async function probeSession(posts: readonly Recorded[], http: Exchanges): Promise<Heard | undefined> {
  const inside = posts.findLast(({ asked, message }) => SESSION in asked.headers && "id" in message);
  if (inside === undefined) return undefined;
  const { asked } = inside;
  return http.ask({ ...asked, headers: { ...asked.headers, [SESSION]: crypto.randomUUID() } });
}

async function probeMalformed({ http, sample }: Probe): Promise<MalformedFacts> {
  const { headers } = sample;
  return {
    json: await http.ask({ ...sample, body: sample.body.slice(0, -1) }),
    mediaType: await http.ask({ ...sample, headers: { ...headers, "content-type": "text/plain" } }),
    accept: await http.ask({ ...sample, headers: { ...headers, accept: "text/html" } }),
  };
}

async function probeLimits({ http, sample }: Probe): Promise<LimitFacts> {
  const message = JSON.parse(sample.body) as { readonly params?: object };
  const deep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"deep":${"[".repeat(DEEP_LEVELS)}${"]".repeat(DEEP_LEVELS)}}}`;
  const padding = "x".repeat(LARGE_BYTES);
  const large = JSON.stringify({ ...message, params: { ...message.params, padding } });
  const bytes = new TextEncoder();
  return {
    large: await http.ask({ ...sample, body: bytes.encode(large) }),
    deep: await http.ask({ ...sample, body: bytes.encode(deep) }),
    batch: await http.ask({ ...sample, body: `[${sample.body},${sample.body}]` }),
    after: await http.ask(sample),
  };
}

/** Returns the event streams of the tool calls. */
function callStreams({ session, url }: Probe): readonly CallStream[] {
  const calls = recordedPosts(session.log.events, url).filter(({ message }) => message.method === "tools/call");
  return calls.flatMap(({ message, headers, frames, t, line }) => {
    const first = frames[0];
    const answer = frames.find((frame) => frame.message.id === message.id);
    const isStream = headers["content-type"]?.startsWith("text/event-stream") === true;
    if (!isStream || first === undefined || answer === undefined) return [];
    return [
      {
        messages: frames.filter((frame) => typeof frame.message.method === "string").length,
        waitMs: (first.t - t) / 1000,
        spreadMs: (answer.t - first.t) / 1000,
        encoding: headers["content-encoding"],
        by: programsOf(headers),
        lines: [line, first.line, answer.line],
      },
    ];
  });
}

/** Finds all responses of the server that refuse for a while. */
function throttledIn({ log, subject: { url } }: Session): HttpFacts["throttled"] {
  const own = new Set<number>();
  return log.events.flatMap(({ event, line }) => {
    // The path of a request to another origin is its URL.
    if (event.k === "request" && new URL(event.path, url).origin === url?.origin) own.add(event.x);
    if (event.k !== "response" || !own.has(event.x) || (event.status !== 429 && event.status !== 503)) return [];
    return [{ status: event.status, retryAfter: event.headers["retry-after"], line }];
  });
}
