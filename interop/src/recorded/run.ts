import { existsSync } from "node:fs";
import { type PublishedServer, publishedServers } from "../published-servers.js";
import { type Outcome, runCheck } from "../run-pair.js";
import { formatTable } from "../table.js";
import { goOffline } from "./offline.js";
import { recordedAt } from "./places.js";
import { recordServer } from "./record.js";
import { REPLAYS, replayRecorded } from "./replay.js";

/**
 * Records published servers, then replays the recordings without them: `npm run interop -- --recorded [name ...] [--json]`.
 * With `--offline` the recordings of the last run are replayed, and nothing is installed or started. A server that is not
 * available is reported and is no failure.
 */
const MAX_REPLAY_SECONDS = 30;
/** Fetching a package takes most of it. */
const RECORD_MS = 600_000;

const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const isOffline = process.argv.includes("--offline");
const json = process.argv.includes("--json") || process.env.npm_config_json === "true";
const chosen = publishedServers.filter(({ name }) => names.length === 0 || names.includes(name));
const missing: string[] = [];

const recorded = isOffline ? [] : await recordAll();
goOffline();
const begun = performance.now();
const replayed = await replayAll();
const seconds = Math.round((performance.now() - begun) / 100) / 10;
report([...recorded, ...replayed]);

/** Records two servers at a time: starting processes takes most of the time. */
async function recordAll(): Promise<Outcome[]> {
  const queue = [...chosen];
  const found: Outcome[] = [];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) found.push(await record(next));
  };
  await Promise.all([work(), work()]);
  return found;
}

function record(server: PublishedServer): Promise<Outcome> {
  return runCheck(server.name, "record", () => recordServer(server), RECORD_MS);
}

async function replayAll(): Promise<Outcome[]> {
  const found: Outcome[] = [];
  for (const server of chosen) {
    const { file, visited } = recordedAt(server.name);
    if (!existsSync(file) || !existsSync(visited)) {
      missing.push(server.name);
      continue;
    }
    for (const { check, era } of REPLAYS)
      found.push(await runCheck(server.name, check, () => replayRecorded(server, era)));
  }
  return found;
}

function report(outcomes: readonly Outcome[]): void {
  const failures = outcomes.filter(({ problem }) => problem !== undefined);
  const late = seconds > MAX_REPLAY_SECONDS;
  const passed = outcomes.length - failures.length;
  const failed = failures.length + (late ? 1 : 0);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
  if (json) {
    const ok = process.exitCode === 0;
    console.log(JSON.stringify({ ok, seconds, totals: { passed, failed }, failures, missing, outcomes }, null, 2));
    return;
  }
  if (outcomes.length > 0) console.log(formatTable(outcomes, []));
  for (const { pair, check, problem } of failures) console.log(`FAIL ${pair}: ${check}: ${problem}`);
  if (late) console.log(`FAIL replays: ${seconds} s, and the limit is ${MAX_REPLAY_SECONDS} s`);
  for (const name of missing) console.log(`${name}: no recording, left out`);
  const servers = new Set(outcomes.map(({ pair }) => pair)).size;
  console.log(`\n${passed} passed, ${failed} failed; ${servers} servers replayed in ${seconds} s without network`);
}
