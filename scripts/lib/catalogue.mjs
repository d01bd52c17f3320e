import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { parse } from "yaml";
import { at, filesBelow, shown } from "./project.mjs";

const lists = new Set(["pending.yaml", "not-applicable.yaml"]);

/** Reads the requirement catalogue: `id -> { id, level, role, since?, until?, transports?, file }`. */
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

/** Reads requirements/pending.yaml, which maps areas to ids, as `[{ id, area }]`. */
export function readPending() {
  const areas = readYaml("requirements/pending.yaml") ?? {};
  return Object.entries(areas).flatMap(([area, ids]) => (ids ?? []).map((id) => ({ id, area })));
}

/** Reads requirements/not-applicable.yaml: `[{ id, reason }]`. */
export const readNotApplicable = () => readYaml("requirements/not-applicable.yaml") ?? [];

function readYaml(path) {
  return existsSync(at(path)) ? parse(readFileSync(at(path), "utf8")) : undefined;
}

/**
 * Reads the proofs of the last full run: `[{ id, wire?, traffic, test, passed }]`. `traffic` lists the wires on which
 * messages passed during the test. Undefined before the first run.
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

/** Returns the eras in which a requirement holds. */
export function erasOf({ since, until }) {
  const eras = [];
  if (since === undefined || since < turn) eras.push("legacy");
  if (until === undefined || until > turn) eras.push("modern");
  return eras;
}

const spelled = /^(?:(legacy|modern)(?:-|$))?(memory|stdio|node|fetch|http|sse)?$/;

/**
 * Splits a wire into era and transport. The wire of a proof may lack the era. The wire of a test without a wire lacks
 * the transport.
 */
function partsOf(wire) {
  const [, era, transport] = spelled.exec(wire ?? "") ?? [];
  return { era, transport };
}

/** True if a test may name this wire: `[era-]transport`, or undefined. */
export const isWire = (wire) => wire === undefined || partsOf(wire).transport !== undefined;

/** Recorded transports that count for a transport. `http` counts for any HTTP host. */
const seenAs = { http: new Set(["http", "node", "fetch"]) };

/**
 * Returns the wires that a proof counts for: the wire of the test, if messages of its era passed on it. A wire without
 * an era counts for the eras that were seen, or for both if the traffic has none (as with an authorization server). The
 * same applies to a test without a wire. Empty if the test names a wire that it did not use.
 */
export function provedWires({ wire, traffic }) {
  const { era, transport } = partsOf(wire);
  const seen = traffic.map(partsOf).filter((on) => isOn(transport, on.transport));
  const eras = [...new Set(seen.map((on) => on.era))].filter((one) => one !== undefined);
  const counted = era === undefined ? eras : eras.filter((one) => one === era);
  if (counted.length > 0) return counted.map((one) => (transport === undefined ? one : `${one}-${transport}`));
  return era === undefined && (wire === undefined || seen.length > 0) ? [wire] : [];
}

/** Returns the reason why a proof is refused, or undefined if it counts. */
export function refusalOf({ wire, traffic, test }) {
  if (provedWires({ wire, traffic }).length > 0) return undefined;
  const told = traffic.length === 0 ? "it had no traffic" : `its traffic was ${traffic.join(", ")}`;
  return `${test}: its wire is ${wire}, but ${told}; name the wire after the traffic, or speak on that wire`;
}

const isOn = (named, seen) => named === undefined || (seenAs[named]?.has(seen) ?? named === seen);

/**
 * Returns the wires on which a requirement is not yet proved, given those on which it is (undefined: a test without a
 * wire). Without `transports` it needs one proof in each era. With `transports` it needs one proof on each in each era.
 * `http` needs both hosts (`node` and `fetch`) or one test of the wire `http`. `sse` exists in the legacy era only.
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
