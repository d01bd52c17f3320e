import type { CatalogueFacts, EraFacts, Facts, Listing } from "../facts.js";
import type { Problem, Rule } from "../rule.js";
import { counted, exchangeLines, linesOf, list } from "./words.js";

/** Returns the eras that the server speaks, oldest first. */
export function spokenEras({ eras }: Facts): readonly EraFacts[] {
  return eras?.filter(({ outcome }) => outcome === "spoken") ?? [];
}

/** Returns the newest era that the server speaks, with what it lists. Undefined if none could be read. */
export function newest(facts: Facts): (EraFacts & { readonly catalogue: CatalogueFacts }) | undefined {
  const era = spokenEras(facts).at(-1);
  return era?.catalogue === undefined ? undefined : { ...era, catalogue: era.catalogue };
}

/** Rules of protocol versions. */
export const ERA: readonly Rule[] = [
  {
    id: "era/versions",
    finds: "a server that hosts of other versions cannot use, or a deprecated transport",
    remedy: "Serve all versions: an SDK that speaks both eras does so with the same definition.",
    needs: [],
    check: (facts) => {
      const spoken = spokenEras(facts);
      if (facts.eras === undefined || spoken.length === 0) return undefined;
      const others = facts.eras.filter(({ outcome }) => outcome !== "spoken");
      const only = others.map(({ versions, line }): Problem => {
        const names = list(spoken.map(({ version }) => version ?? "an unknown version"));
        const text = `the server speaks ${names}; a host of ${versions[0]} alone cannot use it`;
        return { level: "note", place: "versions", text, lines: linesOf(line) };
      });
      const sse = spoken
        .filter(({ isSse }) => isSse === true)
        .map(
          ({ line }): Problem => ({
            level: "warning",
            place: "transport",
            text: "the server speaks the deprecated transport HTTP+SSE alone, which newer hosts leave out",
            remedy: "Serve Streamable HTTP, beside HTTP+SSE if old hosts need it.",
            lines: linesOf(line),
          }),
        );
      return [...sse, ...only];
    },
  },
  {
    id: "era/probe",
    finds: "a server that ends, or is silent, at the request by which newer hosts find out what it speaks",
    remedy: "Answer unknown requests with the error -32601, also before the handshake.",
    needs: [],
    requirement: "protocol:error:method-not-found",
    check: ({ eras }) => {
      const probed = eras?.find(({ opening }) => opening !== "initialize");
      const isAlive = eras?.some(({ outcome }) => outcome === "spoken" || outcome === "refused") === true;
      if (probed === undefined || !isAlive) return undefined;
      const { outcome, opening, line } = probed;
      if (outcome !== "died" && outcome !== "silent") return [];
      const text =
        outcome === "died"
          ? `the server ends at ${opening}, by which newer hosts begin`
          : `the server does not answer ${opening}, by which newer hosts begin: each connection waits for their time limit`;
      return [{ level: outcome === "died" ? "error" : "warning", place: opening, text, lines: linesOf(line) }];
    },
  },
  {
    id: "era/same",
    finds: "tools, prompts or resources that differ between the protocol versions",
    remedy: "Register the same definitions for all versions.",
    needs: [],
    check: (facts) => {
      const [one, two] = spokenEras(facts);
      if (one?.catalogue === undefined || two?.catalogue === undefined) return undefined;
      const [first, second] = [one.catalogue, two.catalogue];
      return KINDS.flatMap((kind): Problem[] => {
        const [names, others] = [namesOf(first[kind]), namesOf(second[kind])];
        if (names === undefined || others === undefined) return [];
        const missing = (from: Set<string>, of: Set<string>) => [...from].filter((name) => !of.has(name));
        const parts = [...told(missing(names, others), one), ...told(missing(others, names), two)];
        if (parts.length === 0) return [];
        const lines = [...first[kind].lines, ...second[kind].lines];
        return [{ level: "warning", place: WORDS[kind], text: `${WORDS[kind]} differ: ${parts.join("; ")}`, lines }];
      });
    },
  },
  {
    id: "era/headers",
    finds: "a request whose header contradicts its body and is served, or results that lack members of their version",
    remedy: "Refuse a contradiction with -32020, and send resultType, ttlMs and cacheScope where the version has them.",
    needs: [],
    check: (facts) => {
      const era = spokenEras(facts).find(({ opening }) => opening !== "initialize");
      if (era?.catalogue === undefined) return undefined;
      const { contradiction, catalogue } = era;
      const problems: Problem[] = [];
      if (contradiction?.outcome === "result")
        problems.push({
          level: "error",
          place: "Mcp-Method",
          text: "a request is served although its header Mcp-Method names another method than its body: a gateway that decides by the header can be passed by",
          lines: exchangeLines(contradiction),
          requirement: "sep-2243:std-header:mismatch-rejected",
        });
      for (const [member, requirement] of MEMBERS) {
        const lacking = listingsOf(catalogue).filter(({ pages }) => pages.some((page) => page[member] === undefined));
        if (lacking.length === 0) continue;
        const methods = list(lacking.map(({ method }) => method));
        const text = `results of ${methods} lack ${member}`;
        problems.push({
          level: "warning",
          place: member,
          text,
          requirement,
          lines: lacking.flatMap(({ lines }) => lines.slice(0, 1)),
        });
      }
      return problems;
    },
  },
  {
    id: "era/unsupported",
    finds: "an answer to an unknown version that names no versions",
    remedy: "Answer with the error -32022, whose data lists the versions in `supported`.",
    needs: [],
    requirement: "lifecycle:version:unsupported-error",
    check: (facts) => {
      const asked = spokenEras(facts).find(({ unknownVersion }) => unknownVersion !== undefined)?.unknownVersion;
      if (asked === undefined) return undefined;
      if (asked.named !== undefined) return [];
      const how =
        asked.outcome === "result"
          ? "is served as if it were known"
          : asked.outcome === "silent"
            ? "is not answered"
            : `is refused without the versions that there are (${asked.code ?? asked.status ?? asked.message})`;
      const text = `a request in an unknown protocol version ${how}, so that a client cannot choose another`;
      return [{ level: "warning", place: "protocol version", text, lines: exchangeLines(asked) }];
    },
  },
];

const KINDS = ["tools", "prompts", "resources", "resourceTemplates"] as const;

const WORDS = {
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  resourceTemplates: "resource templates",
} as const;

/** Members of results that can be cached, with their requirements. */
const MEMBERS = [
  ["resultType", "protocol:result-type:stamped"],
  ["ttlMs", "caching:ttl:non-negative"],
  ["cacheScope", "caching:scope:valid"],
] as const;

export function listingsOf(catalogue: CatalogueFacts): readonly Listing<object>[] {
  return KINDS.map((kind) => catalogue[kind]);
}

/** Returns the names, or URIs, of a listing that was read to its end. */
function namesOf({ items, error, endless }: Listing<object>): Set<string> | undefined {
  if (error !== undefined && items.length > 0) return undefined;
  if (endless !== undefined) return undefined;
  return new Set(items.map(keyOf));
}

/** Returns what identifies an item of a listing. */
export function keyOf(item: object): string {
  const { name, uri, uriTemplate } = item as Readonly<Record<string, unknown>>;
  return String(uri ?? uriTemplate ?? name);
}

function told(names: readonly string[], { version }: EraFacts): string[] {
  return names.length === 0 ? [] : [`${counted(names.length, "item")} in ${version} alone (${list(names)})`];
}
