import { deepEqual, equal, match } from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { loadScript } from "./load-script.js";

interface Engine {
  readonly program: string;
  readonly folders: () => readonly string[];
  readonly variable?: string;
  readonly debian: string;
}

const { absence, engines, enginesOf, install, needsNewerNodes, newerNodes, placeOf, postgresFolders, runsOf } =
  await loadScript<{
    absence(name: string, engine: Engine): string;
    engines: Readonly<Record<"redis" | "postgres" | "nginx", Engine>>;
    enginesOf(path: string): readonly string[];
    install(
      packages: readonly string[],
      options: {
        readonly isRoot: boolean;
        readonly run?: (program: string, args: readonly string[]) => Promise<{ code: number; output: string }>;
      },
    ): Promise<string | undefined>;
    needsNewerNodes(path: string): boolean;
    runsOf(
      path: string,
      nodes: readonly { readonly version: string; readonly program?: string }[],
      here?: string,
    ): readonly { readonly program?: string; readonly where?: string }[];
    newerNodes(options: {
      readonly fetch: (version: string) => Promise<string>;
    }): Promise<{ readonly version: string; readonly program?: string; readonly problem?: string }[]>;
    placeOf(engine: Engine, env: Readonly<Record<string, string>>): string | undefined;
    postgresFolders(base: string): readonly string[];
  }>("scripts/lib/engines.mjs");

function folderWith(t: TestContext, ...paths: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "bowline-engines-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const path of paths) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    writeFileSync(join(folder, path), "");
  }
  return folder;
}

test("an engine is the one at its address, or else a program of PATH", (t) => {
  const folder = folderWith(t, "redis-server");
  const env = { PATH: `/nowhere:${folder}` };
  equal(placeOf(engines.redis, env), join(folder, "redis-server"));
  equal(placeOf(engines.redis, { ...env, REDIS_URL: "redis://127.0.0.1:1" }), "REDIS_URL");
  equal(placeOf(engines.redis, { PATH: "/nowhere" }), undefined);
});

test("the newest PostgreSQL of Debian's folders is chosen", (t) => {
  const folder = folderWith(t, "9/bin/postgres", "15/bin/postgres", "13/bin/postgres");
  const engine = { ...engines.postgres, folders: () => postgresFolders(folder) };
  equal(placeOf(engine, { PATH: "" }), join(folder, "15/bin/postgres"));
  equal(postgresFolders(join(folder, "none")).length, 0);
});

test("a test file needs the engines that its path names", () => {
  deepEqual(enginesOf("build/test/engines/redis/contract-ioredis.test.js"), ["redis"]);
  deepEqual(enginesOf("build\\test\\engines\\postgres\\pg-contract.test.js"), ["postgres"]);
  deepEqual(enginesOf("build/test/engines/nginx/wires-redis.test.js"), ["redis", "nginx"]);
  deepEqual(enginesOf("/home/redis/build/test/engines/none.test.js"), []);
});

test("an engine that is missing is told in one line with its remedies", async () => {
  match(absence("redis", engines.redis), /^redis: not tested, .*apt-get install redis-server.*--install.*REDIS_URL$/);
  match(absence("nginx", engines.nginx), /^nginx: not tested, .*apt-get install nginx, .*--install as root\)$/);
  match((await install(["postgresql"], { isRoot: false })) ?? "", /needs root to install postgresql/);
  equal(await install([], { isRoot: false }), undefined);
});

test("missing packages are installed by apt-get, and its problem is told in one line", async () => {
  const ran: string[] = [];
  const problem = await install(["nginx", "postgresql"], {
    isRoot: true,
    run: async (program, args) => {
      ran.push(`${program} ${args.filter((text) => !text.startsWith("Acquire") && text !== "-o").join(" ")}`);
      return ran.length === 1 ? { code: 0, output: "" } : { code: 100, output: "Reading\nE: no network\n\n" };
    },
  });
  deepEqual(ran, ["apt-get update", "apt-get install --yes --no-install-recommends nginx postgresql"]);
  match(problem ?? "", /^apt-get install .*nginx postgresql failed: E: no network$/);
});

test("tests of SQLite and of private parts of Node run on newer versions, and those that cannot be fetched are told", async () => {
  const [sqlite, own] = [
    "build/test/engines/sqlite/start.test.js",
    "build\\test\\engines\\node\\http.test.js",
  ] as const;
  deepEqual([sqlite, own].map(needsNewerNodes), [true, true]);
  equal(needsNewerNodes("build/test/engines/redis/sqlite.test.js"), false);
  const nodes = await newerNodes({
    fetch: async (version) => {
      if (version.startsWith("24.")) throw new Error("cannot fetch it: no network");
      return `/nodes/${version}`;
    },
  });
  match(nodes[1]?.problem ?? "", /^node: not tested on Node 24.*, cannot fetch it: no network$/);
  const majors = (path: string, here: string) =>
    runsOf(path, nodes, here).map(({ where = "", program }) => `${where.slice(7, 9)} ${program === undefined}`);
  deepEqual(majors(sqlite, "20.19.0"), ["22 false", "26 false"]);
  deepEqual(majors(own, "20.19.0"), ["20 true", "22 false", "26 false"]);
  deepEqual(majors(own, "26.0.0"), ["22 false", "26 false"]);
  deepEqual(runsOf("build/test/engines/redis/a.test.js", nodes), [{ path: "build/test/engines/redis/a.test.js" }]);
});
