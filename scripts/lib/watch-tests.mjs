import { existsSync, readFileSync, statSync, watch } from "node:fs";
import { dirname, join } from "node:path";
import { execTsc } from "./exec.mjs";
import { importsOf } from "./imports.mjs";
import { at, filesBelow, packageEntries, readJson } from "./project.mjs";

/** Changes within this time are built together. */
const quietMs = 100;

/**
 * Builds after each change below `src` and `test`, and calls `onBuilt` with the built files that changed. If a build
 * fails, its output is printed and its changes are kept for the next one. Never resolves: the watch ends with the
 * process.
 */
export async function watchAndBuild(onBuilt) {
  let changed = deferred();
  for (const folder of ["src", "test"]) {
    watch(at(folder), { recursive: true }, (_, name) => {
      if (name?.endsWith(".ts") || name?.endsWith(".mjs")) changed.resolve();
    });
  }
  let since = Date.now();
  for (;;) {
    await changed.promise;
    await new Promise((resolve) => setTimeout(resolve, quietMs));
    changed = deferred();
    const begun = Date.now();
    const { code, output } = await execTsc(["-b"]);
    if (code === 0) {
      const built = filesBelow(at("dist"), ".js").concat(filesBelow(at("build/test"), ".js"));
      const written = built.filter((file) => statSync(file).mtimeMs > since);
      since = begun;
      await onBuilt(written);
    } else {
      console.log(output);
    }
  }
}

/** Returns the test files that import one of the changed files, directly or indirectly. */
export function affectedBy(changed, files) {
  const reaches = new Map();
  const follow = (file) => {
    if (reaches.has(file)) return reaches.get(file);
    reaches.set(file, false);
    const found = changed.includes(file) || importedBy(file).some(follow);
    reaches.set(file, found);
    return found;
  };
  return files.filter((file) => {
    reaches.clear();
    return follow(file);
  });
}

const imported = new Map();

function importedBy(file) {
  const stamp = statSync(file).mtimeMs;
  const known = imported.get(file);
  if (known?.stamp === stamp) return known.paths;
  const paths = importsOf(readFileSync(file, "utf8"))
    .map(({ specifier }) => resolved(specifier, file))
    .filter((path) => path !== undefined && existsSync(path));
  imported.set(file, { stamp, paths });
  return paths;
}

const entries = new Map(packageEntries().map(({ specifier, code }) => [specifier, code]));
const aliases = Object.entries(readJson(at("package.json")).imports);

function resolved(specifier, from) {
  if (specifier.startsWith(".")) return join(dirname(from), specifier);
  for (const [name, target] of aliases) {
    const start = name.slice(0, -1);
    if (specifier.startsWith(start)) return at(target.slice(0, -1), specifier.slice(start.length));
  }
  return entries.get(specifier);
}

function deferred() {
  let resolve;
  const promise = new Promise((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}
