import type { CatalogueFacts, EraFacts, Facts, Listing, TrialFacts } from "#src/doctor/facts.js";
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
    ...more,
  };
}

/** Facts in which the newest era has other tools. */
export function withTools(tools: readonly object[], more: Partial<Facts> = {}): Facts {
  return facts({
    eras: eras({ catalogue: catalogue({ tools: listing("tools/list", tools as readonly Tool[]) }) }),
    ...more,
  });
}
