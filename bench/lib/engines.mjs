import { mkdtempSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { engines, placeOf } from "../../scripts/lib/engines.mjs";
import { at } from "../../scripts/lib/project.mjs";

const load = (name) => import(pathToFileURL(at("build/test/support/engines", `${name}.js`)).href);

/** Settings with which Redis is run in production: a crash of the machine may lose the last second. */
const everySecond = ["--appendfsync", "everysec"];

const starts = {
  async redis() {
    const { url, end } = await (await load("redis")).startRedis(everySecond);
    return { url, end };
  },
  async postgres() {
    const { url, close } = await (await load("postgres")).startPostgres();
    return { url, end: close };
  },
  sqlite() {
    const folder = mkdtempSync(join(tmpdir(), "bowline-sqlite-"));
    return { url: join(folder, "state.db"), end: () => rmSync(folder, { recursive: true, force: true }) };
  },
};

/** Returns the reason why an engine is left out, or undefined. */
function absenceOf(name) {
  if (name === "sqlite") return isBuiltin("node:sqlite") ? undefined : "this Node.js has no SQLite";
  const isFound = placeOf({ ...engines[name], variable: undefined }) !== undefined;
  return isFound ? undefined : `${engines[name].program} was not found`;
}

/** Starts an engine for the time of `use(url)`. Returns undefined with a remark if it is not installed. */
export async function withEngine(run, name, use) {
  const absence = absenceOf(name);
  if (absence !== undefined) return run.remark(`${absence}, so that ${name} was left out`);
  const { url, end } = await starts[name]();
  try {
    return await use(url);
  } finally {
    await end();
  }
}
