import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { at, readJson } from "./lib/project.mjs";

const page = at("docs/cli.md");

/**
 * Writes the help texts of the command into `docs/cli.md`: `node scripts/cli-page.mjs`. The block that follows
 * `<!-- bowline help call -->` is the help of `call`; `<!-- bowline help -->` and `<!-- exit codes -->` mark the others. Needs the
 * build. The `docs` check fails if the page is not current.
 */
export async function cliPage() {
  const { helpOf, overview } = await import(at("dist/cli/help.js"));
  const { COMMANDS, commandNamed, EXIT_CODES } = await import(at("dist/cli/table.js"));
  const { version } = readJson(at("package.json"));
  const told = new Set();
  const written = readFileSync(page, "utf8");
  const text = written
    .replace(/<!-- bowline help ?(\w*) -->\n```\n[\s\S]*?```\n/g, (_, name) => {
      told.add(name);
      const help = name === "" ? overview(version) : helpOf(commandNamed(name));
      return `<!-- bowline help${name && ` ${name}`} -->\n\`\`\`\n${help.trimEnd()}\n\`\`\`\n`;
    })
    .replace(/<!-- exit codes -->\n\n(?:\|.*\n)*/, () => {
      const rows = EXIT_CODES.map(([code, meaning]) => `| ${code} | ${meaning} |\n`);
      return `<!-- exit codes -->\n\n| code | meaning |\n| --- | --- |\n${rows.join("")}`;
    });
  const missing = COMMANDS.map(({ name }) => name).filter((name) => !told.has(name));
  return { text, isCurrent: text === written && told.has("") && missing.length === 0, missing };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, (await cliPage()).text);
