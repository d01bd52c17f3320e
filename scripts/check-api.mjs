import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { alone } from "./lib/check.mjs";
import { Declarations } from "./lib/declarations.mjs";
import { at, filesBelow, packageEntries, shown } from "./lib/project.mjs";

/**
 * Compares the public interface in `api/*.md` with the declarations of the build. `--update` rewrites the files. A name
 * that several entries export must be the same declaration, so that a program can import from all of them, and so must a
 * name in a signature. Then looks for
 * internals: object types that a user reaches from an export, and that no entry exports; and constructors of classes that
 * no entry exports as a value.
 */
export const api = {
  name: "api",
  async run() {
    const update = process.argv.includes("--update");
    const problems = [];
    const reports = new Map();
    const entries = packageEntries().filter(({ types }) => existsSync(types));
    const homes = homesOf(entries);
    for (const entry of packageEntries()) {
      const file = at("api", `${entry.subpath === "." ? "index" : entry.subpath.slice(2).replaceAll("/", "-")}.md`);
      if (!existsSync(entry.types)) problems.push(`${entry.subpath}: ${shown(entry.types)} does not exist`);
      else reports.set(file, report(entry, homes));
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
    problems.push(...ambiguous(entries), ...internals(entries));
    return { problems, note: `${reports.size} entries` };
  },
};

/** True for a name of an entry that is imported in the place of another entry, or of the official SDK. */
const isStandIn = (specifier, name) =>
  specifier === "bowline/compat" || (specifier === "bowline/server/modern" && name === "McpServer");

/**
 * Returns the names that two entries declare differently, and those that a signature uses for something else than the entries
 * do: a declaration that is exported by another name, or by none.
 */
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
  const read = new Set();
  for (const { specifier, types } of entries) {
    for (const [name, origin] of declarations.exportsOf(types)) {
      if (read.has(key(origin))) continue;
      read.add(key(origin));
      for (const used of declarations.signatureReferencesOf(origin)) {
        const owner = owners.get(used.name);
        if (owner === undefined || key(owner.origin) === key(used) || isStandIn(specifier, used.name)) continue;
        const other = `${used.name} of ${shown(used.file)}`;
        found.push(
          `${specifier}: ${name} names ${other}, and ${used.name} of ${owner.specifier} is another type; rename one`,
        );
      }
    }
  }
  return found;
}

/**
 * Returns a line for each class, interface or alias of an object type that the declarations of an export name, directly or
 * through others, and that no entry exports. Other aliases are followed and not reported: they compute types for inference,
 * and nobody writes their names. Returns a line, too, for each constructor of a class that entries export as a type only.
 */
export function internals(entries) {
  const declarations = new Declarations();
  const found = entries.map(({ specifier, types }) => ({
    specifier,
    origins: [...declarations.exportsOf(types).values()],
  }));
  const exported = new Set(found.flatMap(({ origins }) => origins.map(key)));
  const isInternal = (origin) => !exported.has(key(origin)) && declarations.isObjectType(origin);
  const values = new Set(found.flatMap(({ origins }) => origins.filter(({ isType }) => !isType).map(key)));
  const problems = new Map();
  for (const { specifier, origins } of found) {
    for (const origin of origins.filter((each) => !values.has(key(each)) && declarations.isConstructible(each))) {
      const what = `${origin.name} (${shown(origin.file)})`;
      const problem = "the constructor is declared, and no entry exports the class as a value; mark it @internal";
      if (!problems.has(key(origin))) problems.set(key(origin), `${specifier}: ${what}: ${problem}`);
    }
    const paths = new Map(origins.map((origin) => [key(origin), [origin]]));
    for (const path of paths.values()) {
      const last = path.at(-1);
      // What only an internal type names is not reported besides it.
      if (isInternal(last)) {
        const names = path.map(({ name }) => name).join(" > ");
        const what = `${last.name} (${shown(last.file)})`;
        problems.set(key(last), problems.get(key(last)) ?? `${specifier}: ${names}: no entry exports ${what}`);
        continue;
      }
      for (const used of declarations.referencesOf(last)) {
        if (!paths.has(key(used))) paths.set(key(used), [...path, used]);
      }
    }
  }
  return [...problems.values()];
}

/** Returns the first entry that exports each declaration. */
function homesOf(entries) {
  const declarations = new Declarations();
  const homes = new Map();
  for (const { specifier, types } of entries) {
    if (!existsSync(types)) continue;
    for (const origin of declarations.exportsOf(types).values()) {
      if (!homes.has(key(origin))) homes.set(key(origin), specifier);
    }
  }
  return homes;
}

/**
 * Returns the text of an entry. A declaration that several entries export is in the text of the first, in the order of
 * `package.json`; the others name it. So the types of the protocol are in that of the root.
 */
function report({ specifier, types }, homes) {
  const declarations = new Declarations();
  const exported = [...declarations.exportsOf(types)].sort(byName);
  const isOwn = ([, origin]) => homes.get(key(origin)) === specifier;
  const own = exported.filter(isOwn);
  const others = new Map();
  for (const [name, origin] of exported) {
    const home = homes.get(key(origin));
    if (home !== specifier) others.set(home, [...(others.get(home) ?? []), name]);
  }
  const helpers = new Map();
  for (const [, origin] of own) {
    for (const used of declarations.referencesOf(origin)) {
      if (!homes.has(key(used))) helpers.set(key(used), [used.name, used]);
    }
  }
  const part = (heading, found) => (found.length === 0 ? [] : [`## ${heading}\n`, blockOf(found, declarations)]);
  return [
    `# ${specifier}\n`,
    "Made by `npm run api` from the build; a change here is a change of the public interface.\n",
    ...part("Exported", own),
    ...[...others].map(([home, found]) => `## As in ${home}\n\n${listOf(found)}\n`),
    ...part("Used by the above, not exported", [...helpers.values()].sort(byName)),
  ].join("\n");
}

/** Returns declarations as one block, with an empty line between any two. */
function blockOf(found, declarations) {
  const texts = found.map(([name, origin]) => {
    const alias = name === origin.name ? "" : `// exported as ${name}\n`;
    return `${alias}${declarations.textOf(origin)}\n`;
  });
  return `\`\`\`ts\n${texts.join("\n")}\`\`\`\n`;
}

/** Returns names as a paragraph with a line for each first letter, so that a new name changes one line. */
function listOf(names) {
  const lines = new Map();
  for (const name of names) lines.set(name[0], [...(lines.get(name[0]) ?? []), name]);
  return [...lines.values()].map((group) => group.join(", ")).join(",\n");
}

const key = ({ file, name }) => `${file}#${name}`;

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
