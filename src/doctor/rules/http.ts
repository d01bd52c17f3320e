import type { CallStream, CorsFacts, Heard, HttpFacts, LimitFacts, MalformedFacts, ReachFacts } from "../http-facts.js";
import type { Level, Problem, Rule } from "../rule.js";
import { list, quoted } from "./words.js";

/** Rules of servers at a URL. */
export const HTTP: readonly Rule[] = [
  {
    id: "http/reach",
    finds: "a URL at which no server answers, or whose certificate ends within 14 days",
    remedy: "Check the address, and that the server runs and listens on it.",
    needs: ["url"],
    check: ({ http }) => http && reachProblems(http.reach),
  },
  {
    id: "http/host",
    finds: "a server on this machine that serves requests for another host",
    remedy: "Refuse a Host header other than localhost, 127.0.0.1 and [::1] with 403, as the SDKs can.",
    needs: ["url"],
    requirement: "hosting:http:dns-rebinding",
    check: ({ http }) =>
      served(http?.foreignHost, {
        level: "error",
        place: "Host",
        text: "a request for the host rebound.example is served: any web page can reach this server by a name that resolves to this machine",
      }),
  },
  {
    id: "http/origin",
    finds: "a server that serves pages of any site",
    remedy: "Refuse an Origin header that is not on a list of your own with 403.",
    needs: ["url"],
    requirement: "transport:streamable-http:origin-validation",
    check: ({ http }) =>
      served(http?.foreignOrigin, {
        // A page reaches what only this machine or its user may reach.
        level: http?.foreignHost === undefined ? "warning" : "error",
        place: "Origin",
        text: "a request of a page of https://page.example is served: any web page that a user visits can use this server",
      }),
  },
  {
    id: "http/cors",
    finds: "a server that allows pages, but not the headers or the preflight requests that they need",
    remedy:
      "Answer OPTIONS before authorization, allow the headers that clients send, and expose those that they read.",
    needs: ["url"],
    check: ({ http }) => http?.cors && corsProblems(http.cors),
  },
  {
    id: "http/session",
    finds: "an unknown session that is answered otherwise than with 404, so that clients cannot begin another one",
    remedy: "Answer a request whose Mcp-Session-Id is not known with 404.",
    needs: ["url"],
    requirement: "hosting:session:unknown-id",
    check: ({ http }) => {
      const heard = http?.unknownSession;
      if (heard === undefined || heard.status === 401) return undefined;
      if (heard.status === 404) return [];
      const text = `a request in an unknown session gets ${told(heard)}, not 404: clients do not learn that the session has ended`;
      return [{ level: "error", place: "Mcp-Session-Id", text, lines: heard.lines }];
    },
  },
  {
    id: "http/limits",
    finds: "large or deep bodies and batches that the server does not survive",
    remedy: "Limit the size of bodies, and refuse what is larger with 413 and a JSON-RPC error.",
    needs: ["url"],
    check: ({ http }) => http?.limits && limitProblems(http.limits),
  },
  {
    id: "http/malformed",
    finds: "malformed requests that are answered wrongly",
    remedy: "Answer what is not JSON with 400 and the JSON-RPC error -32700, and another Content-Type with 415.",
    needs: ["url"],
    requirement: "hosting:http:parse-error-400",
    check: ({ http }) => http?.malformed && malformedProblems(http.malformed),
  },
  {
    id: "http/buffered",
    finds: "events that arrive together with the result",
    remedy:
      "Send X-Accel-Buffering: no, or turn off buffering for this path (nginx: proxy_buffering off), and flush each event.",
    needs: ["url", "try"],
    requirement: "hosting:http:x-accel-buffering",
    check: ({ http }) => http && streamProblems(http, isBuffered, bufferedText),
  },
  {
    id: "http/keep-alive",
    finds: "an idle stream that is silent for 60 s, or is cut within 120 s",
    remedy: "Send a comment line every 15 to 30 s on each open stream, and raise the idle time of proxies.",
    needs: ["url", "slow"],
    requirement: "hosting:http:keepalive-comments",
    check: ({ http }) => http && idleProblems(http),
  },
  {
    id: "http/compressed",
    finds: "an event stream that is compressed without a flush after each event",
    remedy: "Leave text/event-stream out of compression, or flush after each event.",
    needs: ["url", "try"],
    check: ({ http }) => http && streamProblems(http, isCompressed, compressedText),
  },
  {
    id: "http/retry-after",
    finds: "429 or 503 without Retry-After",
    remedy: "Send Retry-After with the seconds after which the client may ask again.",
    needs: ["url"],
    check: ({ http }) => {
      if (http === undefined) return undefined;
      const bare = http.throttled.filter(({ retryAfter }) => retryAfter === undefined);
      const [first] = bare;
      if (first === undefined) return [];
      const text = `${first.status} has no Retry-After, so that clients guess when to ask again`;
      return [{ level: "warning", place: String(first.status), text, lines: bare.map(({ line }) => line) }];
    },
  },
];

