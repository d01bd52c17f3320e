import { deepEqual, equal } from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Era } from "../driver.js";
import { programOf } from "../fetched.js";
import { runInspector } from "../inspector.js";
import type { Neighbour } from "../neighbours.js";
import { type Outcome, runCheck, START_MS } from "../run-pair.js";
import { pathIn } from "./driver.js";
import { CHART_WORK, DIRECTORIES, DYNAMIC, expectedSkills, UNLISTED } from "./fixture.js";
import { startSkills } from "./lines.js";

/** Report of the inspector on a skill. */
interface Report {
  readonly uri: string;
  readonly ok: boolean;
  readonly outcome: string;
  readonly conformance: readonly unknown[];
  readonly frontmatter: readonly unknown[];
  readonly files: readonly { readonly uri: string; readonly status: string }[];
}

interface Page {
  readonly resources: { uri: string }[];
  readonly nextCursor?: string;
}

type Ask = (...options: string[]) => Promise<string>;

/**
 * The inspector as a verifier: it compares every file and the frontmatter of Bowline's skills with their entries. Its exit
 * code is 0 only if nothing differs.
 */
export const skillInspectors: readonly Neighbour[] = ["stdio", "http"].flatMap((wire) =>
  (["legacy", "modern"] as const).map((era) => ({
    pair: `inspector -> bowline skills:${wire} ${era}`,
    needs: () => programOf("inspector"),
    run: () => inspect(wire, era),
  })),
);

const checks: Readonly<Record<string, (ask: Ask) => Promise<void>>> = {
  "verify skills": async (ask) => {
    const reports = toReports(await ask("--method", "skills/list", "--verify"));
    const listed = [...expectedSkills.map(({ uri }) => uri), DYNAMIC];
    deepEqual(reports.map(({ uri }) => uri).sort(), listed.sort());
    for (const { uri, files } of expectedSkills) {
      const report = reports.find((found) => found.uri === uri) as Report;
      equal(report.outcome, "verified", JSON.stringify(report));
      deepEqual([report.conformance, report.frontmatter], [[], []]);
      deepEqual(
        new Set(report.files.map((file) => `${pathIn(uri, file.uri)} ${file.status}`)),
        new Set([...files.keys()].map((path) => `${path} verified`)),
      );
    }
  },
  "verify unlisted skill": async (ask) => {
    const [report] = toReports(await ask("--method", "skills/get", "--uri", UNLISTED, "--verify"));
    deepEqual([report?.outcome, report?.files.length], ["verified", 2]);
  },
  directory: async (ask) => {
    const resources: { uri: string }[] = [];
    const directory = ["--method", "resources/directory/read", "--uri", CHART_WORK.replace("/SKILL.md", "")];
    let more: string[] | undefined = [];
    while (more !== undefined) {
      const { result } = JSON.parse(await ask(...directory, ...more)) as { result: Page };
      resources.push(...result.resources);
      more = result.nextCursor === undefined ? undefined : ["--cursor", result.nextCursor];
    }
    deepEqual(resources.map(({ uri }) => pathIn(CHART_WORK, uri)).sort(), DIRECTORIES[""]);
  },
};

function toReports(lines: string): Report[] {
  return lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Report);
}

async function inspect(wire: string, era: Era): Promise<Outcome[]> {
  const pair = `inspector -> bowline skills:${wire} ${era}`;
  const home = mkdtempSync(join(tmpdir(), "interop-"));
  const served = await startSkills("bowline", wire, () => {});
  const ask: Ask = (...options) => runInspector(served.target, home, [...options, "--protocol-era", era]);
  const outcomes: Outcome[] = [];
  for (const [check, work] of Object.entries(checks))
    outcomes.push(await runCheck(pair, check, () => work(ask), START_MS));
  outcomes.push(await runCheck(pair, "stop", () => served.close(), START_MS));
  rmSync(home, { recursive: true, force: true });
  return outcomes;
}
