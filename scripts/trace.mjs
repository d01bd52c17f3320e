/**
 * Follows one warm `tools/call` per wire and side through the source and counts
 *
 * - files: the files of src whose functions are entered;
 * - changes: how often the call goes from one file of src to another, by a call or by a return;
 * - entries: the function entries, and how many consecutive pairs are in different files ("at entries").
 *
 * A task is followed from its `tools/call` to the response to the one `tasks/get` after its end. One server takes both, and
 * another one of its cluster runs the tool. The cluster is in the memory of the process, and its engine is followed too.
 *
 * The tool echoes its input, which has a JSON Schema, and its handler returns a value at once. Some hundred calls run
 * before. On the server the call begins with the arrival of the request and ends with the response. On the client it
 * begins with `callTool` and ends with its result. Work that the end starts in the same turn or the next one counts
 * too. One side is instrumented, in its own process. The other side runs in this process without instruments.
 *
 * Every function with a body counts: declarations, arrow functions, methods, accessors, constructors. Code without a
 * function body does not count: the top level of a module, field initialisers, static blocks. Functions outside of src
 * (the handler, packages, the engine) do not count either. A call through them leads from the function of src before
 * them to the one after them. A function that continues after `await` is not entered again. Between two turns of the
 * event loop, the call goes from the place where the first turn began to the place where the next one begins.
 *
 * Usage: npm run trace -- [words of a name, such as "http modern server"] [--list] [--pairs] [--check] [--json]
 */
import { fork } from "node:child_process";
import { realpathSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { at, wantsJson } from "./lib/project.mjs";
import { count, mostCommon } from "./trace/count.mjs";
import { openClient, openServer, openTaskClient } from "./trace/subject.mjs";

/**
 * Maximum counts of a call, by the name of its trace: the files of today, and a few changes more, since versions of Node
 * deliver the parts of a response in more or fewer turns. Lower them when a path gets shorter.
 */
const LIMITS = {
  "http modern server": { files: 30, changes: 128 },
  "http legacy server": { files: 36, changes: 180 },
  "memory modern server": { files: 27, changes: 93 },
  "memory legacy server": { files: 26, changes: 85 },
  "http modern client": { files: 25, changes: 173 },
  "http legacy client": { files: 26, changes: 187 },
  "memory modern client": { files: 19, changes: 81 },
  "memory legacy client": { files: 19, changes: 81 },
  "memory modern task": { files: 73, changes: 843 },
};

/** Lines of a file and of a function on a path above which `--check` warns. */
const FILE_LINES = 300;
const FUNCTION_LINES = 60;

/** Warm calls. A task is two requests and a pause. */
const WARM_CALLS = 300;
const WARM_TASKS = 100;
const TRACED_CALLS = 9;
const TIMEOUT_MS = 60_000;
/**
 * Pause between traced calls, so that they do not share parts such as a timer that calls within a millisecond share.
 */
const PAUSE_MS = 10;

const traces = [
  ...["server", "client"].flatMap((side) =>
    ["http", "memory"].flatMap((wire) => ["modern", "legacy"].map((era) => ({ wire, era, side }))),
  ),
  { wire: "memory", era: "modern", side: "task" },
];
const nameOf = ({ wire, era, side }) => `${wire} ${era} ${side}`;

/** Counts every call and reports those over a limit. Large files and functions are warnings. */
export const paths = {
  name: "trace",
  async run() {
    const results = await measureAll([]);
    const note = results.map(({ name, files, changes }) => `${name} ${files}/${changes}`).join(", ");
    const [problems, warnings] = [results.flatMap((one) => one.problems), results.flatMap((one) => one.warnings)];
    return { problems, warnings, note: `files/changes: ${note}` };
  },
};

/** Measures the traces whose names contain all of the words. */
async function measureAll(words) {
  const chosen = traces.filter((trace) => words.every((word) => nameOf(trace).split(" ").includes(word)));
  if (chosen.length === 0) throw new Error(`no trace is named so; there are: ${traces.map(nameOf).join(", ")}`);
  const results = [];
  for (const trace of chosen) results.push(judge(nameOf(trace), await record(trace)));
  return results;
}

/** Counts a call. Counts over a limit of the trace are problems, large files and functions are warnings. */
export function judge(name, entries) {
  const counts = count(entries);
  const { files, changes, largestFile, longestFunction } = counts;
  const limits = { ...LIMITS[name], fileLines: FILE_LINES, functionLines: FUNCTION_LINES };
  const over = (value, limit, text) => (value > limit ? [`${name}: ${text}, limit ${limit}`] : []);
  const problems = [
    ...over(files, limits.files, `${files} files`),
    ...over(changes, limits.changes, `${changes} changes of file`),
  ];
  const warnings = [
    ...over(largestFile.lines, FILE_LINES, `${largestFile.file} has ${largestFile.lines} lines`),
    ...over(longestFunction.lines, FUNCTION_LINES, `${placeOf(longestFunction)} has ${longestFunction.lines} lines`),
  ];
  const steps = entries.map(({ file, name, line, stack }) => ({ file, name, line, depth: stack.length }));
  return { name, ...counts, limits, problems, warnings, steps };
}

const placeOf = ({ file, line, name }) => `${file}:${line} ${name}`;

/** Makes warm calls and returns the entries of one. */
async function record({ wire, era, side }) {
  const child = fork(at("scripts/trace/subject.mjs"), [wire, era, side], { timeout: TIMEOUT_MS });
  try {
    const traced = commandsOf(child);
    const channel = wire === "memory" ? relayTo(child) : undefined;
    const other = side === "client" ? await serverOf(traced, channel) : await clientOf(traced, channel, { side, era });
    for (let i = 0; i < (side === "task" ? WARM_TASKS : WARM_CALLS); i++) await other.call();
    const calls = [];
    for (let i = 0; i < TRACED_CALLS; i++) {
      await pause(PAUSE_MS);
      await traced("start");
      await other.call();
      calls.push(await traced("stop"));
    }
    await traced("close");
    await other.close();
    return mostCommon(calls);
  } finally {
    child.kill();
  }
}

async function clientOf(traced, channel, { side, era }) {
  const url = await traced("open");
  return side === "task" ? openTaskClient({ channel }) : openClient(url ?? { channel }, era);
}

async function serverOf(traced, channel) {
  const server = await openServer(channel);
  await traced("open", server.url);
  return { call: () => traced("call"), close: () => server.close() };
}

/** Sends commands to the traced process. Each returns a promise of its outcome. */
function commandsOf(child) {
  const waiting = new Map();
  child.on("message", ({ id, value, error }) => {
    const command = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) command?.resolve(value);
    else command?.reject(new Error(`the traced process: ${error}`));
  });
  child.on("exit", (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`the traced process ended (${signal ?? code})`));
  });
  let last = 0;
  return (command, value) =>
    new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      child.send({ id: last, command, value });
    });
}

