import { spawn } from "node:child_process";
import { delimiter, dirname } from "node:path";
import { fetchNode } from "./lib/fetch.mjs";
import { at } from "./lib/project.mjs";

/**
 * Runs a script of the project on another version of Node, fetched once into runtimes/cache: `node scripts/on-node.mjs
 * <version> [script [argument ...]]`. Without a script it runs all checks. Processes that the script starts use that
 * version too.
 */
const [version, script = "scripts/check.mjs", ...args] = process.argv.slice(2);
if (!/^\d+(\.\d+){0,2}$/.test(version ?? "")) {
  console.error("usage: npm run on-node -- <version> [script [argument ...]], such as 20.19.0 or 26");
  process.exitCode = 2;
} else await run();

async function run() {
  const node = await fetchNode(version).catch(({ message }) => console.error(message));
  process.exitCode = 1;
  if (node === undefined) return;
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  const child = spawn(node, [at(script), ...args], { cwd: at(), env, stdio: "inherit" });
  child.on("exit", (code) => {
    process.exitCode = code ?? 1;
  });
}
