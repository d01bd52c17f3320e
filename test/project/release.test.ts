import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");

interface Step {
  readonly id?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly needs?: readonly string[];
  readonly outputs?: Readonly<Record<string, string>>;
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly strategy?: { readonly "fail-fast": boolean; readonly matrix: Readonly<Record<string, readonly string[]>> };
  readonly steps: readonly Step[];
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const workflow = (name: string) => parse(read(`.github/workflows/${name}`)) as Workflow;
const names = readdirSync(new URL("../../../.github/workflows", import.meta.url));
const jobOf = ({ jobs }: Workflow, name: string) => jobs[name] as Job;
const runsOf = ({ steps }: Job) => steps.flatMap(({ run }) => run ?? []);
const actionsOf = ({ steps }: Job) => steps.flatMap(({ uses }) => uses?.split("@")[0] ?? []);

/** Returns the expression of a workflow for this value. */
const expression = (path: string) => `$${`{{ ${path} }}`}`;

test("the package says where it comes from, and is published with a proof of it", () => {
  const { repository, homepage, bugs, publishConfig } = JSON.parse(read("package.json"));
  equal(repository.url, `git+${homepage}.git`);
  ok(bugs.startsWith(homepage));
  deepEqual(publishConfig, { access: "public", provenance: true });
});

test("the tarball of a release is made of the tagged commit where no other code runs, and published after all checks", () => {
  const release = workflow("release.yml");
  deepEqual(Object.keys(release.on), ["release"]);
  deepEqual(Object.keys(release.jobs), ["package", "test", "publish"]);
  const job = jobOf(release, "package");
  const [tag, ...runs] = runsOf(job);
  ok(tag?.includes("package.json"));
  deepEqual(runs, ["npm ci --ignore-scripts", "npm run package"]);
  const upload = job.steps.at(-1);
  ok(upload?.uses?.startsWith("actions/upload-artifact@"));
  equal(upload?.with?.["if-no-files-found"], "error");
  deepEqual(job.outputs, { artifact: expression(`steps.${upload?.id}.outputs.artifact-id`) });
  equal(runsOf(jobOf(release, "test")).at(-1), ".ci/run");
  const publish = jobOf(release, "publish");
  deepEqual(publish.needs, ["package", "test"]);
  const download = publish.steps.find(({ uses }) => uses?.startsWith("actions/download-artifact@"));
  deepEqual(download?.with, { "artifact-ids": expression("needs.package.outputs.artifact"), path: "package" });
});

test("the job that may publish runs nothing but the publication of the tarball, and holds no token", () => {
  const release = workflow("release.yml");
  deepEqual(release.permissions, { contents: "read" });
  equal(jobOf(release, "test").permissions, undefined, "tests and install scripts have no further rights");
  const publish = jobOf(release, "publish");
  deepEqual(publish.permissions, { "id-token": "write" });
  equal(publish.environment, "release");
  deepEqual(actionsOf(publish), ["actions/setup-node", "actions/download-artifact"]);
  deepEqual(runsOf(publish), ["npm publish ./package/*.tgz --ignore-scripts --provenance --access public"]);
  for (const job of Object.values(release.jobs))
    for (const step of job.steps) equal(step.with?.cache, undefined, "other workflows can write to a cache");
  ok(!/secrets\./.test(read(".github/workflows/release.yml")));
});

test("only the job that publishes has more rights than to read", () => {
  for (const name of names) {
    const { permissions, jobs } = workflow(name);
    deepEqual(permissions, { contents: "read" }, name);
    const more = Object.entries(jobs).filter(([, job]) => job.permissions !== undefined);
    deepEqual(
      more.map(([job]) => `${name} ${job}`),
      name === "release.yml" ? ["release.yml publish"] : [],
    );
  }
});

test("actions are pinned by commit, each always by the same one, with the version beside it", () => {
  const pins = new Map<string, string>();
  for (const name of names) {
    const lines = read(`.github/workflows/${name}`).split("\n");
    const uses = lines.filter((line) => /^\s*(?:- )?uses:/.test(line));
    const stepsWithUses = Object.values(workflow(name).jobs).flatMap(actionsOf);
    equal(uses.length, stepsWithUses.length, name);
    for (const line of uses) {
      match(line, /uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, `${name}: ${line.trim()}`);
      const [, action = "", pin = ""] = /uses: (\S+)@(.*)$/.exec(line) ?? [];
      equal(pins.get(action) ?? pin, pin, `${name}: ${action} has another pin elsewhere`);
      pins.set(action, pin);
    }
  }
  ok(pins.size >= 4);
});

test("each lock file is looked up for advisories every week, which fails on those of high severity and above", () => {
  const audit = workflow("audit.yml");
  const [{ cron }] = audit.on.schedule as [{ readonly cron: string }];
  match(cron, /^\d+ \d+ \* \* [0-6]$/);
  const job = jobOf(audit, "audit");
  deepEqual(runsOf(job), ["npm audit --package-lock-only --audit-level=high"]);
  equal(job.strategy?.["fail-fast"], false);
  const folders = job.strategy?.matrix.folder ?? [];
  const root = new URL("../../../", import.meta.url);
  const locks = [".", ...readdirSync(root)].filter((folder) =>
    existsSync(new URL(`${folder}/package-lock.json`, root)),
  );
  deepEqual(folders, locks);
});
