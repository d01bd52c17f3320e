import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { at } from "../scripts/lib/project.mjs";
import { hostProgram } from "./stage.mjs";

const LIMIT_MS = 120_000;

/** Runs the suite in a worker that listens on 127.0.0.1, and returns its outcomes. */
export async function runInWorkerd(program) {
  mkdirSync(at("runtimes/cache"), { recursive: true });
  const folder = mkdtempSync(at("runtimes/cache/worker-"));
  try {
    const config = join(folder, "config.capnp");
    writeFileSync(config, configFor(await bundle(folder)));
    return await serve(program, config);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Bundles in parts, with the conditions that wrangler sets. No module of Node may be needed. */
async function bundle(folder) {
  const { outputFiles } = await build({
    entryPoints: [hostProgram("workerd")],
    absWorkingDir: at(),
    bundle: true,
    splitting: true,
    write: false,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    conditions: ["workerd", "worker", "browser"],
    outdir: folder,
    logLevel: "silent",
  });
  for (const { path, contents } of outputFiles) writeFileSync(path, contents);
  return outputFiles.map(({ path }) => basename(path)).sort((a, b) => rank(a) - rank(b));
}

/** The worker itself must be the first module. */
const rank = (name) => (name === "workerd.js" ? 0 : 1);

const configFor = (modules) => `using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const worker :Workerd.Worker = (
  modules = [${modules.map((name) => `(name = "${name}", esModule = embed "${name}")`).join(", ")}],
  compatibilityDate = "2026-11-01",
);
`;

async function serve(program, config) {
  const child = spawn(program, ["serve", config, "--control-fd=1"], { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const ended = once(child, "close");
  try {
    const port = await Promise.race([portOf(child), ended.then(() => undefined)]);
    if (port === undefined) throw new Error(`workerd did not start: ${said.trim()}`);
    const response = await fetch(`http://127.0.0.1:${port}/run`, { signal: AbortSignal.timeout(LIMIT_MS) });
    const body = await response.text();
    if (!response.ok) throw new Error(`the worker answered ${response.status}: ${body} ${said.trim()}`);
    return JSON.parse(body);
  } finally {
    child.kill();
    await ended;
  }
}

async function portOf(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const { event, port } = JSON.parse(line);
    if (event === "listen") return port;
  }
  return undefined;
}
