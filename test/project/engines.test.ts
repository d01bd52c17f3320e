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

const { absence, engines, enginesOf, install, needsSqlite, placeOf, postgresFolders, sqliteNodes } = await loadScript<{
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
  needsSqlite(path: string): boolean;
  sqliteNodes(options: {
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

test("tests of SQLite run on each Node that can be fetched, and the others are told", async () => {
  deepEqual(
    ["build/test/engines/sqlite/start.test.js", "build\\test\\engines\\sqlite\\start.test.js"].map(needsSqlite),
    [true, true],
  );
  equal(needsSqlite("build/test/engines/redis/sqlite.test.js"), false);
  const nodes = await sqliteNodes({
    fetch: async (version) => {
      if (version.startsWith("24.")) throw new Error("cannot fetch it: no network");
      return `/nodes/${version}`;
    },
  });
  deepEqual(
    nodes.map(({ version }) => version.split(".")[0]),
    ["22", "24", "26"],
  );
  deepEqual(
    nodes.map(({ program }) => program !== undefined),
    [true, false, true],
  );
  match(nodes[1]?.problem ?? "", /^sqlite: not tested on Node 24.*, cannot fetch it: no network$/);
});
