import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { sqliteNodes } from "../../scripts/lib/engines.mjs";
import { createFolder, support } from "../support.mjs";

/** Time for which a node waits for the write lock of the file. */
const TIMEOUT_MS = 1_000;

/** Program that holds the write lock of a file for a time. */
const LOCK = `
  const { DatabaseSync } = await import("node:sqlite");
  const [path, ms] = process.argv.slice(1);
  const file = new DatabaseSync(path, { timeout: 10_000 });
  file.exec("BEGIN IMMEDIATE");
  await new Promise((resolve) => setTimeout(resolve, Number(ms)));
  file.exec("ROLLBACK");
`;

/**
 * A file has no server to kill. Its outages are, in turn, the end of all nodes at once, and a process that holds the write
 * lock for longer than nodes wait for it.
 */
export async function openEngine() {
  const { program, problem } = (await sqliteNodes()).find((node) => node.program !== undefined) ?? {};
  if (program === undefined) throw new Error(problem ?? "no version of Node with SQLite could be fetched");
  const folder = await createFolder();
  const address = join(folder, "state.db");
  let outages = 0;
  const outage = (fault) => (outages++ % 2 === 0 ? killAll(fault) : lock(program, address, TIMEOUT_MS + fault.ms));
  const end = async () => rmSync(folder, { recursive: true, force: true });
  return { address, program, outage, end };
}

async function killAll({ nodes, fault }) {
  fault.nodes = nodes.slots.map((slot) => nodes.nameOf(slot));
  await Promise.all(nodes.slots.map((slot) => nodes.kill(slot)));
  await Promise.all(nodes.slots.map((slot) => nodes.startNode(slot)));
  // Nothing can recover before.
  fault.backAt = Date.now();
}

async function lock(program, path, ms) {
  const args = ["--input-type=module", "--eval", LOCK, path, `${ms}`];
  const { killAfterUs } = await support("engines/orphans.js");
  const child = spawn(program, args, { stdio: "ignore" });
  child.once("exit", killAfterUs(child.pid));
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`the process that locks ${path} ended with ${code}`);
}

export async function connectNode(path) {
  const { sqliteCluster } = await import("bowline/sqlite");
  const cluster = sqliteCluster({ path, timeoutMs: TIMEOUT_MS });
  await cluster.ready;
  return cluster;
}
