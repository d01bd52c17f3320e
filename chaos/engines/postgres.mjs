import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createFolder, support } from "../support.mjs";

const SCHEMA = "bowline";

/** Function by which each write of a row fails as on a full disk, while the table `chaos_full` has a row. */
const FULL = `create table public.chaos_full ();
  create function public.chaos_fails() returns trigger language plpgsql as $$ begin
    if exists (select from public.chaos_full) then
      raise exception 'the run fills the disk' using errcode = '53100';
    end if;
    return new;
  end $$`;

export async function openEngine() {
  const { startPostgres } = await support("engines/postgres.js");
  const { url, kill, start, close, folder } = await startPostgres();
  const copy = await createFolder();
  // With its owner, which is not that of this process if it is root.
  const copyData = (from, to) => execFileSync("cp", ["-a", join(from, "data"), to]);
  return {
    address: url,
    kill,
    start,
    end: close,
    prepare: () => query(url, prepare),
    fill: () => query(url, (client) => client.query("insert into public.chaos_full default values")),
    free: () => query(url, (client) => client.query("delete from public.chaos_full")),
    stopsToSave: true,
    /** The server does not run while its folder is copied: a copy of files that change is no state. */
    async save() {
      await kill();
      copyData(folder, copy);
      await start();
    },
    async rollBack() {
      await kill();
      rmSync(join(folder, "data"), { recursive: true });
      copyData(copy, folder);
      await start();
    },
    left: () => query(url, listLeft),
  };
}

export async function connectNode(url) {
  const { default: pg } = await import("pg");
  const { fromPg, postgresCluster } = await import("bowline/postgres");
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  // The pool reports lost connections that are idle.
  pool.on("error", () => {});
  const cluster = postgresCluster({ client: fromPg(pool) });
  await cluster.ready;
  return cluster;
}

async function query(url, run) {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return await run(client);
  } finally {
    await client.end();
  }
}

/** Creates the triggers before the load: their creation would wait for all writes, and let others wait. */
async function prepare(client) {
  const { rows } = await client.query("select tablename as name from pg_tables where schemaname = $1", [SCHEMA]);
  const triggers = rows.map(
    ({ name }) =>
      `create trigger fails before insert or update on ${SCHEMA}.${name} for each row execute function public.chaos_fails();`,
  );
  await client.query(`${FULL}; ${triggers.join("\n")}`);
}

/** Returns the rows that are not over, as `history/left.mjs` reads them. */
async function listLeft(client) {
  const left = "round(extract(epoch from expires - clock_timestamp()) * 1000)::float8";
  const isAlive = "(expires is null or expires > clock_timestamp())";
  const selects = [
    `select 'record' as kind, key as name, null as of, ${left} as "leftMs" from ${SCHEMA}.records where ${isAlive}`,
    `select 'index entry', name, key, null from ${SCHEMA}.indexed join ${SCHEMA}.records r using (key) where ${isAlive}`,
    `select case when gone is null then 'log' else 'dropped log' end, name, null,
      coalesce(round(extract(epoch from gone - clock_timestamp()) * 1000)::float8, ${left}) from ${SCHEMA}.logs
      where gone is null or gone > clock_timestamp()`,
    `select 'open stream', l.name, null, null from ${SCHEMA}.streams s join ${SCHEMA}.logs l on l.id = s.log where not s.ended`,
    `select 'entries', l.name, null, null from ${SCHEMA}.logs l where exists (select from ${SCHEMA}.entries e where e.log = l.id)`,
  ];
  const { rows } = await client.query(selects.join("\nunion all\n"));
  return rows.map(({ kind, name, of, leftMs }) => ({ kind, name, of: of ?? undefined, leftMs: leftMs ?? undefined }));
}
