import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { alone } from "./lib/check.mjs";
import { execTsc, lines } from "./lib/exec.mjs";
import { at, readJson } from "./lib/project.mjs";

const compilerOptions = { noEmit: true, composite: false, incremental: false };

/**
 * Compares the cost of the types of servers with many tools with `scripts/budgets.json`, and with the cost of the same
 * server on the official SDK. Two sizes show a cost that grows faster than the number of tools.
 */
export const instantiations = {
  name: "instantiations",
  async run() {
    if (!existsSync(at("dist/entry/server.d.ts"))) return { problems: ["dist/entry/server.d.ts does not exist"] };
    const problems = [];
    const notes = [];
    for (const budget of readJson(at("scripts/budgets.json")).manyTools) {
      const ours = await measure(`bowline-${budget.tools}`, program(budget.tools));
      const official = await measure(`official-${budget.tools}`, officialProgram(budget.tools));
      problems.push(...ours.problems, ...official.problems);
      if (problems.length > 0) break;
      problems.push(...judge(budget, ours, official));
      const times = (ours.count / official.count).toFixed(2);
      notes.push(`${budget.tools} tools: ${ours.count} of ${budget.instantiations}, ${times} times the official SDK`);
    }
    return { problems, note: notes.join("; ") };
  },
};

function judge(budget, { count }, official) {
  const problems = [];
  const exceeded = (what, limit) => problems.push(`${budget.tools} tools: ${what}, budget ${limit}`);
  if (count > budget.instantiations) exceeded(`${count} instantiations`, budget.instantiations);
  if (count > budget.timesOfficial * official.count)
    exceeded(`${count} instantiations, official SDK ${official.count}`, `${budget.timesOfficial} times as many`);
  return problems;
}

/** Type-checks a program. Each has a folder of its own. */
async function measure(name, text) {
  const folder = at("build/instantiations", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "server.ts"), text);
  const settings = { extends: "../../../tsconfig.base.json", compilerOptions, files: ["server.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
  const { code, output } = await execTsc(["-p", folder, "--extendedDiagnostics", "--pretty", "false"]);
  if (code !== 0) return { problems: [...new Set(lines(output).filter((line) => line.includes("error")))] };
  const count = Number(output.match(/^Instantiations:\s+([\d,]+)/m)?.[1].replaceAll(",", ""));
  return { problems: count > 0 ? [] : ["the compiler printed no diagnostics"], count };
}

const schemas = (index) => ({
  input: `z.object({ city: z.string(), days: z.number().int().optional(), unit${index}: z.enum(["c", "f"]) })`,
  output: `z.object({ value${index}: z.number(), notes: z.array(z.string()) })`,
});

const each = (count, tool) => Array.from({ length: count }, (_, index) => tool(index, schemas(index))).join("\n");

function program(count) {
  const tool = (index, { input, output }) => `  .tool("tool-${index}", {
    description: "Tool ${index}",
    input: ${input},
    output: ${output},
  }, async ({ city, unit${index} }) => ({ value${index}: city.length, notes: [unit${index}] }))`;
  return `import { McpServer } from "bowline/server";
import * as z from "zod";

export const server = new McpServer({ name: "many", version: "1.0.0" })
${each(count, tool)};
`;
}

function officialProgram(count) {
  const tool = (index, { input, output }) => `server.registerTool("tool-${index}", {
    description: "Tool ${index}",
    inputSchema: ${input},
    outputSchema: ${output},
  }, async ({ city, unit${index} }) => ({
    content: [],
    structuredContent: { value${index}: city.length, notes: [unit${index}] },
  }));`;
  return `import { McpServer } from "@modelcontextprotocol/server";
import * as z from "zod";

export const server = new McpServer({ name: "many", version: "1.0.0" });
${each(count, tool)}
`;
}

await alone(import.meta.url, instantiations);
