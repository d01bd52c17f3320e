import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Skill, SkillResource } from "bowline/skills/client";
import { VERSIONS } from "../checks.js";
import type { Era } from "../driver.js";
import { pathIn, type SkillDriver } from "./driver.js";
import {
  CHART_WORK,
  DIRECTORIES,
  DYNAMIC,
  digestOf,
  type ExpectedSkill,
  expectedSkills,
  UNLISTED,
  UNLISTED_FILE,
  UNLISTED_TEXT,
  writeSkillFile,
} from "./fixture.js";

/** A client of one SDK, connected to a server of skills of another. */
export interface SkillSession {
  readonly driver: SkillDriver;
  readonly era: Era;
  /** Folder of the server. */
  readonly folder: string;
}

export type SkillChecks = Readonly<Record<string, (session: SkillSession) => Promise<void>>>;

/** Checks of the skills in a folder, which every server serves. */
export const skillChecks: SkillChecks = {
  version: async ({ driver, era }) => equal(driver.version, VERSIONS[era]),
  "skills announced": async ({ driver }) => equal(driver.announced.skills, true),
  "list skills": async ({ driver }) => {
    const listed = (await driver.list()).filter(({ resources }) => resources !== "dynamic");
    deepEqual(listed.map(toComparable).sort(byUri), expectedSkills.map(expectation).sort(byUri));
  },
  "get skill": async ({ driver }) => {
    for (const skill of await driver.list()) deepEqual(await driver.get(skill.uri), skill);
  },
  "read skill": async ({ driver }) => {
    const listed = await driver.list();
    for (const { uri, files } of expectedSkills) {
      const skill = listed.find((entry) => entry.uri === uri) as Skill;
      for (const [path, bytes] of files) {
        deepEqual(Buffer.from(await driver.read(skill, path)), Buffer.from(bytes), `${uri}: ${path}`);
      }
    }
  },
  "no skill": async ({ driver }) => {
    for (const uri of ["skill://nowhere/SKILL.md", "skill://chart-work/assets/SKILL.md"])
      await rejects(driver.get(uri), withCode(driver, -32602));
  },
};

/** Checks of clients that verify files by the entry. */
export const verifyingChecks: SkillChecks = {
  "unlisted file": async ({ driver }) => {
    const skill = await driver.get(CHART_WORK);
    for (const path of ["references/none.md", "assets", "../radio/SKILL.md"])
      await rejects(driver.read(skill, path), refused(driver, "unlisted"));
  },
  "changed skill": async ({ driver, folder }) => {
    const held = await driver.get(CHART_WORK);
    writeSkillFile(folder, "chart-work/scripts/plot.py", 'print("a detour")\n');
    const fresh = await otherThan(held, () => driver.get(CHART_WORK));
    await rejects(driver.read(held, "scripts/plot.py"), refused(driver, "differs"));
    equal(Buffer.from(await driver.read(fresh, "scripts/plot.py")).toString(), 'print("a detour")\n');
  },
};

/** Checks of frontmatter that SDKs may read in different ways. They run last: a client may refuse a whole listing. */
export const frontmatterChecks: SkillChecks = {
  "yaml types": (session) =>
    checkFrontmatter(session, "signals", "x-flag: yes\nx-time: 12:30\nx-large: 1_000", {
      "x-flag": "yes",
      "x-time": "12:30",
      "x-large": "1_000",
    }),
  "yaml date": (session) => checkFrontmatter(session, "almanac", "x-date: 2026-01-02", { "x-date": "2026-01-02" }),
  "list of tools": (session) =>
    checkFrontmatter(session, "splices", "allowed-tools:\n  - Read\n  - Bash", { "allowed-tools": ["Read", "Bash"] }),
};

/** Adds a skill, then lists and reads it. */
async function checkFrontmatter(
  { driver, folder }: SkillSession,
  name: string,
  yaml: string,
  fields: object,
): Promise<void> {
  const content = `---\nname: ${name}\ndescription: Explains ${name}\n${yaml}\n---\n`;
  writeSkillFile(folder, `${name}/SKILL.md`, content);
  const uri = `skill://${name}/SKILL.md`;
  const skill = await eventually(() => driver.get(uri));
  deepEqual(skill.frontmatter, { name, description: `Explains ${name}`, ...fields });
  equal(Buffer.from(await driver.read(skill, "SKILL.md")).toString(), content);
  ok((await driver.list()).some((listed) => listed.uri === uri));
}

/** Repeats a call until it succeeds. Rejects with the last error after a while. */
async function eventually<T>(call: () => Promise<T>): Promise<T> {
  const end = performance.now() + 5000;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(20);
    }
  }
}

