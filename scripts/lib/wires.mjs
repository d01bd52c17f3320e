import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { at, filesBelow, readJson } from "./project.mjs";
import { selectTests } from "./select-tests.mjs";
import { runTestFiles } from "./test-files.mjs";

/** Engines of the wires: the variable with the address, and the function that starts one or takes that address. */
const ENGINES = {
  redis: { variable: "REDIS_URL", open: async () => opened((await support("engines/redis.js")).anyRedis(), "end") },
  postgres: {
    variable: "DATABASE_URL",
    open: async () => opened((await support("engines/postgres.js")).findOrStartPostgres(), "close"),
  },
};

/** Number of files that run at once. */
const AT_ONCE = 3;

/** Maximum time of a file. */
const LIMIT_MS = 120_000;

/** Wires of two nodes behind nginx, such as `legacy-nginx-redis`. */
const all = Object.keys(ENGINES).flatMap((engine) =>
  ["legacy", "modern"].map((era) => ({ name: `${era}-nginx-${engine}`, era, engine })),
);

/** True if a filter chooses wires: `wires`, or a part of their names with `nginx-` in it. */
export const isWireFilter = (filter) => filter === "wires" || filter.includes("nginx-");

/** Returns the wires that the filters choose. */
export function chosenWires(filters) {
  const asked = filters.filter(isWireFilter);
  if (filters.length === 0 || asked.includes("wires")) return all;
  return all.filter(({ name }) => asked.some((filter) => name.includes(filter)));
}

/**
 * Runs the scenarios on the wires of one engine, several files at a time, and calls `onResult` with each result. Other
 * filters than those of wires choose scenarios as in scripts/test.mjs. Each of the two nodes must get requests.
 */
export async function runWires(engine, chosen, filters, onResult) {
  const found = filesBelow(at("build/test/scenarios"), ".test.js").filter(usesWires);
  const wire = chosen.length === 1 ? chosen[0].name : `nginx-${engine}`;
  const { files, patterns } = selectTests(found, { filters: filters.filter((filter) => !isWireFilter(filter)), wire });
  const served = at("build/served", engine);
  rmSync(served, { recursive: true, force: true });
  const { url, end } = await ENGINES[engine].open();
  const env = { BOWLINE_NODES: engine, BOWLINE_SERVED: served, [ENGINES[engine].variable]: url };
  const flags = ["--import", pathToFileURL(at("build/test/support/nodes/register.js")).href];
  const runs = files.map((path) => ({ path }));
  await runTestFiles(runs, { atOnce: AT_ONCE, patterns, flags, env, limitMs: LIMIT_MS }, onResult).finally(end);
  onResult(balanceOf(served, chosen));
}

/** Checks that the requests went to both nodes. */
function balanceOf(folder, chosen) {
  const counts = existsSync(folder) ? readdirSync(folder).map((file) => readJson(join(folder, file))) : [];
  const [one, other] = [0, 1].map((node) => counts.reduce((sum, served) => sum + served[node], 0));
  const title = `nginx sends requests to both nodes: ${one} and ${other} [${chosen.map(({ name }) => name).join(", ")}]`;
  const error = one > 0 && other > 0 ? undefined : "a node got no request";
  return { file: "nginx", tests: [{ title, nesting: 0, ms: 0, ...(error && { error }) }], written: "" };
}

/**
 * Compares failures with test/support/nodes/known.json, which lists the scenarios that cannot hold on two nodes: `title`
 * without its wire, `wire` (a part of the names of wires), and the reason. With `sometimes`, the outcome depends on which
 * of two messages is faster.
 */
export class KnownDifferences {
  #entries;
  /** Number of known failures so far. */
  count = 0;

  constructor(entries = readJson(at("test/support/nodes/known.json"))) {
    this.#entries = entries.map((entry) => ({ ...entry, seen: 0 }));
  }

  /** Returns the failure of a test, or undefined. A known failure is none; a known failure that passes is one. */
  judge({ title, error }) {
    const [, scenario, wire] = /^(.*) \[([^\]]*)\]$/s.exec(title) ?? [];
    const entry = this.#entries.find((known) => known.title === scenario && wire.includes(known.wire));
    if (entry === undefined) return error;
    entry.seen++;
    if (error === undefined && entry.sometimes) return undefined;
    if (error === undefined) return "passes, but is listed in test/support/nodes/known.json: remove the entry";
    this.count++;
    return undefined;
  }

  /** Returns the entries that no test of a full run has. */
  unused() {
    return this.#entries.filter(({ seen }) => seen === 0);
  }
}

/** True if the tests of the file can run on a wire. */
function usesWires(file) {
  return /\/support\/(each-wire|guarded|modern-hosts)\.js/.test(readFileSync(file, "utf8"));
}

async function opened(server, end) {
  const started = await server;
  return { url: started.url, end: () => started[end]() };
}

const support = (file) => import(pathToFileURL(at("build/test/support", file)).href);
