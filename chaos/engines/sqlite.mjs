import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { newerNodes } from "../../scripts/lib/engines.mjs";
import { at } from "../../scripts/lib/project.mjs";
import { createFolder, support } from "../support.mjs";

/** Time for which a node waits for the write lock of the file. */
const TIMEOUT_MS = 1_000;

/** Opens the file of a program. It waits for the lock of others. */
const OPEN = `
  const { DatabaseSync } = await import("node:sqlite");
  const [path, argument] = process.argv.slice(1);
  const file = new DatabaseSync(path, { timeout: 10_000 });`;

/** Program that holds the write lock of a file for a time. */
const LOCK = `${OPEN}
  file.exec("BEGIN IMMEDIATE");
  await new Promise((resolve) => setTimeout(resolve, Number(argument)));
  file.exec("ROLLBACK");`;

/** Program that copies the file. A copy of the bytes of a file that is in use would be no state of it. */
const SAVE = `${OPEN}
  file.prepare("vacuum into ?").run(argument);`;

/** Program that lets each write need a page while `chaos_full` has a row, and programs that set and remove it. */
const TABLES = ["records", "indexed", "logs", "streams", "entries", "buckets", "texts"];
const TRIGGERS = TABLES.flatMap((table) =>
  ["insert", "update"].map(
    (change) => `create trigger chaos_${table}_${change} before ${change} on ${table}
      when exists (select 1 from chaos_full) begin insert into chaos_filler values (zeroblob(100000)); end;`,
  ),
);
const SETUP = `begin immediate; create table chaos_full (x); create table chaos_filler (x); ${TRIGGERS.join("\n")} commit;`;
const PREPARE = `${OPEN}
  file.exec(${JSON.stringify(SETUP)});`;
const FILL = `${OPEN}
  file.exec("insert into chaos_full values (1)");`;
const FREE = `${OPEN}
  file.exec("delete from chaos_full");`;

/** Program that prints the rows which are not over, as `history/left.mjs` reads them. */
const LEFT = `${OPEN}
  const now = Date.now();
  const rows = (text) => file.prepare(text).all().map((row) => ({ ...row }));
  const alive = "(expires is null or expires > " + now + ")";
  const left = [
    ...rows("select 'record' as kind, key as name, expires - " + now + " as leftMs from records where " + alive),
    ...rows("select 'index entry' as kind, name, key as 'of' from indexed join records using (key) where " + alive),
    ...rows("select 'log' as kind, name from logs where gone is null"),
    ...rows("select 'dropped log' as kind, name, gone - " + now + " as leftMs from logs where gone > " + now),
    ...rows("select 'open stream' as kind, logs.name from streams join logs on logs.id = streams.log where ended = 0"),
    ...rows("select distinct 'entries' as kind, logs.name from entries join logs on logs.id = entries.log"),
  ];
  process.stdout.write(JSON.stringify(left));`;

/**
 * A file has no server to kill. Its outages are, in turn, the end of all nodes at once, and a process that holds the write
 * lock for longer than nodes wait for it.
 */
export async function openEngine() {
  const { program, problem } = (await newerNodes()).find((node) => node.program !== undefined) ?? {};
  if (program === undefined) throw new Error(problem ?? "no version of Node with SQLite could be fetched");
  const folder = await createFolder();
  const [address, copy, flag] = ["state.db", "copy.db", "full"].map((name) => join(folder, name));
  const run = (text, argument) => runProgram(program, text, [address, `${argument ?? ""}`]);
  let outages = 0;
  return {
    address,
    program,
    process: {
      execArgv: ["--import", pathToFileURL(at("chaos/node/fillable.mjs")).href],
      env: { CHAOS_FULL: flag },
    },
    outage: (fault) => (outages++ % 2 === 0 ? restartAll(fault) : run(LOCK, TIMEOUT_MS + fault.ms)),
    prepare: () => run(PREPARE),
    async fill() {
      writeFileSync(flag, "");
      await run(FILL);
    },
    async free() {
      await run(FREE);
      rmSync(flag);
    },
    async save() {
      rmSync(copy, { force: true });
      await run(SAVE, copy);
    },
    /** Nodes that have the file open would notice another one. */
    rollBack: (fault) =>
      restartAll(fault, () => {
        for (const end of ["", "-wal", "-shm"]) rmSync(`${address}${end}`, { force: true });
        copyFileSync(copy, address);
      }),
    left: async () => JSON.parse(await run(LEFT)),
    end: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function restartAll({ nodes, fault }, meanwhile = () => {}) {
  fault.nodes = nodes.slots.map((slot) => nodes.nameOf(slot));
  await Promise.all(nodes.slots.map((slot) => nodes.kill(slot)));
  meanwhile();
  await Promise.all(nodes.slots.map((slot) => nodes.startNode(slot)));
  // Nothing can recover before.
  fault.backAt = Date.now();
}

/** Runs a program, and returns what it prints. */
async function runProgram(program, text, args) {
  const { killAfterUs } = await support("engines/orphans.js");
  const child = spawn(program, ["--no-warnings", "--input-type=module", "--eval", text, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  child.once("exit", killAfterUs(child.pid));
  const output = { stdout: "", stderr: "" };
  for (const name of Object.keys(output)) child[name].setEncoding("utf8").on("data", (part) => (output[name] += part));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`a program on ${args[0]} ended with ${code}: ${output.stderr}`);
  return output.stdout;
}

export async function connectNode(path) {
  const { sqliteCluster } = await import("bowline/sqlite");
  const cluster = sqliteCluster({ path, timeoutMs: TIMEOUT_MS });
  await cluster.ready;
  return cluster;
}