/** Checks of servers that tell of changes, and of clients that listen. */
export const changeChecks: SkillChecks = {
  "added skill": async ({ driver, folder }) => {
    const watch = await driver.watch?.();
    writeSkillFile(folder, "pilotage/SKILL.md", "---\nname: pilotage\ndescription: Enters a harbour\n---\n");
    await watch?.changed;
    await watch?.close();
    ok((await driver.list()).some(({ uri }) => uri === "skill://pilotage/SKILL.md"));
  },
};

/** Checks of servers and clients that support `resources/directory/read`. */
export const directoryChecks: SkillChecks = {
  "directories announced": async ({ driver }) => equal(driver.announced.directories, true),
  directory: async ({ driver }) => {
    const skill = await driver.get(CHART_WORK);
    for (const [path, names] of Object.entries(DIRECTORIES)) {
      const children = await driver.directory(skill, path);
      const below = path === "" ? "" : `${path}/`;
      deepEqual(
        children.map((uri) => pathIn(CHART_WORK, uri)).sort(),
        names.map((name) => below + name),
      );
    }
  },
  "no directory": async ({ driver }) => {
    for (const uri of [CHART_WORK, "skill://nowhere", "skill://chart-work/none"])
      await rejects(driver.readDirectory(uri), withCode(driver, -32602));
  },
};

/** Checks of a server that does not announce `resources/directory/read`. */
export const fileOnlyChecks: SkillChecks = {
  "directories not announced": async ({ driver }) => {
    equal(driver.announced.directories, false);
    const skill = await driver.get(CHART_WORK);
    await rejects(driver.directory(skill, ""), { code: "skills_unsupported" });
    await rejects(driver.readDirectory("skill://chart-work"), withCode(driver, -32601));
  },
};

/** Checks of skills that only Bowline's server has. */
export const generatedChecks: SkillChecks = {
  "dynamic skill": async ({ driver }) => {
    const skill = (await driver.list()).find(({ uri }) => uri === DYNAMIC) as Skill;
    deepEqual(skill, await driver.get(DYNAMIC));
    equal(skill.resources, "dynamic");
    ok(
      Buffer.from(await driver.read(skill, "SKILL.md"))
        .toString()
        .includes("\nWritten at "),
    );
  },
  "unlisted skill": async ({ driver }) => {
    equal(
      (await driver.list()).some(({ uri }) => uri === UNLISTED),
      false,
    );
    const skill = await driver.get(UNLISTED);
    equal(Buffer.from(await driver.read(skill, UNLISTED_FILE)).toString(), UNLISTED_TEXT);
  },
};

/** Checks of a server that announces no skills in this era. */
export const unannouncedChecks: SkillChecks = {
  version: skillChecks.version as SkillChecks[string],
  "skills not announced": async ({ driver }) => {
    deepEqual(driver.announced, { skills: false, directories: false });
    deepEqual(await driver.list(), []);
    await rejects(driver.get(CHART_WORK), { code: "skills_unsupported" });
  },
};

/** Checks of a client that knows skills only as resources in this era. */
export const resourceChecks: SkillChecks = {
  version: skillChecks.version as SkillChecks[string],
  "skills in resources": async ({ driver }) => {
    const found = await driver.findInResources?.();
    const wanted = expectedSkills.map(({ uri, frontmatter }) => ({ uri, ...(frontmatter as { description: string }) }));
    deepEqual(
      wanted.map(({ uri, description }) => [uri, description]),
      wanted.map(({ uri }) => [uri, found?.find((skill) => skill.uri === uri)?.description]),
    );
    equal(
      found?.some(({ uri }) => uri === UNLISTED),
      false,
    );
  },
};

function toComparable({ uri, frontmatter, resources, ...rest }: Skill): object {
  const files = (resources as readonly SkillResource[]).map((file) => ({ ...file, uri: pathIn(uri, file.uri) }));
  return { uri, frontmatter, files: files.sort(byUri), ...rest };
}

function expectation({ uri, frontmatter, files }: ExpectedSkill): object {
  const listed = [...files].map(([path, bytes]) => ({ uri: path, digest: digestOf(bytes), size: bytes.length }));
  return { uri, frontmatter, files: listed.sort(byUri) };
}

function byUri(a: object, b: object): number {
  const [left, right] = [a, b].map((item) => (item as { uri: string }).uri) as [string, string];
  return left < right ? -1 : Number(left > right);
}

/** Waits until the server has noticed a change. */
async function otherThan(held: Skill, get: () => Promise<Skill>): Promise<Skill> {
  for (;;) {
    const skill = await get();
    if (JSON.stringify(skill) !== JSON.stringify(held)) return skill;
    await sleep(20);
  }
}

function withCode(driver: SkillDriver, code: number): (error: unknown) => boolean {
  return (error) => {
    equal(driver.codeOf(error), code, `error code of: ${error}`);
    return true;
  };
}

function refused(driver: SkillDriver, reason: "unlisted" | "differs"): (error: unknown) => boolean {
  return (error) => {
    equal(driver.refusalOf(error), reason, `refusal of: ${error}`);
    return true;
  };
}
