import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { basename, delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { execNode, lines } from "../scripts/lib/exec.mjs";
import { at, filesBelow, readJson } from "../scripts/lib/project.mjs";

/** Folder of the suite's reports. */
export const reports = at("build/conformance");

const require = createRequire(import.meta.url);
const program = join(dirname(require.resolve("@modelcontextprotocol/conformance/package.json")), "dist/index.js");
const isOldNode = Number(process.versions.node.split(".")[0]) < 22;
const preload = isOldNode ? ["--import", pathToFileURL(at("conformance/fs-glob.mjs")).href] : [];

/** Runs the suite on the Node that runs this script. The fixtures use the same one. */
function suite(args, timeoutMs = 300_000, onLine = undefined) {
  const path = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`;
  return execNode([...preload, program, ...args], { env: { ...process.env, PATH: path }, timeoutMs, onLine });
}

/** Versions without a list of required scenarios. All scenarios that apply to them run. */
const unfrozen = ["2025-03-26", "2025-06-18"];

/** Runs all scenarios of a version on the server fixture: `[{ role, revision, scenario, checks }]`. */
export function runServerLeg(revision) {
  const choice = unfrozen.includes(revision) ? ["--suite", "all", "--spec-version"] : ["--requirements"];
  return onServer((url) => runOnServer(url, revision, `server-${revision}`, [...choice, revision]));
}

/** Runs the named scenarios on the server fixture, also those that no version requires. */
export function runServerScenarios(revision, scenarios) {
  return onServer(async (url) => {
    const found = [];
    for (const scenario of scenarios) {
      const choice = ["--scenario", scenario, "--spec-version", revision, "--force"];
      found.push(...(await runOnServer(url, revision, `server-${revision}-${scenario}`, choice)));
    }
    return found;
  });
}

async function onServer(work) {
  const server = await startFixture("server.js", "--port", "0");
  try {
    return await work(server.url);
  } finally {
    await server.stop();
  }
}

async function runOnServer(url, revision, name, choice) {
  const folder = join(reports, name);
  const { output } = await suite(["server", "--url", url, ...choice, "-o", folder]);
  const found = filesBelow(folder, "checks.json").map((file) => {
    return { role: "server", revision, scenario: scenarioOf(file, "server"), checks: readJson(file) };
  });
  if (found.length === 0) throw new Error(`the suite left no report:\n${output}`);
  return found;
}

/** Runs one client scenario. An exit code other than 0 is an error even if all checks pass. */
export async function runClientScenario(revision, scenario) {
  const folder = join(reports, `client-${revision}`, scenario.replaceAll("/", "-"));
  const command = ["--command", "node conformance/dist/client.js"];
  const choice = ["--scenario", scenario, "--spec-version", revision, "--force"];
  const { code, output } = await suite(["client", ...command, ...choice, "-o", folder], 60_000);
  const checks = filesBelow(folder, "checks.json").flatMap((file) => readJson(file));
  const said = filesBelow(folder, "stderr.txt").map((file) => readFileSync(file, "utf8"));
  const tail = lines(said.join("") || output).slice(-6);
  const error = code === 0 ? undefined : [`the runner ended with ${code}`, ...tail].join(" | ");
  return { role: "client", revision, scenario, checks, ...(error === undefined ? {} : { error }) };
}

/** Runs both scenarios of authorization servers. `browse` does what the suite asks a person to do. */
export async function runIssuerLeg(revision, browse) {
  const issuer = await startFixture("issuer.js");
  try {
    const folder = join(reports, `authorization-${revision}`);
    const client = ["--client-id", "conformance", "-p", String(await freePort())];
    let browsed = Promise.resolve();
    const onLine = (line) => {
      if (line.startsWith(`${issuer.url}/authorize?`)) browsed = browse(line).catch((error) => error);
    };
    const args = ["authorization", "--url", issuer.url, ...client, "-o", folder];
    const { code, output } = await suite(args, 60_000, onLine);
    const problem = await browsed;
    const error =
      problem?.message ?? (code === 0 ? undefined : `the runner ended with ${code}: ${lines(output).at(-1)}`);
    return filesBelow(folder, "checks.json").map((file) => {
      const scenario = scenarioOf(file, "authorization-server");
      return {
        role: "authorization",
        revision,
        scenario,
        checks: readJson(file),
        ...(error === undefined ? {} : { error }),
      };
    });
  } finally {
    await issuer.stop();
  }
}

/** Returns the scenario of a report. The suite names the folder of a report by role, scenario and time. */
function scenarioOf(file, role) {
  return basename(dirname(file))
    .replace(`${role}-`, "")
    .replace(/-\d{4}-\d\d-\d\dT[\dA-Z-]+$/, "");
}

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Starts a fixture, which prints one line with its address when it listens. */
async function startFixture(file, ...args) {
  const child = spawn(process.execPath, [at("conformance/dist", file), ...args], {
    cwd: at(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  const url = await Promise.race([firstAddress(child.stdout), ended.then(() => undefined)]);
  if (url === undefined) throw new Error(`conformance/dist/${file} ended before it printed its address`);
  return { url, stop: () => stop(child, ended, file) };
}

/** Stops a fixture. It must close everything and end by itself. */
async function stop(child, ended, file) {
  child.kill();
  const impatience = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(impatience);
  if (child.signalCode === "SIGKILL") throw new Error(`conformance/dist/${file} did not end when it was told to`);
}

async function firstAddress(stream) {
  for await (const line of createInterface(stream)) {
    const url = line.match(/https?:\/\/\S+/)?.[0];
    if (url !== undefined) {
      stream.resume();
      return url;
    }
  }
  return undefined;
}
