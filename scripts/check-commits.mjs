import { alone } from "./lib/check.mjs";
import { exec, lines } from "./lib/exec.mjs";

const form = /^(feat|fix|perf|refactor|test|docs|build|ci)\([a-z0-9-]+\)!?: \S.*[^.\s]$/;

/**
 * Checks the subjects of commits: `node scripts/check-commits.mjs [range]`. The default range is `origin/main..HEAD`;
 * merges are ignored. Not a part of `npm run check`, since a clone may have no history.
 */
export const commits = {
  name: "commits",
  async run() {
    const range = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? "origin/main..HEAD";
    const { code, stdout, output } = await exec("git", ["log", "--no-merges", "--format=%h %s", range]);
    if (code !== 0) return { problems: lines(output) };
    const found = lines(stdout).map((line) => [line, problemOf(line.slice(line.indexOf(" ") + 1))]);
    const problems = found
      .filter(([, problem]) => problem !== undefined)
      .map(([line, problem]) => `${line}: ${problem}`);
    return { problems, note: `${found.length} since ${range}` };
  },
};

export function problemOf(subject) {
  if (subject.length > 72) return `${subject.length} characters; 72 are allowed`;
  return form.test(subject) ? undefined : "not of the form type(scope): imperative (CONTRIBUTING.md has the types)";
}

await alone(import.meta.url, commits);
