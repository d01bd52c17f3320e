import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execNode } from "../scripts/lib/exec.mjs";
import { at } from "../scripts/lib/project.mjs";

/**
 * Runs the suite in pages of a browser, and returns its outcomes. All files of the browser are in a folder of their
 * own, so that what it leaves behind is seen.
 */
export async function runInChromium(program) {
  const folder = mkdtempSync(join(tmpdir(), "bowline-chromium-"));
  try {
    const options = { env: { ...process.env, TMPDIR: folder }, timeoutMs: 300_000 };
    const { code, stdout, output } = await execNode([at("runtimes/chromium-host.mjs"), program], options);
    if (code !== 0) throw new Error(`ended with exit code ${code}: ${output.trim()}`);
    const left = [...readdirSync(folder), ...processesOf(folder)];
    const problem = left.length === 0 ? {} : { problem: `left: ${left.join(", ")}` };
    return [...JSON.parse(stdout), { wire: "browser", check: "nothing is left", ...problem }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the processes whose command line names the folder, where the system shows them. */
function processesOf(folder) {
  if (!existsSync("/proc/self/cmdline")) return [];
  const lines = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine);
  return lines.filter((line) => line.includes(folder));
}

/** A process may end while it is looked at. */
function commandLine(id) {
  try {
    return readFileSync(`/proc/${id}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}
