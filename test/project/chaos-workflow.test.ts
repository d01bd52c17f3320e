import { deepEqual, ok } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";

const at = (path: string) => new URL(`../../../${path}`, import.meta.url);

test("a workflow runs chaos on every engine each night, and tasks on each that outlives its processes", () => {
  const { on, jobs } = parse(readFileSync(at(".github/workflows/chaos.yml"), "utf8"));
  deepEqual(
    on.schedule.map(({ cron }: { cron: string }) => /^\d+ \d+ \* \* \*$/.test(cron)),
    [true],
  );
  const engines = readdirSync(at("chaos/engines")).map((file) => file.replace(/\.mjs$/, ""));
  const tasks = engines.filter((name) => name !== "workers").map((name) => `tasks ${name}`);
  deepEqual(jobs.chaos.strategy.matrix.run.sort(), [...engines, ...tasks].sort());
  ok(!readFileSync(at(".ci/run"), "utf8").includes("chaos"), "a busy machine makes a run inconclusive");
});
