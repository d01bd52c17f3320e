import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { PublishedStart } from "../published-servers.js";
import type { Told } from "./judged.js";

const bowline = join(dirname(createRequire(import.meta.url).resolve("bowline/package.json")), "dist/cli/bin.js");
const root = fileURLToPath(new URL("../../../../build/doctored", import.meta.url));

/** An examination needs seconds. Servers start slowly on a busy machine. */
const LIMIT_MS = 180_000;
const MAX_BYTES = 64 * 1024 * 1024;

/** Returns where a server works. */
export function folderOf(name: string): string {
  return join(root, "folders", name);
}

/** Returns the recording of an examination, whose lines are the evidence. */
export function recordingOf(name: string): string {
  return join(root, `${name}.rec.ndjson`);
}

/** Examines a server by `bowline doctor`, which calls none of its tools. */
export async function examineServer(
  name: string,
  { command, args, env, cwd }: PublishedStart,
): Promise<readonly Told[]> {
  mkdirSync(root, { recursive: true });
  const variables = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  const record = ["--record", recordingOf(name), "--overwrite"];
  const argv = [bowline, "doctor", "--json", ...record, ...variables, "--", command, ...args];
  const { code, stdout, stderr } = await run(argv, cwd);
  // 1 tells of an error among the findings.
  if (code !== 0 && code !== 1)
    throw new Error(`${name}: bowline doctor ended with ${code}: ${stderr.trim() || stdout.trim()}`);
  const { result } = JSON.parse(stdout) as { readonly result: { readonly findings: readonly Told[] } };
  return result.findings;
}

function run(
  argv: readonly string[],
  cwd: string,
): Promise<{ readonly code: unknown; readonly stdout: string; readonly stderr: string }> {
  const options = { cwd, timeout: LIMIT_MS, maxBuffer: MAX_BYTES };
  return new Promise((resolve) => {
    execFile(process.execPath, argv, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (error.code ?? error.signal), stdout, stderr });
    });
  });
}
