import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import type { CommandContext } from "../context.js";
import { UsageError } from "../failures.js";
import { bowlineVersion, templateFolder } from "../package.js";
import { textValue } from "../parse.js";
import { visibleLine } from "../text.js";

/** Starts a project: writes the files of a template into a folder that has none of them. */
export async function init(context: CommandContext): Promise<void> {
  const { line, values, io, screen } = context;
  const template = textValue("template", values) ?? "stdio";
  const folder = resolve(io.cwd, line.names[0] ?? ".");
  const files = await filesOf(template, nameOf(folder), values.js === true);
  await mkdir(folder, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`the folder ${folder} cannot be made (${error.code ?? error}); choose another folder`);
  });
  const present = new Set(await readdir(folder));
  const taken = Object.keys(files).filter((file) => present.has(file));
  if (taken.length > 0)
    throw new UsageError(`${folder} already has ${taken.join(", ")}; choose another folder, nothing was written`);
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text, { flag: "wx" });
  context.finish({ folder, template, files: Object.keys(files) }, () => {
    for (const file of Object.keys(files)) screen.line(visibleLine(join(relative(io.cwd, folder), file)));
  });
  const enter = folder === io.cwd ? "" : `cd ${visibleLine(relative(io.cwd, folder))} && `;
  screen.note(`Next: ${enter}npm install && npm test`);
}

/** Name of the package, which npm restricts. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|-+$/g, "");
  return name === "" ? "my-project" : name;
}

/** Returns the files of a project. The programs of templates have no types written in them, and so are JavaScript too. */
async function filesOf(template: string, name: string, isJs: boolean): Promise<Record<string, string>> {
  const folder = templateFolder(template);
  const ext = isJs ? "js" : "ts";
  const main = template === "host" ? "host" : "server";
  const built = isJs ? `${main}.js` : `dist/${main}.js`;
  const replaced = (text: string) =>
    text
      .replaceAll("{{name}}", name)
      .replaceAll("{{ext}}", ext)
      .replaceAll("{{server}}", built)
      .replaceAll("npm run build && ", isJs ? "" : "npm run build && ");
  const files: Record<string, string> = { "package.json": toText(manifestOf(name, main, isJs)) };
  if (!isJs) files["tsconfig.json"] = toText(TSCONFIG);
  for (const file of (await readdir(folder)).sort())
    files[isJs ? file.replace(/\.ts$/, ".js") : file] = replaced(await readFile(join(folder, file), "utf8"));
  return files;
}

function toText(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

const TSCONFIG = {
  compilerOptions: {
    target: "es2023",
    module: "nodenext",
    strict: true,
    skipLibCheck: true,
    types: ["node"],
    outDir: "dist",
  },
  include: ["*.ts"],
};

function manifestOf(name: string, main: string, isJs: boolean): object {
  const scripts = isJs
    ? { start: `node ${main}.js`, test: "node --test" }
    : {
        build: "tsc",
        start: `npm run --silent build && node dist/${main}.js`,
        test: `npm run --silent build && node --test dist/${main}.test.js`,
      };
  return {
    name,
    version: "0.1.0",
    private: true,
    type: "module",
    engines: { node: ">=20.19" },
    scripts,
    dependencies: { bowline: `^${bowlineVersion()}`, ...(main === "server" && { zod: "^4.2.0" }) },
    ...(isJs ? {} : { devDependencies: { "@types/node": "^20.19.0", typescript: ">=5.9" } }),
  };
}
