import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { transformSync } from "esbuild";
import { bundle, COPIES } from "./lib/bundle.mjs";
import { execNpm } from "./lib/exec.mjs";
import { importsOf } from "./lib/imports.mjs";
import { reduceToLines } from "./lib/line-maps.mjs";
import { packagedPages, withLinks } from "./lib/markdown.mjs";
import { at, filesBelow, packageEntries, readJson, root, shown } from "./lib/project.mjs";
import { writePage } from "./page.mjs";

/** Folder of the package as users install it. `npm publish` works on it. */
export const staged = at("build/package");

let made;

/** Builds the package, once per process, and returns its folder. Needs the declarations that `tsc -b` writes. */
export function stagePackage() {
  made ??= stage();
  return made;
}

async function stage() {
  rmSync(staged, { recursive: true, force: true });
  await bundle(join(staged, "dist"));
  reduceToLines(join(staged, "dist"));
  const dist = join(staged, "dist");
  dropMaps(filesBeside(dist, "testing", "inspect"));
  for (const file of filesBeside(dist)) writeFileSync(file, withoutSpace(readFileSync(file, "utf8")));
  await writePage(join(staged, "dist"));
  put(at("dist/cli/output.schema.json"), readFileSync(at("src/cli/output.schema.json")));
  put(at("dist/cli/NOTICES.txt"), notices());
  for (const file of filesBelow(at("templates"), "")) put(file);
  for (const file of declarations()) put(file);
  putPages();
  put(at("package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
  return staged;
}

/** Returns the names, versions and licences of the packages of which the command contains copies. */
function notices() {
  const parts = Object.keys(COPIES).map((name) => {
    const { version, license, homepage } = readJson(at("node_modules", name, "package.json"));
    const [file] = readdirSync(at("node_modules", name)).filter((each) => /^licen[cs]e/i.test(each));
    const text = readFileSync(at("node_modules", name, file), "utf8").trim();
    return `${name} ${version} (${license})\n${homepage}\n\n${text}\n`;
  });
  return `The command bowline contains parts of these packages.\n\n${parts.join("\n---\n\n")}`;
}

/** Returns the files of the package that no entry loads, at once or later. The entries with these names do not count. */
function filesBeside(dist, ...names) {
  const left = new Set(names.map((name) => join(dist, "entry", `${name}.js`)));
  const loaded = new Set(filesBelow(join(dist, "entry"), ".js").filter((file) => !left.has(file)));
  for (const file of loaded) {
    const own = importsOf(readFileSync(file, "utf8")).filter(({ specifier }) => specifier.startsWith("."));
    for (const { specifier } of own) loaded.add(join(dirname(file), specifier));
  }
  return filesBelow(dist, ".js").filter((file) => !loaded.has(file));
}

/** Removes the source maps of the command, the inspector and what tests load. scripts/README.md tells why. */
function dropMaps(files) {
  for (const file of files) {
    rmSync(`${file}.map`, { force: true });
    writeFileSync(file, readFileSync(file, "utf8").replace(/\n\/\/# sourceMappingURL=.*\n*$/, "\n"));
  }
}

/** Removes what only readers need. Names stay, so that the report of a defect names its functions. */
function withoutSpace(code) {
  const options = { minifyWhitespace: true, minifySyntax: true, format: "esm", target: "node20", charset: "utf8" };
  return transformSync(code, options).code;
}

/** Returns the declarations of the entries and everything that they import. */
function declarations() {
  const found = new Set(packageEntries().map(({ types }) => types));
  for (const file of found) {
    const own = importsOf(readFileSync(file, "utf8")).filter(({ specifier }) => specifier.startsWith("."));
    for (const { specifier } of own) found.add(join(dirname(file), specifier.replace(/\.js$/, ".d.ts")));
  }
  return [...found];
}

/**
 * Adds the pages. Links to files outside of the package are changed to lead to the repository, and so are those to
 * screenshots, which are much larger than the pages.
 */
function putPages() {
  const pages = packagedPages();
  const files = [at("LICENSE"), at("llms.txt"), ...filesBelow(at("docs"), ".svg")];
  const staying = new Set([...pages, ...files]);
  const { homepage } = readJson(at("package.json"));
  const form = (path) => (path.endsWith(".png") ? "raw" : "blob");
  const lead = (path, link) => (staying.has(path) ? link : `${homepage}/${form(path)}/HEAD/${shown(path)}`);
  for (const file of files) put(file);
  for (const page of pages) put(page, withLinks(page, lead));
}

/** Returns package.json without the members that only the project needs. The entries keep their paths. */
function manifest() {
  const { private: _, scripts, workspaces, imports, devDependencies, ...kept } = readJson(at("package.json"));
  return kept;
}

/** Adds a file of the project to the package at the same path, with its own contents or the given ones. */
function put(file, contents) {
  const target = join(staged, relative(root, file));
  mkdirSync(dirname(target), { recursive: true });
  if (contents === undefined) copyFileSync(file, target);
  else writeFileSync(target, contents);
}

/** Packs the package as `npm publish` does. Returns the tarball, the paths in it, and its size in bytes. */
export async function packPackage(folder) {
  const options = ["--json", "--ignore-scripts", "--pack-destination", folder];
  const packed = await execNpm(["pack", ...options], { cwd: await stagePackage() });
  if (packed.code !== 0) throw new Error(`npm pack failed: ${packed.output}`);
  const [{ filename, files, size }] = Object.values(JSON.parse(packed.stdout));
  return { tarball: join(folder, filename), files: files.map(({ path }) => path), size };
}

/**
 * Prints why modules are in their files: those whose path below `src` contains the text or, without a text, how many
 * modules each file has and who loads it.
 */
async function explain(text) {
  const folder = at("build/why");
  const reasons = await bundle(folder);
  rmSync(folder, { recursive: true });
  if (text !== undefined) {
    for (const [module, { chunk, needs, joined }] of reasons) {
      if (!module.includes(text)) continue;
      console.log(`${module}: dist/${chunk}.js\n  needed by ${needs.join(", ")}`);
      if (joined !== undefined) console.log(`  light, so it is with what is needed by ${joined.join(", ")}`);
    }
    return;
  }
  const files = new Map();
  for (const { chunk, needs, joined, size } of reasons.values()) {
    const file = files.get(chunk) ?? { count: 0, size: 0, roots: joined ?? needs };
    files.set(chunk, { ...file, count: file.count + 1, size: file.size + size });
  }
  for (const [chunk, { count, size, roots }] of [...files].sort(([a], [b]) =>
    a.localeCompare(b, "en", { numeric: true }),
  ))
    console.log(`dist/${chunk}.js: ${count} modules, ${Math.round(size / 1000)} kB, for ${roots.join(", ")}`);
}

if (process.argv[1] === import.meta.filename) {
  const why = process.argv.indexOf("--why");
  if (why > 0) await explain(process.argv[why + 1]);
  else await makeTarball();
}

async function makeTarball() {
  for (const name of readdirSync(at("build")).filter((name) => name.endsWith(".tgz"))) rmSync(at("build", name));
  const { tarball, files, size } = await packPackage(at("build"));
  console.log(`${shown(tarball)} has ${files.length} files and ${Math.round(size / 1000)} kB. Install it in another project:

  npm install ${tarball}
  npm install ${staged}    # a link to the folder: the next npm run package changes it`);
}
