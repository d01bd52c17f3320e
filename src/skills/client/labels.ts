import type { Skill } from "../types.js";

/** Skill with its server. */
export interface ServerSkill {
  readonly server: string;
  readonly entry: Skill;
}

/** Skills of the same name. */
export interface SkillCollision {
  readonly name: string;
  /** True if the host has a skill of this name itself. */
  readonly own: boolean;
  readonly skills: readonly { readonly server: string; readonly uri: string }[];
}

/**
 * Returns a label for each skill: its name, or, where that is ambiguous, its name with the server, or with the server and
 * the URI. A name of the host's own skills is never a label.
 */
export function labelSkills(
  skills: readonly ServerSkill[],
  ownNames: readonly string[],
): { readonly labels: readonly string[]; readonly collisions: readonly SkillCollision[] } {
  const own = new Set(ownNames.map(alike));
  const sameName = groupBy(skills, ({ entry }) => alike(entry.frontmatter.name));
  const sameServer = groupBy(skills, ({ entry, server }) => inServer(alike(entry.frontmatter.name), server));
  const labels = skills.map(({ server, entry: { uri, frontmatter } }) => {
    const { name } = frontmatter;
    const key = alike(name);
    if (sameName.get(key)?.length === 1 && !own.has(key)) return name;
    const label = inServer(name, server);
    const isUnique = sameServer.get(inServer(key, server))?.length === 1 && !own.has(alike(label));
    return isUnique ? label : `${name} (${server}: ${uri})`;
  });
  const collisions = [...sameName].flatMap(([key, group]) => {
    if (group.length === 1 && !own.has(key)) return [];
    const identities = group.map(({ server, entry: { uri } }) => ({ server, uri }));
    return [{ name: group[0]?.entry.frontmatter.name ?? key, own: own.has(key), skills: identities }];
  });
  return { labels, collisions };
}

/** Returns the same text for names that look the same. */
function alike(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

function inServer(name: string, server: string): string {
  return `${name} (${server})`;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
