import { equal, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Answers, Driver, Era, ProgressReport, Target } from "./driver.js";
import { drive, type Neighbour } from "./neighbours.js";
import type { Outcome } from "./run-pair.js";

const run = promisify(execFile);
const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const WANTED = "mcp==2.3.0";
const ERAS: readonly Era[] = ["legacy", "modern"];
const answers: Answers = { elicit: () => ({ action: "decline" }), sample: () => "", roots: [] };

/** The official Python SDK as server and as client. */
export const pythons: readonly Neighbour[] = ERAS.flatMap((era) => [
  { pair: `bowline -> python stdio ${era}`, needs: preparePython, run: () => driveServer(era) },
  { pair: `python -> bowline stdio ${era}`, needs: preparePython, run: () => runClient(era) },
]);

let prepared: Promise<string> | undefined;

/** The interpreter, made ready once; rejects with the reason when it cannot be had. */
function preparePython(): Promise<string> {
  prepared ??= findPython();
  return prepared;
}

/** The interpreter of an environment in the cache that has the SDK; made once. */
async function findPython(): Promise<string> {
  const folder = pathOf("cache/python");
  const python = pathOf(process.platform === "win32" ? "cache/python/Scripts/python.exe" : "cache/python/bin/python");
  const ready =
    existsSync(python) &&
    (await run(python, ["-c", "from importlib.metadata import version; assert version('mcp') == '2.3.0'"]).then(
      Boolean,
      () => false,
    ));
  if (ready) return python;
  rmSync(folder, { recursive: true, force: true });
  const recent = "import sys; sys.exit(sys.version_info < (3, 10))";
  await run("python3", ["-c", recent]).catch(() => refuse("there is no Python 3.10 or newer"));
  await run("python3", ["-m", "venv", folder]).catch(() => refuse("Python cannot make an environment"));
  const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", WANTED];
  await run(python, install, { timeout: 120_000 }).catch(() => refuse(`pip cannot install ${WANTED}`));
  return python;
}

function refuse(reason: string): never {
  throw new Error(reason);
}

async function driveServer(era: Era): Promise<Outcome[]> {
  const python = await preparePython();
  const target: Target = { wire: "stdio", command: python, args: [pathOf("python/server.py")] };
  return drive(`bowline -> python stdio ${era}`, target, answers, era, {
    version: async (driver: Driver) => equal(driver.version, era === "legacy" ? "2025-11-25" : "2026-07-28"),
    list: async (driver) => equal((await driver.listTools()).sort().join(), "add,count,echo,fail"),
    plain: async (driver) => equal((await driver.callTool("echo", { text: "a\nb\u2028c" })).text, "a\nb\u2028c"),
    structured: async (driver) =>
      equal(JSON.stringify((await driver.callTool("add", { a: 2, b: 3 })).structured), '{"sum":5}'),
    progress: async (driver) => {
      const seen: ProgressReport[] = [];
      await driver.callTool("count", { to: 3 }, { onProgress: (report) => void seen.push(report) });
      equal(seen.map(({ message }) => message).join(), "step 1,step 2,step 3");
    },
    "tool error": async (driver) => equal((await driver.callTool("fail", {})).isError, true),
    resource: async (driver) => equal(await driver.readResource("note://1"), "a note"),
    prompt: async (driver) => ok((await driver.getPrompt("greet", { city: "Oslo" })).includes("Oslo")),
  });
}

async function runClient(era: Era): Promise<Outcome[]> {
  const python = await preparePython();
  const pair = `python -> bowline stdio ${era}`;
  const server = fileURLToPath(new URL("./servers/bowline.js", import.meta.url));
  try {
    const args = [pathOf("python/client.py"), era, process.execPath, server, "stdio"];
    const { stdout } = await run(python, args, { timeout: 60_000 });
    const told = JSON.parse(stdout) as readonly { check: string; problem: string | null }[];
    return told.map(({ check, problem }) => ({ pair, check, problem: problem ?? undefined, ms: 0 }));
  } catch (error) {
    return [{ pair, check: "connect", problem: String(error), ms: 0 }];
  }
}
