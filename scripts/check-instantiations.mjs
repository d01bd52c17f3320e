import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { alone } from "./lib/check.mjs";
import { execTsc, lines } from "./lib/exec.mjs";
import { at, readJson } from "./lib/project.mjs";

const folder = at("build/instantiations");

const settings = {
  extends: "../../tsconfig.base.json",
  compilerOptions: { noEmit: true, composite: false, incremental: false },
  files: ["two-hundred-tools.ts"],
};

/** Compares the cost of the types of a server with 200 tools with `scripts/budgets.json`. */
export const instantiations = {
  name: "instantiations",
  async run() {
    if (!existsSync(at("dist/entry/server.d.ts"))) return { problems: ["dist/entry/server.d.ts does not exist"] };
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "two-hundred-tools.ts"), program(200));
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
    const { code, output } = await execTsc(["-p", folder, "--extendedDiagnostics", "--pretty", "false"]);
    if (code !== 0) return { problems: [...new Set(lines(output).filter((line) => line.includes("error")))] };
    const count = Number(output.match(/^Instantiations:\s+([\d,]+)/m)?.[1].replaceAll(",", ""));
    const seconds = Number(output.match(/^Check time:\s+([\d.]+)s/m)?.[1]);
    const budget = readJson(at("scripts/budgets.json")).twoHundredTools;
    return { problems: judge(count, seconds, budget), note: `${count} of ${budget.instantiations}, ${seconds} s` };
  },
};

function judge(count, seconds, budget) {
  if (!(count > 0) || Number.isNaN(seconds)) return ["the compiler printed no diagnostics"];
  if (budget.instantiations === null) return [`scripts/budgets.json sets no limit; measured ${count}`];
  const problems = [];
  if (count > budget.instantiations) problems.push(`${count} instantiations, budget ${budget.instantiations}`);
  if (seconds > budget.checkSeconds) problems.push(`${seconds} s to check, budget ${budget.checkSeconds}`);
  return problems;
}

function program(count) {
  const tools = Array.from(
    { length: count },
    (_, index) => `  .tool("tool-${index}", {
    description: "Tool ${index}",
    input: z.object({ city: z.string(), days: z.number().int().optional(), unit${index}: z.enum(["c", "f"]) }),
    output: z.object({ value${index}: z.number(), notes: z.array(z.string()) }),
  }, async ({ city, unit${index} }) => ({ value${index}: city.length, notes: [unit${index}] }))`,
  );
  return `import { McpServer } from "bowline/server";
import * as z from "zod";

export const server = new McpServer({ name: "many", version: "1.0.0" })
${tools.join("\n")};
`;
}

await alone(import.meta.url, instantiations);
