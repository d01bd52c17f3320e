import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A skill as every server must list it. */
export interface ExpectedSkill {
  readonly uri: string;
  readonly frontmatter: object;
  /** Files by their decoded paths in the skill. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** Frontmatter of each skill, by its path. The types are plain in every version of YAML. */
const FRONTMATTER = {
  "boat/stow-sails": { name: "stow-sails", description: "Folds and stows sails: mainsail, jib, spinnaker." },
  "chart-work": {
    name: "chart-work",
    description: "Plots a course on a chart. Use it for bearings, distances and tides.",
    license: "MIT",
    compatibility: "Needs a chart – on paper or not",
    metadata: { author: "bowline", version: "1.10" },
    "x-revision": 3,
    "x-ratio": 0.5,
    "x-checked": true,
    "x-topics": ["tides", "currents"],
    "x-limits": { knots: 12, areas: [{ name: "fjord" }] },
  },
  "chart-work/soundings": { name: "soundings", description: "Corrects soundings for the tide" },
  radio: { name: "radio", description: 'Writes "Mayday" and "Pan-pan" calls # for VHF', "allowed-tools": "Read Bash" },
} as const;

const text = (value: string) => new TextEncoder().encode(value);

/** Files of all skills: line ends, a byte order mark, bytes that are no text, and names that a URI encodes. */
const FILES: ReadonlyMap<string, Uint8Array> = new Map([
  [
    "boat/stow-sails/SKILL.md",
    text("---\nname: stow-sails\ndescription: 'Folds and stows sails: mainsail, jib, spinnaker.'\n---\n# Stow sails\n"),
  ],
  [
    "chart-work/SKILL.md",
    text(`---
# All types of values.
name: chart-work
description: >-
  Plots a course on a chart.
  Use it for bearings, distances and tides.
license: MIT
compatibility: Needs a chart – on paper or not
metadata:
  author: bowline
  version: "1.10"
x-revision: 3
x-ratio: 0.5
x-checked: true
x-topics:
  - tides
  - currents
x-limits:
  knots: 12
  areas:
    - name: fjord
---

# Chart work

Read [the tides](references/tides.md) first.
`),
  ],
  ["chart-work/assets/rose.png", Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0xff)],
  ["chart-work/assets/empty.txt", new Uint8Array()],
  ["chart-work/assets/chart.bin", Uint8Array.from({ length: 1_500_000 }, (_, index) => (index * index) % 251)],
  ["chart-work/references/tides.md", text("# Tides\r\n\r\nCount the hours from high water.\r\n")],
  ["chart-work/references/currents.txt", text("\ufeffThe current follows the tide by an hour.\n")],
  ["chart-work/references/Q&A é.md", text("Why north? It is the habit.\n")],
  ["chart-work/references/50% rule #1.md", text("Half of the tide is gone after three hours.\n")],
  ["chart-work/references/%41, it's [1] {a;b=c} @+$!^~.md", text("A name with signs.\n")],
  ["chart-work/references/old & new/fjord.md", text("It is deep.\n")],
  ["chart-work/scripts/plot.py", text('print("a course")\n')],
  ["chart-work/soundings/SKILL.md", text("---\nname: soundings\ndescription: Corrects soundings for the tide\n---\n")],
  ["chart-work/soundings/table.csv", text("depth,correction\n3.5,0.2\n")],
  [
    "radio/SKILL.md",
    text(
      '---\r\nname: radio\r\ndescription: "Writes \\"Mayday\\" and \\"Pan-pan\\" calls # for VHF"\r\nallowed-tools: Read Bash\r\n---\r\nSay it three times.\r\n',
    ),
  ],
]);

/** All skills in the order of their URIs. */
export const expectedSkills: readonly ExpectedSkill[] = Object.entries(FRONTMATTER).map(([path, frontmatter]) => ({
  uri: `skill://${path}/SKILL.md`,
  frontmatter,
  files: new Map(
    [...FILES]
      .filter(([file]) => file.startsWith(`${path}/`))
      .map(([file, bytes]) => [file.slice(path.length + 1), bytes]),
  ),
}));

/** Skill with files of each kind. */
export const CHART_WORK = "skill://chart-work/SKILL.md";

/** Names in the directory of that skill, and in two directories of it. */
export const DIRECTORIES: Readonly<Record<string, readonly string[]>> = {
  "": ["SKILL.md", "assets", "references", "scripts", "soundings"],
  references: [
    "%41, it's [1] {a;b=c} @+$!^~.md",
    "50% rule #1.md",
    "Q&A é.md",
    "currents.txt",
    "old & new",
    "tides.md",
  ],
  "references/old & new": ["fjord.md"],
};

/** Skill that Bowline's server generates for each request. */
export const DYNAMIC = "skill://daily-log/SKILL.md";

/** Skill that Bowline's server has and does not list. */
export const UNLISTED = "skill://night-orders/SKILL.md";
export const UNLISTED_FILE = "wake-me.md";
export const UNLISTED_TEXT = "Wake me if the wind shifts.\n";

export function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

/** Returns the folder of the skills in the folder of a server. */
export function skillsIn(folder: string): string {
  return join(folder, "skills");
}

/** Writes the skills for a server. */
export function writeSkills(folder: string): void {
  for (const [path, bytes] of FILES) writeSkillFile(folder, path, bytes);
}

/** Writes a file of a skill for a server. */
export function writeSkillFile(folder: string, path: string, content: string | Uint8Array): void {
  const file = join(skillsIn(folder), path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