type Problems = readonly Problem[] | undefined;

/** Returns the status of a response, or why there is none, as words. */
function told({ status, headers, failure }: Heard): string {
  if (failure?.isLate === true) return "no response in time";
  if (status === undefined) return `no response (${failure?.message})`;
  const type = headers.get("content-type")?.replace(/;.*/, "");
  return type === undefined ? String(status) : `${status} with ${type}`;
}

const isOk = ({ status }: Heard) => status !== undefined && status >= 200 && status < 300;

/** A problem if a request is served. What is refused for want of a token tells nothing. */
function served(heard: Heard | undefined, problem: Omit<Problem, "lines">): Problems {
  if (heard === undefined || heard.status === 401) return undefined;
  return isOk(heard) ? [{ ...problem, lines: heard.lines }] : [];
}

const EXPIRY_DAYS = 14;

/** Codes of Node for failures of a connection, and what a person does about them. */
const FAILURES: readonly (readonly [code: RegExp, what: string, remedy: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, "the host name does not resolve", "Check the host name, and the DNS of this network."],
  [
    /^ECONNREFUSED$/,
    "nothing listens at the port",
    "Start the server, and check the port and the address on which it listens.",
  ],
  [
    /^(ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT|EHOSTUNREACH|ENETUNREACH)$/,
    "the host does not answer",
    "Check firewalls, VPN and proxy (https_proxy).",
  ],
  [/^CERT_HAS_EXPIRED$/, "the certificate has ended", "Renew the certificate of the server."],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    "the certificate is for another host",
    "Use the host name of the certificate, or add this one to it.",
  ],
  [
    /^(UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|CERT_)/,
    "the certificate is not trusted",
    "Send the whole chain of the certificate, or add your own authority with NODE_EXTRA_CA_CERTS.",
  ],
  [
    /^(ERR_SSL|EPROTO)/,
    "TLS does not work at this port",
    "Use http:// if the server has no TLS, or the port that has it.",
  ],
];

function reachProblems({ url, isSpoken, opening, elsewhere, certificateDays }: ReachFacts): readonly Problem[] {
  const place = `${url.origin}${url.pathname}`;
  if (isSpoken || opening === undefined) return expiryProblems(place, certificateDays);
  const { status, failure, headers, lines } = opening;
  const problem = (text: string, remedy?: string): Problem => ({
    level: "error",
    place,
    text,
    lines,
    ...(remedy !== undefined && { remedy }),
  });
  if (status === undefined) {
    const [, what, remedy] = FAILURES.find(([code]) => code.test(failure?.code ?? "")) ?? [];
    const code = failure?.code === undefined ? "" : ` (${failure.code})`;
    return [problem(`${what ?? told(opening)}${code}`, remedy)];
  }
  // Tokens are the business of other rules.
  if (status === 401 || status === 403) return expiryProblems(place, certificateDays);
  if (status >= 300 && status < 400) {
    const to = headers.get("location") ?? "another address";
    return [
      problem(
        `redirects to ${quoted(to)}; a client does not send its messages to another address`,
        "Use the address to which it redirects.",
      ),
    ];
  }
  if (elsewhere !== undefined)
    return [problem(`${status} here, but a server answers at ${elsewhere}`, `Use ${elsewhere}.`)];
  return [problem(`no MCP server: the first request gets ${told(opening)}`)];
}

