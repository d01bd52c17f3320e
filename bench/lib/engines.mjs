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
};

/** Starts an engine for the time of `use(url)`. Returns undefined with a remark if its program is not installed. */
export async function withEngine(run, name, use) {
  if (placeOf({ ...engines[name], variable: undefined }) === undefined)
    return run.remark(`${engines[name].program} was not found, so that ${name} was left out`);
  const { url, end } = await starts[name]();
  try {
    return await use(url);
  } finally {
    await end();
  }
}