/** Returns a channel whose frames go to and come from the traced process. */
function relayTo(child) {
  return {
    open(events) {
      child.on("message", ({ frame }) => {
        if (frame !== undefined) events.onFrame(frame);
      });
      child.on("exit", () => events.onClose(undefined));
    },
    send(frame) {
      child.send({ frame });
    },
    async close() {
      if (child.connected) child.disconnect();
    },
  };
}

function print(results) {
  const rows = results.map(
    ({ name, files, changes, entries, changesAtEntries, largestFile, longestFunction, limits }) => [
      name,
      against(files, limits.files),
      against(changes, limits.changes),
      String(entries),
      String(changesAtEntries),
      `${largestFile.file} ${against(largestFile.lines, limits.fileLines)}`,
      `${placeOf(longestFunction)} ${against(longestFunction.lines, limits.functionLines)}`,
    ],
  );
  const table = [["trace", "files", "changes", "entries", "at entries", "largest file", "longest function"], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    );
}

function against(value, limit) {
  if (limit === undefined) return String(value);
  return `${value} ${value > limit ? ">" : "<="} ${limit}`;
}

function printSteps({ name, steps }) {
  console.log(`\n${name}`);
  for (const step of steps) console.log(`${" ".repeat(step.depth)}${step.file}:${step.line} ${step.name}`);
}

function printPairs({ name, pairs }) {
  console.log(`\n${name}`);
  for (const { pair, changes } of pairs) console.log(`${String(changes).padStart(4)}  ${pair}`);
}

async function main() {
  const args = process.argv.slice(2);
  const words = args.filter((arg) => !arg.startsWith("--")).flatMap((arg) => arg.trim().split(/\s+/));
  const results = await measureAll(words);
  const problems = results.flatMap((result) => result.problems);
  const warnings = results.flatMap((result) => result.warnings);
  const isCheck = args.includes("--check");
  if (isCheck && problems.length > 0) process.exitCode = 1;
  if (wantsJson())
    return console.log(JSON.stringify({ node: process.version, problems, warnings, traces: results }, null, 2));
  print(results);
  if (args.includes("--list")) for (const result of results) printSteps(result);
  if (args.includes("--pairs")) for (const result of results) printPairs(result);
  if (!isCheck) return;
  for (const problem of problems) console.log(problem);
  for (const warning of warnings) console.log(`warning: ${warning}`);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await main();
