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

/**
 * What the tests of the last full run recorded: `[{ id, wire?, traffic, test, passed }]`, where `traffic` is what passed
 * during the test; undefined before the first run.
 */
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

const spelled = /^(?:(legacy|modern)(?:-|$))?(memory|stdio|node|fetch|http|sse)?$/;

/** A wire's parts. A proof's wire may leave out the era, and one that counts for a test without a wire the transport. */
function partsOf(wire) {
  const [, era, transport] = spelled.exec(wire ?? "") ?? [];
  return { era, transport };
}

/** How a test may name its wire: `[era-]transport`, or not at all. */
export const isWire = (wire) => wire === undefined || partsOf(wire).transport !== undefined;

/** What counts as traffic on a transport: `http` is spoken to any host, and by a client of whatever answers. */
const seenAs = { http: new Set(["http", "node", "fetch"]) };

/**
 * The wires that a proof counts for: those that its test names and on which messages of that era passed. A name without an
 * era stands for the eras that were seen, or for both if what passed has none (an authorization server knows no eras);
 * the same holds for a test without a wire. Empty for a test that names a wire it did not use.
 */
export function provedWires({ wire, traffic }) {
  const { era, transport } = partsOf(wire);
  const seen = traffic.map(partsOf).filter((on) => isOn(transport, on.transport));
  const eras = [...new Set(seen.map((on) => on.era))].filter((one) => one !== undefined);
  const counted = era === undefined ? eras : eras.filter((one) => one === era);
  if (counted.length > 0) return counted.map((one) => (transport === undefined ? one : `${one}-${transport}`));
  return era === undefined && (wire === undefined || seen.length > 0) ? [wire] : [];
}

/** Why a proof is refused; undefined if it counts for something. */
export function refusalOf({ wire, traffic, test }) {
  if (provedWires({ wire, traffic }).length > 0) return undefined;
  const told = traffic.length === 0 ? "it had no traffic" : `its traffic was ${traffic.join(", ")}`;
  return `${test}: its wire is ${wire}, but ${told}; name the wire after the traffic, or speak on that wire`;
}

const isOn = (named, seen) => named === undefined || (seenAs[named]?.has(seen) ?? named === seen);

/**
 * The wires a requirement still lacks, given those it was proved on (undefined: a test that uses no wire).
 * Without `transports`: one proof in each era. With `transports`: one proof on each in each era, where `http` takes both
 * HTTP hosts (`node` and `fetch`) or one test that declares itself HTTP-specific; `sse` exists in the legacy era alone.
 */
export function missingWires(entry, wires) {
  const proved = (era, transport) =>
    wires.map(partsOf).some((on) => (on.era ?? era) === era && (transport ?? on.transport) === on.transport);
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
