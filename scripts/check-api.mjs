import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { alone } from "./lib/check.mjs";
import { Declarations } from "./lib/declarations.mjs";
import { at, filesBelow, packageEntries, shown } from "./lib/project.mjs";

/**
 * Compares the public interface in `api/*.md` with the declarations of the build. `--update` rewrites the files. A name
 * that several entries export must be the same declaration, so that a program can import from all of them.
 */
export const api = {
  name: "api",
  async run() {
    const update = process.argv.includes("--update");
    const problems = [];
    const reports = new Map();
    const entries = packageEntries().filter(({ types }) => existsSync(types));
    for (const entry of packageEntries()) {
      const file = at("api", `${entry.subpath === "." ? "index" : entry.subpath.slice(2).replaceAll("/", "-")}.md`);
      if (!existsSync(entry.types)) problems.push(`${entry.subpath}: ${shown(entry.types)} does not exist`);
      else reports.set(file, report(entry));
    }
    for (const [file, text] of reports) {
      if (update) write(file, text);
      else problems.push(...difference(file, text));
    }
    for (const file of filesBelow(at("api"), ".md")) {
      if (reports.has(file)) continue;
      if (update) rmSync(file);
      else problems.push(`${shown(file)}: no such entry`);
    }
    problems.push(...ambiguous(entries));
    return { problems, note: `${reports.size} entries` };
  },
};

/** True for a name of an entry that is imported in the place of another entry, or of the official SDK. */
const isStandIn = (specifier, name) =>
  specifier === "bowline/compat" || (specifier === "bowline/server/modern" && name === "McpServer");

/** Returns the names that two entries declare differently. */
export function ambiguous(entries) {
  const declarations = new Declarations();
  const owners = new Map();
  const found = [];
  for (const { specifier, types } of entries) {
    for (const [name, origin] of declarations.exportsOf(types)) {
      if (isStandIn(specifier, name)) continue;
      const owner = owners.get(name) ?? { specifier, origin };
      owners.set(name, owner);
      if (owner.origin.file === origin.file && owner.origin.name === origin.name) continue;
      const places = [owner.origin, origin].map(({ file }) => shown(file)).join(" and ");
      found.push(
        `${name} is exported by ${owner.specifier} and by ${specifier}, which declare it in ${places}; rename one`,
      );
    }
  }
  return found;
}

function report({ specifier, types }) {
  const declarations = new Declarations();
  const key = ({ file, name }) => `${file}#${name}`;
  const exported = [...declarations.exportsOf(types)].sort(byName);
  const seen = new Map(exported.map(([name, origin]) => [key(origin), { name, origin }]));
  for (const { origin } of seen.values()) {
    for (const used of declarations.referencesOf(origin)) {
      if (!seen.has(key(used))) seen.set(key(used), { name: used.name, origin: used });
    }
  }
  const helpers = [...seen.values()]
    .map(({ name, origin }) => [name, origin])
    .slice(exported.length)
    .sort(byName);
  const section = ([name, origin]) => `### ${name}\n\n\`\`\`ts\n${declarations.textOf(origin)}\n\`\`\`\n`;
  return [
    `# ${specifier}\n`,
    "Made by `npm run api` from the build; a change here is a change of the public interface.\n",
    "## Exported\n",
    ...exported.map(section),
    ...(helpers.length === 0 ? [] : ["## Used by the above, not exported\n", ...helpers.map(section)]),
  ].join("\n");
}

const byName = ([a], [b]) => (a < b ? -1 : a > b ? 1 : 0);

function write(file, text) {
  mkdirSync(at("api"), { recursive: true });
  writeFileSync(file, text);
}

function difference(file, text) {
  if (!existsSync(file)) return [`${shown(file)} is missing; npm run api makes it`];
  const before = new Set(readFileSync(file, "utf8").split("\n"));
  const after = new Set(text.split("\n"));
  if (readFileSync(file, "utf8") === text) return [];
  const gone = [...before].filter((line) => !after.has(line)).map((line) => `  - ${line}`);
  const come = [...after].filter((line) => !before.has(line)).map((line) => `  + ${line}`);
  return [`${shown(file)} differs from the build; npm run api rewrites it`, ...gone, ...come];
}

await alone(import.meta.url, api);
