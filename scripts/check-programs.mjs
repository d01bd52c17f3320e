import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { transform } from "esbuild";
import { alone } from "./lib/check.mjs";
import { lines } from "./lib/exec.mjs";
import { fetchNode } from "./lib/fetch.mjs";
import { importsOf } from "./lib/imports.mjs";
import { blocksOf, fileNameOf, outputAfter, pages } from "./lib/markdown.mjs";
import { at, readJson } from "./lib/project.mjs";
import { stagePackage } from "./package.mjs";

/** Versions of Node that run TypeScript. Older ones run the same programs as JavaScript. */
const NODES = ["22.23.3", "24.21.0"];

/** The one that runs this script. */
const HERE = { version: process.versions.node, program: process.execPath, isOld: !process.features.typescript };

/** Programs that run at once. */
const AT_ONCE = 2;

/** Maximum time of a program. It needs less than a second on a machine that does nothing else. */
const LIMIT_MS = 120_000;

/** Variables that programs read. */
const VARIABLES = {
  ALLOWED_HOSTS: "example.com",
  STATE_KEY: randomBytes(32).toString("base64"),
  OLD_STATE_KEY: randomBytes(32).toString("base64"),
};

/**
 * Runs each TypeScript block of the pages that is a program, with the package as users install it. A block is a program
 * unless it declares a value that only the reader has, or a comment above it says why it does not run. Blocks with a name
 * are files beside the other blocks of the page. A server has to listen, and to end when it is asked to; any other program
 * has to end by itself, and to print the block without a language that follows it, if there is one.
 */
