import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { at } from "./lib/project.mjs";

const page = at("docs/doctor.md");
const RULES = /<!-- rules -->\n[\s\S]*?<!-- end of the rules -->\n/;
const HOSTS = /<!-- restrictions -->\n[\s\S]*?<!-- end of the restrictions -->\n/;

/** What a rule needs, as readers know it. */
const NEEDS = {
  process: "a command",
  url: "a URL",
  try: "`--try`",
  slow: "`--slow`",
  hosts: "`--hosts`",
};

/**
 * Writes the rules of the doctor, and what hosts refuse, into `docs/doctor.md`: `node scripts/doctor-page.mjs`. Needs the
 * build. The `docs` check fails if the page is not current.
 */
export async function doctorPage() {
  const { RULES: rules } = await import(at("dist/doctor/rules/index.js"));
  const { RESTRICTIONS } = await import(at("dist/doctor/portability.js"));
  const written = readFileSync(page, "utf8");
  const sections = rules.map(ruleText).join("\n");
  const rows = RESTRICTIONS.map(rowOf).join("");
  const text = written
    .replace(RULES, () => `<!-- rules -->\n\n${sections}\n<!-- end of the rules -->\n`)
    .replace(
      HOSTS,
      () =>
        `<!-- restrictions -->\n\n| host | keyword | effect | remedy | evidence |\n| --- | --- | --- | --- | --- |\n${rows}\n<!-- end of the restrictions -->\n`,
    );
  return { text, isCurrent: text === written && RULES.test(written) && HOSTS.test(written) };
}

function ruleText({ id, finds, remedy, needs, requirement }) {
  const facts = [
    ...(needs.length > 0 ? [`Needs ${needs.map((need) => NEEDS[need]).join(" and ")}.`] : []),
    ...(requirement ? [`Requirement: \`${requirement}\`.`] : []),
  ];
  const more = facts.length > 0 ? `\n${facts.join(" ")}\n` : "";
  return `#### ${id}\n\nFinds ${finds}.\n\nRemedy: ${remedy}\n${more}`;
}

function rowOf({ host, keyword, effect, remedy, source, checked, removed }) {
  const evidence = source === undefined ? "none" : `[read on ${checked.replaceAll("/", "-")}](${source})`;
  const asked = removed ? " (told with `--for` alone, since nearly all hosts remove it)" : "";
  const shown = keyword.replaceAll("|", "\\|");
  return `| ${host} | ${shown} | ${effect}${asked} | ${remedy} | ${evidence} |\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, (await doctorPage()).text);
