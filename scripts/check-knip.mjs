import { alone } from "./lib/check.mjs";
import { execTool, lines } from "./lib/exec.mjs";

/**
 * Finds files, exports and dependencies that nothing uses, and dependencies that are not listed. Runs knip with
 * knip.json.
 */
export const unused = {
  name: "knip",
  async run() {
    const args = ["--no-progress", "--treat-config-hints-as-errors", "--reporter", "json"];
    const { code, stdout, output } = await execTool("knip/bin/knip.js", args);
    const problems = stdout.startsWith("{") ? JSON.parse(stdout).issues.flatMap(told) : [];
    return { problems: code === 0 || problems.length > 0 ? problems : lines(output) };
  },
};

const told = ({ file, ...kinds }) =>
  Object.entries(kinds).flatMap(([kind, found]) => found.map(({ name }) => `${file}: ${kind}: ${name}`));

await alone(import.meta.url, unused);
