import { join, resolve } from "node:path";
import type { Skill, SkillsClient } from "../../entry/skills/client.js";
import { saveNew } from "../content.js";
import type { CommandContext } from "../context.js";
import { UsageError } from "../failures.js";
import { textValue } from "../parse.js";
import { withClient } from "../session.js";
import { unknownName } from "../suggest.js";
import { visible, visibleLine } from "../text.js";

/** Lists the skills of a server, or shows, verifies and saves one. */
export async function skills(context: CommandContext): Promise<void> {
  const { line, values } = context;
  const [name] = line.names;
  if (name === undefined && values.out !== undefined) throw new UsageError("--out needs the name of a skill");
  const { SkillsClient } = await import("../../entry/skills/client.js");
  await withClient(context, async (client) => {
    const all = new SkillsClient(client);
    const options = { signal: context.io.signal };
    const listing = await all.list(options);
    if (name === undefined && values.verify !== true) return printList(listing, context);
    const wanted = name === undefined ? listing.skills : [named(name, listing.skills)];
    const told: object[] = [];
    for (const skill of wanted) told.push(await showSkill(all, skill, name !== undefined, context));
    context.finish(name === undefined ? { skills: told } : told[0], () => {});
  });
}

function printList(
  {
    skills: found,
    invalid,
  }: { skills: readonly Skill[]; invalid: readonly { uri: string | undefined; problem: string }[] },
  context: CommandContext,
): void {
  const { screen } = context;
  context.finish({ skills: found, ...(invalid.length > 0 && { invalid }) }, () => {
    for (const { uri, frontmatter, resources } of found) {
      const files = resources === "dynamic" ? "dynamic" : `${resources.length} files`;
      screen.line(
        `${screen.paint("cyan", visibleLine(frontmatter.name))}  ${screen.paint("dim", `${visibleLine(uri)}, ${files}`)}`,
      );
      screen.line(`    ${visibleLine(frontmatter.description)}`);
    }
    for (const { uri = "an entry", problem } of invalid)
      screen.note(screen.tint("yellow", `${visibleLine(uri)}: ${visibleLine(problem)}`));
    if (found.length === 0) screen.line("no skills");
  });
}

/** Returns the skill with a name or URI. A name that two skills have is not guessed. */
function named(name: string, all: readonly Skill[]): Skill {
  const found = all.filter(({ uri, frontmatter }) => uri === name || frontmatter.name === name);
  if (found.length > 1)
    throw new UsageError(
      `${found.length} skills are called ${JSON.stringify(name)}; write a URI: ${found.map(({ uri }) => visibleLine(uri)).join(", ")}`,
    );
  if (found[0] === undefined)
    throw unknownName(
      "skill",
      name,
      all.map(({ frontmatter }) => frontmatter.name),
    );
  return found[0];
}

/** Reads a skill: its SKILL.md, and with `--verify` or `--out` all files. Each is verified by its digest. */
async function showSkill(all: SkillsClient, entry: Skill, isNamed: boolean, context: CommandContext): Promise<object> {
  const { io, screen, values } = context;
  const options = { signal: io.signal };
  const held = await all.load(entry, options);
  const out = textValue("out", values);
  const files: object[] = [];
  const readsAll = values.verify === true || out !== undefined;
  const base = entry.uri.slice(0, entry.uri.lastIndexOf("/") + 1);
  for (const resource of readsAll && entry.resources !== "dynamic" ? entry.resources : []) {
    const path = resource.uri.slice(base.length);
    const file = await held.read(path, options);
    const saved = out === undefined ? undefined : await saveNew(placeOf(resolve(io.cwd, out), path), file.bytes);
    files.push({ path, size: resource.size, digest: resource.digest, ...(saved !== undefined && { saved }) });
    if (!context.isJson)
      screen.line(`${screen.paint("green", "verified")}  ${visibleLine(path)}  ${resource.size} bytes`);
  }
  if (isNamed && !readsAll && !context.isJson) screen.line(visible(held.body).trimEnd());
  return { skill: entry, ...(readsAll ? { files } : { body: held.body }) };
}

/** Returns the path of a file below a folder. Throws if the name of the server leads out of it. */
function placeOf(folder: string, path: string): string {
  const parts = decoded(path).split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".." || /[\\:\p{Cc}]/u.test(part)))
    throw new UsageError(`the file ${JSON.stringify(visibleLine(path))} of the skill has a name that is not saved`);
  return join(folder, ...parts);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    // The name has a percent sign that begins no code. It is saved as it is.
    return path;
  }
}
