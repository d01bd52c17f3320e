import { execFile } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { delimiter } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const exec = promisify(execFile);

/** SDKs in other languages. The folder of each language has the programs, and the file that pins the version. */
export type PeerSdk = "python" | "fastmcp" | "go" | "rust" | "java";

/** Commands of an SDK's programs: the server takes `<mode> <folder>`, the client `<era> <target ...>`. */
export interface Programs {
  readonly serve: readonly string[];
  readonly drive: readonly string[];
}

export interface Peer extends Programs {
  /** Programs with skills, if the SDK has them. */
  readonly skills?: Programs;
  /** Programs with tasks, if the SDK has them. */
  readonly tasks?: Programs;
}

const PREPARE: Readonly<Record<PeerSdk, () => Promise<Peer>>> = {
  python: () => installPython("python", ""),
  fastmcp: () => installPython("fastmcp", "fastmcp_"),
  go: buildGo,
  rust: buildRust,
  java: buildJava,
};

export function isPeer(sdk: string): sdk is PeerSdk {
  return Object.hasOwn(PREPARE, sdk);
}

const prepared = new Map<PeerSdk, Promise<Peer>>();

/** Returns the programs of an SDK, built or installed once into the cache; rejects with the reason if that fails. */
export function peerOf(sdk: PeerSdk): Promise<Peer> {
  const known = prepared.get(sdk) ?? PREPARE[sdk]().catch((error: Error) => refuse(`${sdk}: ${error.message}`));
  prepared.set(sdk, known);
  return known;
}

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const exe = process.platform === "win32" ? ".exe" : "";

/** Builds always: Go and Cargo have caches of their own, and do nothing if nothing changed. */
async function buildGo(): Promise<Peer> {
  const program = pathOf(`cache/go/interop${exe}`);
  await run("go", ["build", "-o", program, "."], { cwd: pathOf("go") });
  return { serve: [program, "serve"], drive: [program, "drive"] };
}

async function buildRust(): Promise<Peer> {
  const target = pathOf("cache/rust");
  await run("cargo", ["build", "--quiet", "--target-dir", target], { cwd: pathOf("rust") });
  const program = `${target}/debug/interop${exe}`;
  return { serve: [program, "serve"], drive: [program, "drive"] };
}

/** Maven compiles what changed. The folder of its output has the libraries too. */
async function buildJava(): Promise<Peer> {
  await run("mvn", ["--quiet", "--batch-mode", "compile"], { cwd: pathOf("java") });
  const classPath = [pathOf("cache/java/classes"), pathOf("cache/java/lib/*")].join(delimiter);
  const program = ["java", "-cp", classPath, "interop.Main"];
  return { serve: [...program, "serve"], drive: [...program, "drive"] };
}

/** Creates an environment with the packages of the requirements file, unless the cache has one for the same file. */
async function installPython(sdk: PeerSdk, prefix: string): Promise<Peer> {
  const requirements = pathOf(`python/${prefix}requirements.txt`);
  const wanted = readFileSync(requirements, "utf8");
  const folder = pathOf(`cache/${sdk}`);
  const stamp = `${folder}/requirements.txt`;
  const python = `${folder}/${process.platform === "win32" ? "Scripts/python.exe" : "bin/python"}`;
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
    rmSync(folder, { recursive: true, force: true });
    await run("python3", [
      "-c",
      "import sys; sys.exit(sys.version_info < (3, 10) and 'Python 3.10 or newer is needed')",
    ]);
    await run("python3", ["-m", "venv", folder]);
    const quiet = ["--quiet", "--disable-pip-version-check", "--retries=1"];
    await run(python, ["-m", "pip", "install", ...quiet, "-r", requirements]);
    writeFileSync(stamp, wanted);
  }
  const command = (program: string) => [python, "-B", pathOf(`python/${prefix}${program}.py`)];
  const skills = { serve: command("skills_server"), drive: command("skills_client") };
  const tasks = { serve: command("tasks_server"), drive: command("tasks_client") };
  return { serve: command("server"), drive: command("client"), ...(sdk === "fastmcp" && { skills, tasks }) };
}

async function run(file: string, args: string[], options: { cwd?: string } = {}): Promise<void> {
  await exec(file, args, options).catch((error: NodeJS.ErrnoException & { stderr?: string }) => {
    if (error.code === "ENOENT") refuse(`${file} not found`);
    const said = error.stderr
      ?.trim()
      .split("\n")
      .findLast((line) => line !== "");
    refuse(`${file} ${args[0]} failed: ${said ?? error.message}`);
  });
}

function refuse(reason: string): never {
  throw new Error(reason);
}