function expiryProblems(place: string, days: number | undefined): readonly Problem[] {
  if (days === undefined || days >= EXPIRY_DAYS) return [];
  const text = `the certificate ends in ${Math.max(0, Math.floor(days))} days`;
  return [{ level: "warning", place, text, remedy: "Renew the certificate of the server." }];
}

/** A server that names no origin in its responses is not for pages of other origins, which is no fault. */
function corsProblems({ preflight, post, sent, read }: CorsFacts): Problems {
  const isAllowed = ({ headers }: Heard) => headers.has("access-control-allow-origin");
  if (!isAllowed(preflight) && !isAllowed(post)) return undefined;
  const problem = (text: string, heard: Heard, requirement?: string): Problem => ({
    level: "warning",
    place: "CORS",
    text,
    lines: heard.lines,
    ...(requirement !== undefined && { requirement }),
  });
  if (preflight.status === 401)
    return [
      problem(
        "a preflight request needs a token, which browsers do not send with it",
        preflight,
        "hosting:auth:cors-expose",
      ),
    ];
  if (!isOk(preflight) || !isAllowed(preflight))
    return [problem(`responses allow pages, but a preflight request gets ${told(preflight)}`, preflight)];
  const refused = missing(sent, preflight, "access-control-allow-headers");
  const hidden = isAllowed(post) ? missing(read, post, "access-control-expose-headers") : [];
  const required = hidden.includes("mcp-session-id") ? "hosting:session:cors-expose" : "hosting:auth:cors-expose";
  return [
    ...(refused.length > 0 ? [problem(`pages may not send ${list(refused)}`, preflight)] : []),
    ...(hidden.length > 0 ? [problem(`pages may not read ${list(hidden)}`, post, required)] : []),
  ];
}

