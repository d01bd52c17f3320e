import { alone } from "./lib/check.mjs";
import { execTool, lines } from "./lib/exec.mjs";

/** One formatter and linter for all code: biome, with warnings as errors. */
export const format = {
  name: "format, lint",
  async run() {
    const { code, output } = await execTool("@biomejs/biome/bin/biome", ["ci", "--error-on-warnings", "--colors=off"]);
    return { problems: code === 0 ? [] : lines(output), note: output.match(/Checked \d+ files/)?.[0] };
  },
};

await alone(import.meta.url, format);