export const programs = {
  name: "programs",
  async run() {
    const home = mkdtempSync(join(tmpdir(), "bowline-programs-"));
    try {
      const found = pages().flatMap(programsOf);
      const { nodes, warnings } = await findNodes(fetchNode, HERE);
      await furnish(home, found);
      const runsOn = ({ isOld }) => found.filter(({ isRun, isForNewer }) => isRun && !(isForNewer && isOld));
      const queue = nodes.flatMap((node) => runsOn(node).map((program) => ({ node, program })));
      const runs = queue.length;
      const problems = [];
      const work = async () => {
        for (let next = queue.shift(); next !== undefined; next = queue.shift())
          problems.push(...(await runOn(next.node, next.program, home)));
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      return { ...outcomeOf(runs, nodes, problems), warnings };
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
};

/** Returns the blocks of a page with their complete code. */
function programsOf(page) {
  let before = "";
  return blocksOf(page).map(({ place, code, rule, notRun, isForNewer }, index) => {
    const front = rule === undefined ? "" : rule === "continue" ? before : `${rule}\n`;
    before = `${front}${code}`;
    const isRun = (notRun === undefined || isForNewer) && !/\bdeclare /.test(before);
    const output = outputAfter(page, code);
    return { page, place, name: fileNameOf(code) ?? `${index + 1}.ts`, code: before, isRun, isForNewer, output };
  });
}

/**
 * Returns the versions of Node to run on: the fetched ones and, if it runs no TypeScript, the one that runs this script. Where
 * none can be fetched, that one is the only one.
 */
export async function findNodes(fetch, here) {
  const warnings = [];
  const nodes = here.isOld ? [here] : [];
  for (const version of NODES) {
    try {
      nodes.push({ version, program: await fetch(version) });
    } catch ({ message }) {
      warnings.push(`not run on Node ${version}: ${message}`);
    }
  }
  return { nodes: nodes.length === 0 ? [here] : nodes, warnings };
}

/** Returns the result of the check. A check without runs has shown nothing, so it fails. */
export function outcomeOf(runs, nodes, problems) {
  const versions = nodes.map(({ version }) => version).join(", ");
  return { problems: runs === 0 ? ["no program ran"] : problems, note: `${runs} runs on Node ${versions}` };
}

/** Makes the package, and all packages that the programs import, available below a folder. */
async function furnish(home, found) {
  writeFileSync(join(home, "package.json"), JSON.stringify({ name: "home", private: true, type: "module" }));
  const peers = Object.keys(readJson(at("package.json")).peerDependencies);
  const names = found.flatMap(({ code }) => importsOf(code).map(({ specifier }) => packageOf(specifier))).concat(peers);
  for (const name of new Set(names)) {
    if (name === undefined) continue;
    const place = join(home, "node_modules", name);
    mkdirSync(dirname(place), { recursive: true });
    if (name === "bowline") cpSync(await stagePackage(), place, { recursive: true });
    else symlinkSync(at("node_modules", name), place, "junction");
  }
}

function packageOf(specifier) {
  if (/^(\.|node:)/.test(specifier)) return undefined;
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

/** Runs a program in a folder of its own, in which the other files of its page are too. Returns its problems. */
async function runOn({ version, program: node, isOld }, program, home) {
  const folder = mkdtempSync(join(home, "run-"));
  const files = blocksOf(program.page).flatMap(({ code }) => (fileNameOf(code) ? [[fileNameOf(code), code]] : []));
  const ports = await portsOf([program.code, ...files.map(([, code]) => code)]);
  const put = async (name, code) => {
    const text = code.replaceAll(PORT, (_, before, port) => before + ports.get(port));
    writeFileSync(join(folder, isOld ? toScript(name) : name), isOld ? await asScript(text) : text);
  };
  for (const [name, code] of files) await put(name, code);
  await put(program.name, program.code);
  const [port] = [...program.code.matchAll(LISTENS)].map(([, port]) => ports.get(port));
  const outcome = await play(node, isOld ? toScript(program.name) : program.name, folder, port);
  const [problem, ...told] = problemsOf(program, outcome);
  return problem === undefined ? [] : [`${program.place}: Node ${version}: ${problem}`, ...told];
}

/** Ports that programs listen on or connect to. Each run gets free ones instead. */
const PORT = /(port: |listen\(|127\.0\.0\.1:|localhost:)(\d{4,5})\b/g;
const LISTENS = /(?:port: |listen\()(\d{4,5})\b/g;

async function portsOf(codes) {
  const wanted = codes.flatMap((code) => [...code.matchAll(PORT)].map(([, , port]) => port));
  const ports = new Map();
  for (const port of new Set(wanted)) ports.set(port, await freePort());
  return ports;
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const toScript = (name) => name.replace(/\.ts$/, ".js");

async function asScript(code) {
  const { code: script } = await transform(code, { loader: "ts", format: "esm", target: "node20" });
  return script.replaceAll(/(['"`]|\.\/[\w-]+)\.ts(['"`])/g, "$1.js$2").replaceAll(/"([\w-]+)\.ts"/g, '"$1.js"');
}

/** Runs a file until it ends. If it listens on a port, asks it to end as soon as the port answers. */
function play(node, file, cwd, port) {
  return new Promise((resolve) => {
    // Programs start servers by the command `node`.
    const env = { ...process.env, ...VARIABLES, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
    const child = spawn(node, [file], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    const outcome = { stdout: "", output: "", isAsked: false, isLate: false };
    child.stdout.setEncoding("utf8").on("data", (text) => {
      outcome.stdout += text;
      outcome.output += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text) => {
      outcome.output += text;
    });
    const timer = setTimeout(() => {
      outcome.isLate = true;
      child.kill("SIGKILL");
    }, LIMIT_MS);
    let isOver = false;
    child.on("error", ({ message }) => resolve({ ...outcome, output: message, code: 1 }));
    child.on("close", (code, signal) => {
      isOver = true;
      clearTimeout(timer);
      resolve({ ...outcome, code, signal });
    });
    const ask = async () => {
      while (!isOver && !(await answers(port))) await sleep(50);
      outcome.isAsked = !isOver;
      child.kill("SIGTERM");
    };
    if (port !== undefined) ask();
  });
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => socket.end(() => resolve(true)));
    socket.on("error", () => resolve(false));
  });
}

function problemsOf({ output: wanted }, { code, signal, stdout, output, isAsked, isLate }) {
  if (isLate) return [`did not end within ${LIMIT_MS} ms`, ...lines(output)];
  if (isAsked && signal === "SIGTERM") return [];
  if (code !== 0) return [`ended with ${signal ?? `exit code ${code}`}`, ...lines(output)];
  return wanted === undefined || wanted === stdout ? [] : ["printed something else:", ...lines(stdout)];
}

await alone(import.meta.url, programs);
