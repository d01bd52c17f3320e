import type { Skill } from "../types.js";

/** Skill with its server. */
export interface ServerSkill {
  readonly server: string;
  readonly entry: Skill;
}

/** Skills of the same name, or of names that look the same. */
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

/**
 * Letters of other scripts, and digits, that look like a Latin letter in most fonts. The list is short on purpose: a
 * letter that only resembles one would make honest names collide.
 */
const LOOKALIKES: readonly (readonly [latin: string, others: string])[] = [
  ["a", "\u0251\u0430\u03b1"],
  ["c", "\u0441"],
  ["d", "\u0501"],
  ["e", "\u0435"],
  ["g", "\u0261\u0581"],
  ["h", "\u04bb\u0570"],
  ["i", "\u0131\u0269\u0456\u03b9"],
  ["j", "\u0458\u0575"],
  ["k", "\u043a\u03ba"],
  ["l", "1\u01c0\u04cf"],
  ["n", "\u03b7\u0578"],
  ["o", "0\u043e\u03bf\u03c3\u0585"],
  ["p", "\u0440\u03c1"],
  ["q", "\u051b\u0566"],
  ["s", "\u0455"],
  ["u", "\u03c5\u057d"],
  ["v", "\u0475\u03bd"],
  ["w", "\u051d\u03c9"],
  ["x", "\u0445\u03c7"],
  ["y", "\u0443\u04af\u03b3"],
];

const LATIN: ReadonlyMap<string, string> = new Map(
  LOOKALIKES.flatMap(([latin, others]) => [...others].map((other) => [other, latin] as const)),
);

/** Returns the same text for names that look the same, even if their letters are of other scripts or invisible. */
function alike(name: string): string {
  // Invisible characters are removed first, since they keep the parts of a letter from being composed.
  const letters = name
    .replace(/\p{Default_Ignorable_Code_Point}/gu, "")
    .normalize("NFKC")
    .toLowerCase();
  return [...letters].map((letter) => LATIN.get(letter) ?? letter).join("");
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
