import { deepEqual, equal, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: {
    readonly publish: {
      readonly permissions: Readonly<Record<string, string>>;
      readonly steps: readonly { readonly run?: string; readonly env?: object; readonly with?: object }[];
    };
  };
}

test("the package says where it comes from, and is published with a proof of it", () => {
  const { repository, homepage, bugs, publishConfig } = JSON.parse(read("package.json"));
  equal(repository.url, `git+${homepage}.git`);
  ok(bugs.startsWith(homepage));
  deepEqual(publishConfig, { access: "public", provenance: true });
});

test("the release is made of the tagged commit, after all checks, by a workflow that holds no token", () => {
  const { on, permissions, jobs } = parse(read(".github/workflows/release.yml")) as Workflow;
  deepEqual(Object.keys(on), ["release"]);
  deepEqual(permissions, { contents: "read" });
  deepEqual(jobs.publish.permissions, { contents: "read", "id-token": "write" });
  const runs = jobs.publish.steps.flatMap(({ run }) => run ?? []);
  ok(runs[0]?.includes("package.json"));
  deepEqual(runs.slice(1), [".ci/run", "npm run package", "npm publish ./build/package"]);
  ok(!/secrets\./.test(read(".github/workflows/release.yml")));
});
