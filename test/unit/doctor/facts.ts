import type { AuthFacts, RefusalFacts } from "#src/doctor/auth-facts.js";
import type { CatalogueFacts, EraFacts, Facts, Listing, TrialFacts } from "#src/doctor/facts.js";
import type { Heard, HttpFacts } from "#src/doctor/http-facts.js";
import { SPOKEN_ERAS } from "#src/era/spoken.js";
import type { Tool } from "#src/protocol/types/index.js";

/** A time of day at which no evidence is old. */
export const NOW = Date.UTC(2026, 10, 20);

export const MOOR: Tool = {
  name: "moor",
  description: "Bring a ship to a berth",
  inputSchema: { type: "object", properties: { ship: { type: "string", description: "Name of the ship" } } },
  annotations: { destructiveHint: false, idempotentHint: true },
};

export function listing<T>(method: string, items: readonly T[], more: Partial<Listing<T>> = {}): Listing<T> {
  return { method, items, lines: [7], pages: [{ resultType: "complete", ttlMs: 0, cacheScope: "private" }], ...more };
}

export function catalogue(more: Partial<CatalogueFacts> = {}): CatalogueFacts {
  return {
    tools: listing("tools/list", [MOOR]),
    prompts: listing("prompts/list", []),
    resources: listing("resources/list", []),
    resourceTemplates: listing("resources/templates/list", []),
    ...more,
  };
}

/** Facts about a healthy server in both eras. `more` changes the newest. */
export function eras(more: Partial<EraFacts> = {}): readonly EraFacts[] {
  return SPOKEN_ERAS.map(({ name, versions, opening }, index) => ({
    era: name,
    versions,
    opening,
    outcome: "spoken" as const,
    version: versions[0],
    line: 3,
    server: { name: "harbour", version: "1.0.0", instructions: "Moor ships." },
    capabilities: { tools: {} },
    isSse: false,
    catalogue: catalogue(),
    errors: [{ of: "method", outcome: "error", code: -32601, line: 9 }],
    ...(opening !== "initialize" && {
      unknownVersion: { outcome: "error", code: -32022, named: versions, line: 10 },
      contradiction: { outcome: "error", code: -32020, status: 400, line: 11 },
    }),
    ...(index === SPOKEN_ERAS.length - 1 && more),
  }));
}

export const HEALTHY_CALL: TrialFacts["call"] = {
  ms: 500,
  line: 20,
  result: { content: [] },
  silenceMs: 200,
  token: 4,
  progress: [
    { token: 4, progress: 1, line: 18 },
    { token: 4, progress: 2, line: 19 },
  ],
};

/** Facts about a healthy server, all of which are known. */
export function facts(more: Partial<Facts> = {}): Facts {
  return {
    wire: "stdio",
    scope: { now: NOW },
    start: { firstAnswerMs: 150, line: 3 },
    eras: eras(),
    processes: SPOKEN_ERAS.map(({ name }) => ({
      era: name,
      noise: [],
      stderrBytes: 10,
      line: 30,
      end: { ms: 20, waitedMs: 2000, code: 0, signal: null, asking: [], orphans: [] },
    })),
    trial: {
      tool: {
        ...MOOR,
        outputSchema: { type: "object", properties: { lines: { type: "number" } }, required: ["lines"] },
      },
      call: { ...HEALTHY_CALL, result: { content: [], structuredContent: { lines: 4 } } },
      cancelled: { answers: [], progress: [], isResponsive: true },
    },
    drain: { answered: true, ms: 120, code: 0, signal: null, dropped: 0 },
    hosts: { problems: [], servers: [] },
    http: httpFacts(),
    auth: authFacts(),
    ...more,
  };
}

export const MCP_URL = new URL("https://mcp.example/mcp");

/** A response to a single request. */
export function heard(
  status: number | undefined,
  headers: Readonly<Record<string, string>> = {},
  more: Partial<Heard> = {},
): Heard {
  const message = { jsonrpc: "2.0", id: 1, result: {} };
  return { status, headers: new Headers(headers), text: "", message, failure: undefined, lines: [40], ...more };
}

/** No response, for a reason as Node tells it. */
export function unheard(code: string | undefined, isLate = false): Heard {
  const failure = { isLate, code, message: "the connection failed" };
  return heard(undefined, {}, { message: undefined, failure });
}

const CORS = { "access-control-allow-origin": "https://mcp.example" };

/** What single requests find out about a healthy server. */
export function httpFacts(more: Partial<HttpFacts> = {}): HttpFacts {
  const allowed = { ...CORS, "access-control-allow-headers": "*, authorization" };
  const exposed = { ...CORS, "access-control-expose-headers": "mcp-session-id, www-authenticate" };
  return {
    reach: { url: MCP_URL, isSpoken: true, certificateDays: 80 },
    throttled: [{ status: 429, retryAfter: "3", line: 50 }],
    foreignHost: heard(403),
    foreignOrigin: heard(403),
    cors: {
      preflight: heard(204, allowed),
      post: heard(200, exposed),
      sent: ["authorization", "content-type", "mcp-session-id"],
      read: ["mcp-session-id", "www-authenticate"],
    },
    unknownSession: heard(404),
    limits: { large: heard(413), deep: heard(400), batch: heard(400), after: heard(200) },
    malformed: { json: heard(400), mediaType: heard(415), accept: heard(406) },
    streams: [{ messages: 9, waitMs: 3_000, spreadMs: 400, encoding: "gzip", by: undefined, lines: [60] }],
    idle: [{ request: "GET", silenceMs: 15_000, endedMs: undefined, reason: undefined, by: "nginx", lines: [70] }],
    ...more,
  };
}

/** How a healthy server asks for a token. `more` changes its refusal. */
export function authFacts(more: Partial<RefusalFacts> = {}, claims: object = {}): AuthFacts {
  const resource = MCP_URL.href;
  const issuer = "https://login.example";
  const tried = {
    url: "https://mcp.example/.well-known",
    status: 200,
    problem: undefined,
    isRefused: false,
    ms: 3,
    lines: [80],
  };
  return {
    url: MCP_URL,
    refused: {
      heard: heard(401, { "www-authenticate": "Bearer" }),
      challenge: {
        scheme: "bearer",
        resourceMetadata: tried.url,
        scope: "read",
        error: undefined,
        description: undefined,
      },
      tried: [tried],
      resource: { at: tried.url, resource, issuers: [issuer], scopes: [], lines: [80] },
      issuers: [{ named: issuer, tried: [tried], metadata: METADATA, lines: [81] }],
      ...more,
    },
    token: {
      scheme: "bearer",
      claims: { aud: resource, scope: "read write", ...claims },
      secondsLeft: 3_600,
      isAccepted: true,
    },
  };
}

const METADATA = {
  issuer: "https://login.example",
  code_challenge_methods_supported: ["S256"],
  registration_endpoint: "https://login.example/register",
};

/** How a healthy server asks for a token, with other metadata of its authorization server. */
export function issuedBy(metadata: object): AuthFacts {
  const [issuer] = authFacts().refused!.issuers;
  return authFacts({ issuers: [{ ...issuer!, metadata: { ...METADATA, ...metadata } }] });
}

/** Facts in which the newest era has other tools. */
export function withTools(tools: readonly object[], more: Partial<Facts> = {}): Facts {
  return facts({
    eras: eras({ catalogue: catalogue({ tools: listing("tools/list", tools as readonly Tool[]) }) }),
    ...more,
  });
}
