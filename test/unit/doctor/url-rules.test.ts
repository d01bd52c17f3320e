import type { AuthFacts } from "#src/doctor/auth-facts.js";
import type { Facts } from "#src/doctor/facts.js";
import type { HttpFacts, ReachFacts } from "#src/doctor/http-facts.js";
import { type Cases, testCases } from "./cases.js";
import { authFacts, facts, heard, httpFacts, issuedBy, MCP_URL, unheard } from "./facts.js";

const http = (more: Partial<HttpFacts>): Facts => facts({ http: httpFacts(more) });
const auth = (found: AuthFacts): Facts => facts({ auth: found });
const without = (member: keyof HttpFacts): Facts => http({ [member]: undefined });
const refused = (more: Parameters<typeof authFacts>[0]): Facts => auth(authFacts(more));
const token = (claims: object): Facts => auth(authFacts({}, claims));
const reach = (more: Partial<ReachFacts>): Facts => http({ reach: { url: MCP_URL, isSpoken: false, ...more } });

const HTML = { "content-type": "text/html; charset=utf-8" };
const NO_AUTH = facts({ auth: { url: MCP_URL } });
const cors = httpFacts().cors!;
const limits = httpFacts().limits!;
const malformed = httpFacts().malformed!;
const stream = { messages: 9, waitMs: 3_000, spreadMs: 2, encoding: undefined, by: undefined, lines: [60] };
const idle = httpFacts().idle![0]!;
const tried = authFacts().refused!.tried[0]!;
const missing = { ...tried, url: "https://mcp.example/a", status: 404, problem: "status 404" };
const unsafe = {
  ...tried,
  url: "http://10.0.0.1/",
  status: undefined,
  problem: "it is a private address",
  isRefused: true,
};

