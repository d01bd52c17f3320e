import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alone } from "./lib/check.mjs";
import { Declarations } from "./lib/declarations.mjs";
import { execNode, execTsc, lines } from "./lib/exec.mjs";
import { fetchProgram } from "./lib/fetch.mjs";
import { at, packageEntries, readJson, shown } from "./lib/project.mjs";
import { stagePackage } from "./package.mjs";

/** Programs in `scripts/declarations`: `harbour` exports servers, `host` exports clients of them. */
const PACKAGES = ["harbour", "host"];

/** Packages that the programs import besides this one. */
const COMPANIONS = ["@opentelemetry/api", "@types/node", "@valibot/to-json-schema", "arktype", "jose", "oauth4webapi"];

/** Optional peers whose types the declarations of an entry need. The program needs them at run time, too. */
const PEERS = {
  "bowline/auth/issuer": ["jose"],
  "bowline/auth/server": ["jose"],
  "bowline/otel": ["@opentelemetry/api"],
};

/** Folder of the newest types of Node in node_modules. Other programs have the oldest. */
const NEWEST_NODE = "types-node-newest";

/** Older TypeScript. It is not in node_modules, where its `tsc` would replace the project's own. */
const OLDER = "5.9.3";

/** Entries of extensions, with the entry that every program with the extension imports too. */
const EXTENDED = {
  "bowline/skills/server": "bowline/server",
  "bowline/skills/client": "bowline/client",
  "bowline/tasks/server": "bowline/server",
  "bowline/tasks/client": "bowline/client",
  "bowline/state": "bowline/server",
};

const settings = {
  compilerOptions: {
    target: "es2023",
    lib: ["es2023", "esnext.disposable", "dom", "dom.iterable", "dom.asynciterable"],
    module: "nodenext",
    strict: true,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: ".",
    types: ["node"],
  },
};

/**
 * Looks for types in public signatures that no entry exports. Then compiles packages that export a server and a client,
 * with declarations, against the package as users install it. The second package sees only the declarations of the
 * first. At last, imports each entry without packages that it does not need. All are compiled by the project's TypeScript
 * and by an older one.
 */
export const declarations = {
  name: "declarations",
  async run() {
    const older = await fetchProgram({ source: `typescript@${OLDER}`, file: "bin/tsc" });
    const compilers = { [readJson(at("node_modules/typescript/package.json")).version]: execTsc };
    compilers[OLDER] = (args, options) => execNode([older, ...args], options);
    const compiled = await Promise.all(
      Object.entries(compilers).flatMap(([version, compile]) => [
        inHome(version, compile, publishAll),
        inHome(version, compile, importEach),
      ]),
    );
    const problems = [...unnameable(), ...compiled.flat()];
    return { problems, note: `TypeScript ${Object.keys(compilers).join(" and ")}` };
  },
};

/**
 * Finds types that a program cannot import. A function or class may name only types of its own entry, or of the entry
 * that this one extends. Interfaces and aliases may name types of any entry.
 */
function unnameable() {
  const declarations = new Declarations();
  const key = ({ file, name }) => `${file}#${name}`;
  const entries = packageEntries().map(({ specifier, types }) => {
    const origins = [...declarations.exportsOf(types).values()];
    return { specifier, origins, keys: new Set(origins.map(key)) };
  });
  // A symbol that is a member of a type marks it as one of ours. Nobody writes its name.
  const isMark = (used) => /^const [\w$]+: unique symbol;/.test(declarations.textOf(used));
  const missing = (origin, exported) =>
    declarations.signatureReferencesOf(origin).filter((used) => !exported.has(key(used)) && !isMark(used));
  const all = new Set(entries.flatMap(({ keys }) => [...keys]));
  const problems = new Set();
  const keysOf = (specifier) => entries.find((entry) => entry.specifier === specifier)?.keys ?? [];
  for (const { specifier, origins, keys: own } of entries) {
    const keys = new Set([...own, ...keysOf(EXTENDED[specifier])]);
    for (const origin of origins) {
      for (const used of missing(origin, declarations.isValue(origin) ? keys : all)) {
        problems.add(`${specifier}: ${origin.name} names ${used.name} (${shown(used.file)}), which is not exported`);
      }
    }
  }
  return [...problems];
}

/** Runs a part of the check in an empty folder, which is deleted afterwards. */
async function inHome(version, compile, part) {
  const home = mkdtempSync(join(tmpdir(), "bowline-declarations-"));
  try {
    const problems = await part(home, compile);
    return problems.map((problem) => `TypeScript ${version}: ${problem}`);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function publishAll(home, compile) {
  const modules = join(home, "node_modules");
  await install(modules, [...COMPANIONS, "valibot", "zod"]);
  const problems = [];
  for (const name of PACKAGES) problems.push(...(await publish(home, name, compile)));
  return problems;
}

/**
 * Imports all entries with the newest types of Node, and checks the declarations too (`skipLibCheck: false`). A peer is
 * installed only for the entries that need it.
 */
async function importEach(home, compile) {
  const groups = new Map();
  for (const { specifier } of packageEntries()) {
    const peers = PEERS[specifier] ?? [];
    groups.set(peers.join(), { peers, entries: [...(groups.get(peers.join())?.entries ?? []), specifier] });
  }
  const problems = [];
  for (const [name, { peers, entries }] of groups) {
    const folder = join(home, name === "" ? "without-peers" : `with-${name.replace("/", "-")}`);
    const modules = join(folder, "node_modules");
    await install(modules, peers);
    cpSync(at("node_modules", NEWEST_NODE), join(modules, "@types/node"), { recursive: true });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    writeFileSync(join(folder, "all.ts"), entries.map((entry) => `import "${entry}";\n`).join(""));
    problems.push(
      ...(await compileIn(folder, { ...settings.compilerOptions, skipLibCheck: false }, "all.ts", compile)),
    );
  }
  return problems;
}

async function install(modules, packages) {
  cpSync(await stagePackage(), join(modules, "bowline"), { recursive: true });
  for (const name of closure(packages)) cpSync(at("node_modules", name), join(modules, name), { recursive: true });
}

async function compileIn(folder, compilerOptions, file, compile) {
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [file] }));
  const { code, output } = await compile(["-p", folder, "--pretty", "false"]);
  return code === 0 ? [] : lines(output).map((line) => line.replace(/^\S*bowline-declarations-\w+\//, ""));
}

/** Returns the packages and all their dependencies, without optional peers. */
function closure(names) {
  const found = new Set(names);
  for (const name of found) {
    const { dependencies = {} } = readJson(at("node_modules", name, "package.json"));
    for (const other of Object.keys(dependencies)) found.add(other);
  }
  return found;
}

/** Compiles a package. Other packages see only its declarations. */
async function publish(home, name, compile) {
  const source = join(home, name);
  const installed = join(home, "node_modules", name);
  cpSync(at("scripts/declarations", name), source, { recursive: true });
  mkdirSync(installed);
  const [file] = readdirSync(source);
  const manifest = { name, type: "module", exports: { types: `./${file.replace(/\.ts$/, ".d.ts")}` } };
  writeFileSync(join(source, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(installed, "package.json"), JSON.stringify(manifest));
  // The declarations of all packages are checked once.
  const options = { ...settings.compilerOptions, outDir: installed, skipLibCheck: name !== PACKAGES.at(-1) };
  return compileIn(source, options, file, compile);
}

await alone(import.meta.url, declarations);