/** Returns the names that a list in a header lacks. The wildcard stands for all but Authorization. */
function missing(names: readonly string[], { headers }: Heard, header: string): readonly string[] {
  const listed = (headers.get(header) ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  const isListed = (name: string) => listed.includes(name) || (listed.includes("*") && name !== "authorization");
  return names.filter((name) => !isListed(name));
}

/** True for a response that says that the server has failed, and not that it has no time. */
const isCrash = ({ status = 0 }: Heard) => status >= 500 && status !== 503;

function limitProblems({ large, deep, batch, after }: LimitFacts): Problems {
  if (large.status === 401) return undefined;
  const cases: readonly [string, Heard, string?][] = [
    ["a body of 5 MiB", large, "hosting:http:body-limit"],
    ["JSON with 100,000 levels", deep, "hosting:http:body-hostile-json"],
    ["a batch", batch, "hosting:http:batch"],
  ];
  const problems = cases.flatMap(([place, heard, requirement]) => {
    const problem = (level: Level, text: string): Problem[] => [
      { level, place, text, lines: heard.lines, ...(requirement && { requirement }) },
    ];
    if (heard.failure?.isLate === true) return problem("error", `${place} gets no response in time`);
    if (isCrash(heard))
      return problem("error", `${place} gets ${told(heard)}: the server fails in place of refusing it`);
    // A server that ends the connection while a body arrives may have answered nevertheless.
    if (heard.status === undefined && place !== cases[0]?.[0]) return problem("error", `${place} gets ${told(heard)}`);
    const isBare =
      (heard.status ?? 0) >= 400 && heard.status !== 503 && heard.status !== 429 && heard.message === undefined;
    return isBare ? problem("note", `${place} gets ${told(heard)} without a JSON-RPC error`) : [];
  });
  const isGone = after.status === undefined || isCrash(after);
  const text = `after these requests, an ordinary one gets ${told(after)}`;
  return isGone ? [...problems, { level: "error", place: "server", text, lines: after.lines }] : problems;
}

function malformedProblems({ json, mediaType, accept }: MalformedFacts): Problems {
  if (json.status === 401) return undefined;
  const problem = (level: Level, place: string, text: string, { lines }: Heard, requirement?: string): Problem => ({
    level,
    place,
    text,
    lines,
    ...(requirement !== undefined && { requirement }),
  });
  const isFailed = (heard: Heard) => isCrash(heard) || heard.status === undefined;
  return [
    ...(isOk(json) || isFailed(json)
      ? [problem("warning", "JSON", `text that is not JSON gets ${told(json)}, not 400`, json)]
      : []),
    ...(isOk(mediaType)
      ? [
          problem(
            "warning",
            "Content-Type",
            `a request with Content-Type: text/plain is served: pages can send it without a preflight request`,
            mediaType,
            "hosting:http:content-type-415",
          ),
        ]
      : []),
    ...(isFailed(mediaType)
      ? [
          problem(
            "warning",
            "Content-Type",
            `a wrong Content-Type gets ${told(mediaType)}, not 415`,
            mediaType,
            "hosting:http:content-type-415",
          ),
        ]
      : []),
    ...(isFailed(accept)
      ? [
          problem(
            "warning",
            "Accept",
            `a wrong Accept gets ${told(accept)}, not 406`,
            accept,
            "hosting:http:accept-406",
          ),
        ]
      : []),
  ];
}

/** Time after which messages that come all at once were kept on the way. A shorter call may send them at once itself. */
const KEPT_MS = 1_000;
/** Messages of which a server sends each when it has it, and which none sends together. */
const KEPT_MESSAGES = 3;
/** Time, also as a part of that of the call, within which messages come all at once. */
const AT_ONCE_MS = 20;
const AT_ONCE = 0.05;

const isAtOnce = ({ messages, waitMs, spreadMs }: CallStream) =>
  messages >= KEPT_MESSAGES && spreadMs <= Math.min(AT_ONCE_MS, waitMs * AT_ONCE);
const isCompressed = (stream: CallStream) => stream.encoding !== undefined && isAtOnce(stream);
const isBuffered = (stream: CallStream) =>
  stream.encoding === undefined && stream.waitMs >= KEPT_MS && isAtOnce(stream);
const byOf = ({ by }: { readonly by: string | undefined }) =>
  by === undefined ? "" : ` (the headers name ${quoted(by)})`;

const bufferedText = (stream: CallStream) =>
  `${stream.messages} messages and the result arrived together after ${(stream.waitMs / 1000).toFixed(1)} s${byOf(stream)}`;
const compressedText = (stream: CallStream) =>
  `the event stream is compressed (${stream.encoding}), and ${stream.messages} messages arrived with its end only${byOf(stream)}`;

function streamProblems(
  { streams }: HttpFacts,
  isFault: (stream: CallStream) => boolean,
  text: (stream: CallStream) => string,
): Problems {
  if (streams === undefined || streams.length === 0) return undefined;
  const found = streams.find(isFault);
  return found === undefined ? [] : [{ level: "warning", place: "tools/call", text: text(found), lines: found.lines }];
}

const SILENT_MS = 60_000;
const CUT_MS = 120_000;

function idleProblems({ idle }: HttpFacts): Problems {
  if (idle === undefined || idle.length === 0) return undefined;
  return idle.flatMap(({ request: place, silenceMs, endedMs, reason, by, lines }) => {
    const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;
    if (endedMs !== undefined && endedMs < CUT_MS) {
      const how = reason === undefined ? "" : `: ${reason}`;
      return [
        {
          level: "warning" as const,
          place,
          text: `the idle stream was cut after ${seconds(endedMs)}${how}${byOf({ by })}`,
          lines,
        },
      ];
    }
    if (silenceMs < SILENT_MS) return [];
    const text = `the idle stream was silent for ${seconds(silenceMs)}: proxies cut it, and clients do not notice`;
    return [{ level: "warning" as const, place, text, lines }];
  });
}