const CASES: Readonly<Record<string, Cases>> = {
  "http/reach": {
    found: [
      [
        "no such host",
        reach({ opening: unheard("ENOTFOUND") }),
        ["error", /^the host name does not resolve \(ENOTFOUND\)$/, [40]],
      ],
      ["refused", reach({ opening: unheard("ECONNREFUSED") }), ["error", /^nothing listens at the port/]],
      [
        "untrusted",
        reach({ opening: unheard("DEPTH_ZERO_SELF_SIGNED_CERT") }),
        ["error", /^the certificate is not trusted/],
      ],
      ["ended", reach({ opening: unheard("CERT_HAS_EXPIRED") }), ["error", /^the certificate has ended/]],
      [
        "another failure",
        reach({ opening: unheard("EODD") }),
        ["error", /^no response \(the connection failed\) \(EODD\)$/],
      ],
      ["late", reach({ opening: unheard(undefined, true) }), ["error", /^no response in time$/]],
      ["moved", reach({ opening: heard(308, { location: "/new" }) }), ["error", /^redirects to "\/new"/]],
      [
        "elsewhere",
        reach({ opening: heard(404), elsewhere: "https://mcp.example/" }),
        ["error", /^404 here, but .* at https:\/\/mcp\.example\/$/],
      ],
      ["a page", reach({ opening: heard(200, HTML) }), ["error", /gets 200 with text\/html$/]],
      ["ends soon", reach({ isSpoken: true, certificateDays: 13.5 }), ["warning", /^the certificate ends in 13 days$/]],
    ],
    fine: [
      ["a token is needed", reach({ opening: heard(401) })],
      ["no certificate", reach({ isSpoken: true })],
    ],
    notApplicable: facts({ http: undefined }),
  },
  "http/host": {
    found: [["served", http({ foreignHost: heard(200) }), ["error", /rebound\.example is served/, [40]]]],
    fine: [["another refusal", http({ foreignHost: heard(421) })]],
    notApplicable: without("foreignHost"),
  },
  "http/origin": {
    found: [
      ["served on this machine", http({ foreignOrigin: heard(200) }), ["error", /page\.example is served/]],
      [
        "served elsewhere",
        http({ foreignOrigin: heard(200), foreignHost: undefined }),
        ["warning", /page\.example is served/],
      ],
    ],
    // Which comes first, the token or the origin, is not known.
    notApplicable: http({ foreignOrigin: heard(401) }),
  },
  "http/cors": {
    found: [
      ["behind a token", http({ cors: { ...cors, preflight: heard(401) } }), ["warning", /needs a token/]],
      ["refused", http({ cors: { ...cors, preflight: heard(405) } }), ["warning", /a preflight request gets 405$/]],
      [
        "a header",
        http({
          cors: {
            ...cors,
            sent: ["mcp-method"],
            preflight: heard(204, { ...origin(), "access-control-allow-headers": "accept" }),
          },
        }),
        ["warning", /may not send mcp-method$/],
      ],
      [
        "the wildcard",
        http({ cors: { ...cors, preflight: heard(204, { ...origin(), "access-control-allow-headers": "*" }) } }),
        ["warning", /may not send authorization$/],
      ],
      [
        "hidden",
        http({ cors: { ...cors, post: heard(200, origin()) } }),
        ["warning", /may not read mcp-session-id, www-authenticate$/],
      ],
    ],
    notApplicable: http({ cors: { ...cors, preflight: heard(405), post: heard(200) } }),
  },
  "http/session": {
    found: [
      ["400", http({ unknownSession: heard(400) }), ["error", /gets 400, not 404/]],
      ["served", http({ unknownSession: heard(200) }), ["error", /gets 200, not 404/]],
    ],
    notApplicable: without("unknownSession"),
  },
  "http/limits": {
    found: [
      [
        "hangs",
        http({ limits: { ...limits, deep: unheard(undefined, true) } }),
        ["error", /levels gets no response in time$/],
      ],
      [
        "fails",
        http({ limits: { ...limits, batch: heard(500, HTML) } }),
        ["error", /a batch gets 500 with text\/html/],
      ],
      [
        "is gone",
        http({ limits: { ...limits, after: unheard("ECONNREFUSED") } }),
        ["error", /an ordinary one gets no response/],
      ],
      [
        "no error",
        http({ limits: { ...limits, large: heard(413, HTML, { message: undefined }) } }),
        ["note", /without a JSON-RPC error$/],
      ],
    ],
    fine: [
      ["closes while it reads", http({ limits: { ...limits, large: unheard("EPIPE") } })],
      ["has no time", http({ limits: { ...limits, large: heard(503, {}, { message: undefined }) } })],
      ["allows all", http({ limits: { ...limits, large: heard(200), batch: heard(200) } })],
    ],
    notApplicable: without("limits"),
  },
  "http/malformed": {
    found: [
      ["served", http({ malformed: { ...malformed, json: heard(200) } }), ["warning", /not JSON gets 200, not 400$/]],
      ["fails", http({ malformed: { ...malformed, json: heard(500) } }), ["warning", /not JSON gets 500, not 400$/]],
      [
        "plain text",
        http({ malformed: { ...malformed, mediaType: heard(200) } }),
        ["warning", /text\/plain is served/],
      ],
      ["a media type", http({ malformed: { ...malformed, mediaType: heard(500) } }), ["warning", /gets 500, not 415$/]],
      ["a wrong Accept", http({ malformed: { ...malformed, accept: heard(500) } }), ["warning", /gets 500, not 406$/]],
    ],
    fine: [["any Accept", http({ malformed: { ...malformed, accept: heard(200) } })]],
    notApplicable: without("malformed"),
  },
  "http/buffered": {
    found: [
      [
        "at once",
        http({ streams: [{ ...stream, by: "nginx" }] }),
        ["warning", /9 messages .* after 3\.0 s \(the headers name "nginx"\)$/, [60]],
      ],
    ],
    fine: [
      ["one by one", http({ streams: [{ ...stream, spreadMs: 200 }] })],
      ["a quick call", http({ streams: [{ ...stream, waitMs: 300 }] })],
      ["one message before the result", http({ streams: [{ ...stream, messages: 1 }] })],
    ],
    notApplicable: http({ streams: [] }),
  },
  "http/keep-alive": {
    found: [
      ["silent", http({ idle: [{ ...idle, silenceMs: 61_000 }] }), ["warning", /silent for 61 s/, [70]]],
      [
        "cut",
        http({ idle: [{ ...idle, endedMs: 30_000, reason: "terminated" }] }),
        ["warning", /cut after 30 s: terminated \(.*"nginx"\)$/],
      ],
    ],
    notApplicable: http({ idle: [] }),
  },
  "http/compressed": {
    found: [
      [
        "without flushes",
        http({ streams: [{ ...stream, encoding: "br" }] }),
        ["warning", /compressed \(br\), and 9 messages/],
      ],
    ],
    notApplicable: without("streams"),
  },
  "http/retry-after": {
    found: [
      [
        "bare",
        http({ throttled: [{ status: 503, retryAfter: undefined, line: 50 }] }),
        ["warning", /^503 has no Retry-After/, [50]],
      ],
    ],
    fine: [["never throttled", http({ throttled: [] })]],
    notApplicable: facts({ http: undefined }),
  },
  "auth/challenge": {
    found: [
      ["none", refused({ challenge: undefined, heard: heard(401) }), ["error", /^401 has no WWW-Authenticate/, [40]]],
      [
        "another scheme",
        refused({ challenge: undefined, heard: heard(401, { "www-authenticate": "Basic" }) }),
        ["error", /no Bearer challenge, but "Basic"/],
      ],
      ["no address", refused({ challenge: unnamed() }), ["note", /no resource_metadata/]],
      [
        "no metadata either",
        refused({ challenge: unnamed(), resource: undefined }),
        ["warning", /no resource_metadata/],
      ],
    ],
    notApplicable: NO_AUTH,
  },
  "auth/metadata": {
    found: [
      [
        "missing",
        refused({ resource: undefined, tried: [missing], issuers: [] }),
        ["error", /https:\/\/mcp\.example\/a: status 404 \(3 ms\)$/],
      ],
      [
        "of an old version",
        refused({ resource: undefined, tried: [missing] }),
        ["warning", /no metadata of the resource/],
      ],
      [
        "of another",
        refused({ resource: { ...resource(), resource: "https://other.example" } }),
        ["error", /is for "https:\/\/other\.example"/],
      ],
      ["private", refused({ tried: [unsafe, tried] }), ["error", /it is a private address$/]],
      ["names nobody", refused({ issuers: [] }), ["error", /no valid issuer/]],
      [
        "of nobody",
        refused({ issuers: [{ named: "https://login.example", tried: [missing], lines: [81] }] }),
        ["error", /authorization server: .*status 404/, [81]],
      ],
    ],
    notApplicable: NO_AUTH,
  },
  "auth/issuer": {
    found: [
      [
        "another",
        auth(issuedBy({ issuer: "https://login.example/v2" })),
        ["error", /names the issuer "https:\/\/login\.example", but .*v2"/, [81]],
      ],
    ],
    fine: [["a slash", auth(issuedBy({ issuer: "https://login.example/" }))]],
    notApplicable: refused({ issuers: [] }),
  },
  "auth/pkce": {
    found: [
      ["plain", auth(issuedBy({ code_challenge_methods_supported: ["plain"] })), ["error", /offers plain, not S256$/]],
      [
        "unsaid",
        auth(issuedBy({ code_challenge_methods_supported: undefined })),
        ["error", /does not say that it offers PKCE$/],
      ],
    ],
    notApplicable: NO_AUTH,
  },
  "auth/registration": {
    found: [
      [
        "neither",
        auth(issuedBy({ registration_endpoint: undefined })),
        ["warning", /neither metadata documents of clients nor registration/],
      ],
    ],
    fine: [
      ["documents", auth(issuedBy({ registration_endpoint: undefined, client_id_metadata_document_supported: true }))],
    ],
    notApplicable: NO_AUTH,
  },
  "auth/token": {
    found: [
      [
        "for another",
        token({ aud: ["https://other.example"] }),
        ["warning", /is for "https:\/\/other\.example", not for this server, and .* nevertheless$/],
      ],
      ["for nobody", token({ aud: undefined }), ["warning", /names no audience/]],
      ["scopes", token({ scope: "write" }), ["warning", /lacks the scopes read$/]],
      ["bound", token({ cnf: { jkt: "x" } }), ["warning", /bound to a key/]],
      ["expired", auth(expiring(-5, false)), ["error", /has expired 5 s ago$/]],
      ["expires", auth(expiring(20, true)), ["warning", /expires in 20 s$/]],
    ],
    fine: [
      ["a parent as audience", token({ aud: ["x", "https://mcp.example"] })],
      ["scopes as a list", token({ scope: undefined, scp: ["read"] })],
    ],
    notApplicable: NO_AUTH,
  },
};

function origin(): Record<string, string> {
  return { "access-control-allow-origin": "https://mcp.example" };
}

function resource() {
  return authFacts().refused!.resource!;
}

function unnamed() {
  return { ...authFacts().refused!.challenge!, resourceMetadata: undefined };
}

function expiring(secondsLeft: number, isAccepted: boolean): AuthFacts {
  const found = authFacts();
  return { ...found, token: { ...found.token!, secondsLeft, isAccepted } };
}

testCases(CASES);
