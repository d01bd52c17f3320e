import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { parse } from "yaml";
import { at, filesBelow, shown } from "./project.mjs";

const lists = new Set(["pending.yaml", "not-applicable.yaml"]);

/** The requirement catalogue: `id -> { id, level, role, since?, until?, transports?, file }`. */
export function readCatalogue() {
  const entries = new Map();
  for (const file of filesBelow(at("requirements"), ".yaml")) {
    if (lists.has(basename(file))) continue;
    for (const entry of parse(readFileSync(file, "utf8"))) {
      if (entries.has(entry.id))
        throw new Error(`${shown(file)}: ${entry.id} is also in ${entries.get(entry.id).file}.yaml`);
      entries.set(entry.id, { ...entry, file: basename(file, ".yaml") });
    }
  }
  return entries;
}

/** requirements/pending.yaml: area to ids, read as `[{ id, area }]`. */
export function readPending() {
  const areas = readYaml("requirements/pending.yaml") ?? {};
  return Object.entries(areas).flatMap(([area, ids]) => (ids ?? []).map((id) => ({ id, area })));
}

/** requirements/not-applicable.yaml: `[{ id, reason }]`. */
export const readNotApplicable = () => readYaml("requirements/not-applicable.yaml") ?? [];

function readYaml(path) {
  return existsSync(at(path)) ? parse(readFileSync(at(path), "utf8")) : undefined;
}

/** What the tests of the last full run recorded: `[{ id, wire?, test, passed }]`; undefined before the first. */
export function readProofs() {
  if (!existsSync(at("build/proofs/run.json"))) return undefined;
  const text = filesBelow(at("build/proofs"), ".jsonl").map((file) => readFileSync(file, "utf8"));
  return text
    .join("")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

const turn = "2026-07-28";

/** The eras in which a requirement holds. */
export function erasOf({ since, until }) {
  const eras = [];
  if (since === undefined || since < turn) eras.push("legacy");
  if (until === undefined || until > turn) eras.push("modern");
  return eras;
}

/** How a proof's wire is written: `[era-]transport`; without an era it counts for both. */
const spelled = /^(?:(legacy|modern)-)?(memory|stdio|node|fetch|http|sse)$/;

export const isWire = (wire) => wire === undefined || spelled.test(wire);

/**
 * The wires a requirement still lacks, given those it was proved on (undefined: a test that uses no wire).
 * Without `transports`: one proof in each era. With `transports`: one proof on each in each era, where `http` takes both
 * HTTP hosts (`node` and `fetch`) or one test that declares itself HTTP-specific; `sse` exists in the legacy era alone.
 */
export function missingWires(entry, wires) {
  const proved = (era, transport) =>
    wires.some((wire) => {
      if (wire === undefined) return transport === undefined;
      const [, wireEra, wireTransport] = spelled.exec(wire) ?? [];
      return (wireEra ?? era) === era && (transport === undefined || wireTransport === transport);
    });
  const missing = [];
  for (const era of erasOf(entry)) {
    for (const transport of entry.transports ?? [undefined]) {
      if (transport === "sse" && era === "modern") continue;
      if (proved(era, transport)) continue;
      if (transport !== "http") missing.push(transport === undefined ? era : `${era}-${transport}`);
      else missing.push(...["node", "fetch"].filter((host) => !proved(era, host)).map((host) => `${era}-${host}`));
    }
  }
  return missing;
}
