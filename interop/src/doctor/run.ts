import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { type PublishedStart, prepare, publishedServers } from "../published-servers.js";
import { examineServer, folderOf, recordingOf } from "./examine.js";
import { compareFindings, type Judged, type Told } from "./judged.js";

/**
 * Examines published servers by the doctor: `npm run interop -- --recorded --doctor [name ...] [--json]`. Fails at a finding
 * that is not in `judged.json`, at one without a line of evidence, and at a judged one that is no longer found. A server that
 * is not available is reported and is no failure.
 */
const judged = JSON.parse(readFileSync(new URL("../../../judged.json", import.meta.url), "utf8")) as readonly Judged[];
const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const json = process.argv.includes("--json") || process.env.npm_config_json === "true";
const examined = new Map<string, readonly Told[]>();
const unavailable: { readonly server: string; readonly reason: string }[] = [];

// One after the other: a busy machine would be the reason of a slow start.
for (const server of publishedServers) {
  if (names.length > 0 && !names.includes(server.name)) continue;
  let start: PublishedStart;
  try {
    start = await prepare(server, folderOf(server.name));
  } catch (error) {
    unavailable.push({ server: server.name, reason: (error as Error).message });
    continue;
  }
  examined.set(server.name, await examineServer(server.name, start));
}

const { doubts, missing } = compareFindings(examined, judged);
const ok = examined.size > 0 && doubts.length === 0 && missing.length === 0;
process.exitCode = ok ? 0 : 1;
if (json) {
  const servers = Object.fromEntries(examined);
  console.log(JSON.stringify({ ok, servers, doubts, missing, unavailable }, null, 2));
} else {
  for (const [server, findings] of examined) printServer(server, findings);
  for (const { server, finding, problem } of doubts)
    console.log(`FAIL ${server}: ${finding.rule} at ${finding.place}: ${problem}`);
  for (const { server, rule, place } of missing) console.log(`FAIL ${server}: ${rule} at ${place}: no longer found`);
  for (const { server, reason } of unavailable) console.log(`${server}: ${reason}, left out`);
  const count = [...examined.values()].flat().length;
  console.log(`\n${count} findings on ${examined.size} servers; ${doubts.length} in doubt, ${missing.length} missing`);
}

function printServer(server: string, findings: readonly Told[]): void {
  console.log(`${server}  ${relative(process.cwd(), recordingOf(server))}`);
  for (const { rule, level, text, evidence } of findings) {
    const lines = evidence.map(({ line }) => line).join(",");
    console.log(`  ${level.padEnd(9)}${rule.padEnd(20)}${lines.padEnd(14)}${text}`);
  }
}
