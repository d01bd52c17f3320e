import { alone } from "./lib/check.mjs";
import { execTool, lines } from "./lib/exec.mjs";
import { withTarball } from "./lib/pack.mjs";

/** Whether the types of the packed package resolve for every kind of importer that an ESM-only package serves. */
export const resolvedTypes = {
  name: "attw",
  run: () =>
    withTarball(async ({ tarball }) => {
      const args = [tarball, "--profile", "esm-only", "--no-color", "--no-emoji", "--format", "ascii"];
      const { code, output } = await execTool("@arethetypeswrong/cli/dist/index.js", args);
      return { problems: code === 0 ? [] : lines(output) };
    }),
};

await alone(import.meta.url, resolvedTypes);
