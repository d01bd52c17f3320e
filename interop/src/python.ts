import { execFile } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const exec = promisify(execFile);
const VERSION = "2.3.0";

/** A file of this workspace. */
export const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

let prepared: Promise<string> | undefined;

/** The interpreter of an environment in the cache that has the official SDK, made once; rejects with the reason. */
export function preparePython(): Promise<string> {
  prepared ??= findPython();
  return prepared;
}

async function findPython(): Promise<string> {
  const folder = pathOf("cache/python");
  const python = pathOf(process.platform === "win32" ? "cache/python/Scripts/python.exe" : "cache/python/bin/python");
  const installed = `from importlib.metadata import version; assert version("mcp") == "${VERSION}"`;
  const ready = existsSync(python) && (await exec(python, ["-c", installed]).then(Boolean, () => false));
  if (ready) return python;
  rmSync(folder, { recursive: true, force: true });
  const recent = "import sys; sys.exit(sys.version_info < (3, 10))";
  await exec("python3", ["-c", recent]).catch(() => refuse("there is no Python 3.10 or newer"));
  await exec("python3", ["-m", "venv", folder]).catch(() => refuse("Python cannot make an environment"));
  const install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1", `mcp==${VERSION}`];
  await exec(python, install, { timeout: 120_000 }).catch(() => refuse(`pip cannot install mcp ${VERSION}`));
  return python;
}

function refuse(reason: string): never {
  throw new Error(`the Python SDK: ${reason}`);
}
