import { spawnSync } from "node:child_process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { getHeapCodeStatistics } from "node:v8";
import { Random } from "../scripts/oracle/corpus/random.mjs";
import { countHandles, countSockets, measureHeap } from "./census.mjs";
import { floodsOf } from "./floods/floods.mjs";
import { floorsOf, judge } from "./judge.mjs";
import { Lane } from "./lane.mjs";
import { parseOptions } from "./options.mjs";
import { toText } from "./report.mjs";
import { isOrdinaryReport, Tally } from "./tally.mjs";
import { LANES } from "./wires/lanes.mjs";

/**
 * Loads every wire of both eras with calls, outages and floods. Compares the resources of the process after warm-up
 * with those at the end. `npm run soak -- --help` prints the options.
 */
const options = parseOptions(process.argv.slice(2));
if (globalThis.gc === undefined) restartWithGc();

const { seconds, seed, only, json } = options;
/** A lane that does not finish a round within this time hangs. */
const HANG_MS = 600_000;
const STABLE_MS = 20_000;

const say = (text) => process.stderr.write(`${text}\n`);
say(`soak: ${seconds} s, seed ${seed}`);

const elsewhere = new Tally();
process.on("unhandledRejection", (error) => elsewhere.surprise("unhandled rejection", error));
process.on("uncaughtException", (error) => elsewhere.surprise("uncaught exception", error));
process.on("warning", (warning) => elsewhere.surprise("warning", warning));
// These are created on first access, so access them before anything is counted.
void process.stdin;
void process.stdout;
watchForHangs();
const pauses = monitorEventLoopDelay();
pauses.enable();
const empty = { handles: countHandles() };

const floodTallies = new Map();
const chosen = LANES.filter(({ name }) => only.length === 0 || only.some((start) => name.startsWith(start)));
const lanes = chosen.map((spec, index) => {
  const tally = new Tally();
  const onReport = (error) => {
    if (!isOrdinaryReport(error)) tally.surprise("report", error);
  };
  const onStderr = (line) => tally.surprise("stderr", line);
  const env = { onReport, onStderr, ran: spec.wire === "stdio" ? undefined : new Map() };
  const random = new Random(seed + 7919 * index);
  return new Lane(spec, env, { random, tally, floods: floodsOf(spec, floodTallies) });
});

const begun = performance.now();
const elapsed = () => (performance.now() - begun) / 1000;
for (const lane of lanes) await lane.open();
// Compiled code is part of the heap, and the engine continues to compile for a while. A third of a run is warm-up.
await runUntil(() => elapsed() > seconds / 3 && lanes.every(({ isWarm }) => isWarm));
say(`warm after ${Math.round(elapsed())} s`);
const before = await takeCensus();
// A short run takes longer than asked if its warm-up leaves too little time for growth.
const end = Math.max(seconds, elapsed() + seconds / 2);
await runUntil(() => elapsed() > end);
const after = await takeCensus(before);
const ran = Math.round(elapsed());
for (const lane of lanes) await lane.close();
const closed = { expected: empty.handles, handles: await settledHandles(empty.handles) };
await finish();

async function runUntil(isOver) {
  await Promise.all(lanes.map((lane) => lane.run(isOver)));
}

/**
 * Counts resources while nothing happens. `wanted` is an earlier census; handles may take a while to return to its
 * counts.
 */
async function takeCensus(wanted) {
  const stats = {};
  const children = {};
  for (const lane of lanes) {
    const held = await lane.rest();
    stats[lane.name] = held.stats;
    if (held.child !== undefined) children[lane.name] = held.child;
  }
  const handles = await settledHandles(wanted?.handles);
  const heap = await measureHeap();
  const code = getHeapCodeStatistics().code_and_metadata_size;
  return { heap, code, rss: process.memoryUsage().rss, handles, sockets: countSockets(), stats, children };
}

/** Returns the handles when they equal those that are wanted, or have not changed for a second. */
async function settledHandles(wanted) {
  const until = performance.now() + STABLE_MS;
  let same = 0;
  let last = "";
  while (performance.now() < until) {
    const now = JSON.stringify(countHandles());
    same = now === last ? same + 1 : 0;
    last = now;
    if (wanted === undefined ? same >= 10 : now === JSON.stringify(wanted)) break;
    await delay(100);
  }
  return JSON.parse(last);
}

async function finish() {
  const all = lanes.map(({ name, tally }) => toPlain(name, tally));
  if (elsewhere.unexpected > 0) all.push(toPlain("elsewhere", elsewhere));
  const longestPauseMs = Math.round(pauses.max / 1e6);
  const run = {
    seconds: ran,
    seed,
    longestPauseMs,
    lanes: all,
    floods: [...floodTallies.values()],
    before,
    after,
    closed,
  };
  const problems = judge({ ...run, floors: only.length > 0 ? {} : floorsOf(seconds) });
  const document = { ...run, ok: problems.length === 0, problems };
  const told = json ? JSON.stringify(document, undefined, 2) : toText(document);
  await new Promise((resolve) => process.stdout.write(`${told}\n`, resolve));
  process.exit(problems.length === 0 ? 0 : 1);
}

function toPlain(name, { messages, ...counts }) {
  return { name, ...counts, messages: [...messages].map(([message, count]) => ({ message, count })) };
}

/**
 * Ends a run in which nothing moves. Also keeps the process alive, since lanes that wait for nothing would end it
 * silently.
 */
function watchForHangs() {
  const seen = new Map();
  setInterval(() => {
    for (const lane of lanes) {
      const progress = `${lane.tally.rounds} ${lane.doing}`;
      const known = seen.get(lane);
      if (known?.progress !== progress) seen.set(lane, { progress, at: performance.now() });
      else if (lane.doing !== "resting" && performance.now() - known.at > HANG_MS) {
        say(`${lane.name} hangs in round ${progress} (${lane.client?.pending} calls are under way)`);
        say(JSON.stringify(toPlain(lane.name, lane.tally), undefined, 2));
        process.exit(1);
      }
    }
  }, 5_000);
}

/** Restarts the process with a flag, since Node collects garbage on demand only with it. */
function restartWithGc() {
  const { status, signal } = spawnSync(process.execPath, ["--expose-gc", ...process.argv.slice(1)], {
    stdio: "inherit",
  });
  process.exit(status ?? (signal === null ? 0 : 1));
}
