import { ClusterError } from "../cluster/error.js";
import type { Row } from "./client.js";
import type { Engine } from "./engine.js";
import { functions } from "./functions.js";
import { type Names, tables } from "./tables.js";

/** Version of the tables and functions that this release creates and uses. */
const VERSION = 1;

/** Oldest version of PostgreSQL that is supported, as `server_version_num`. */
const OLDEST_SERVER = 130_000;

/** Checks the server and creates or upgrades the tables. Rejects with a ClusterError that names the remedy. */
export async function prepare(engine: Engine, names: Names): Promise<void> {
  const role = await checkServer(engine);
  const before = await versionOf(engine, names).catch((error) => {
    throw isDenied(error) ? denied(names, role, "the schema") : error;
  });
  if (before < VERSION) await migrate(engine, names);
  await checkRights(engine, names, role);
}

const CHECK = {
  operation: "check of the server",
  isRead: true,
  text: `select current_setting('server_version_num') as number, current_setting('server_version') as version,
    current_setting('server_encoding') as encoding, current_setting('transaction_isolation') as isolation,
    pg_is_in_recovery()::text as standby, current_setting('transaction_read_only') as readonly,
    quote_ident(current_user) as role`,
};

/** Checks version and settings. Returns the role. */
async function checkServer(engine: Engine): Promise<string> {
  const [row = {} as Row] = await engine.attempt(CHECK, []);
  const { number, version, encoding, isolation, standby, readonly, role } = row;
  if (!(Number(number) >= OLDEST_SERVER))
    throw refused(`PostgreSQL ${version} is too old. postgresCluster needs PostgreSQL 13 or newer.`);
  if (standby === "true" || readonly === "on")
    throw refused("The server is a standby or read-only. Connect postgresCluster to the primary.");
  if (encoding !== "UTF8" && encoding !== "SQL_ASCII")
    throw refused(`The database has the encoding ${encoding}. Create a database with the encoding UTF8.`);
  if (isolation !== "read committed")
    throw refused(
      `Connections use the isolation level ${isolation}. Set default_transaction_isolation to 'read committed' for the role of postgresCluster.`,
    );
  return role ?? "";
}

/** Returns the version of the tables, 0 if there are none. */
async function versionOf(engine: Engine, { of }: Names): Promise<number> {
  const find = { operation: "look at the tables", isRead: true };
  const [row] = await engine.attempt({ ...find, text: "select to_regclass($1::text)::text as name" }, [of("meta")]);
  if (row?.name == null) return 0;
  const text = `select version::text, readable::text from ${of("meta")}`;
  const [{ version = "0", readable = "0" } = {}] = await engine.attempt({ ...find, text }, []);
  if (Number(readable) > VERSION)
    throw refused(
      `The tables of ${of("*")} have version ${version}. This release works with versions up to ${VERSION}. Upgrade it, or use another schema or prefix.`,
    );
  return Number(version);
}

/** Creates or upgrades the tables in one transaction. Processes that start together wait for each other. */
async function migrate(engine: Engine, names: Names): Promise<void> {
  const { of, schema, prefix } = names;
  // Functions such as to_regclass may answer from a cache that is older than the lock. Queries of the catalog do not.
  const statement = {
    operation: `create the tables in the schema ${schema}`,
    text: `do $migrate$ begin
      perform pg_advisory_xact_lock(${LOCK_OF(names)});
      if not exists (select from pg_namespace where nspname = '${schema}') then create schema "${schema}"; end if;
      if not exists (
        select from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = '${schema}' and c.relname = '${prefix}meta'
      ) then
        create table ${of("meta")} (version int not null, readable int not null);
        insert into ${of("meta")} values (0, 0);
      end if;
      if (select version from ${of("meta")}) < 1 then
        ${tables(names)}
        ${functions(names)}
        update ${of("meta")} set version = 1, readable = 1;
      end if;
    end $migrate$`,
  };
  await engine.attempt(statement, []);
}

/** Expression of the advisory lock of a cluster. */
export const LOCK_OF = ({ channel }: Names) => `hashtext('bowline ${channel}')::bigint`;

/** Checks that the role can use the tables, which another role may have created. */
async function checkRights(engine: Engine, names: Names, role: string): Promise<void> {
  const { of } = names;
  const tested = TABLES.map((name) => `('${of(name)}')`).join(",");
  const statement = {
    operation: "check of the rights",
    isRead: true,
    text: `select string_agg(t.name, ', ') as missing,
      has_sequence_privilege('${of("versions")}', 'usage')::text as counts from (values ${tested}) as t(name)
      where not (has_table_privilege(t.name, 'select') and has_table_privilege(t.name, 'insert')
        and has_table_privilege(t.name, 'update') and has_table_privilege(t.name, 'delete'))`,
  };
  const [row] = await engine.attempt(statement, []);
  const missing = row?.missing ?? (row?.counts === "true" ? undefined : of("versions"));
  if (missing !== undefined) throw denied(names, role, missing);
}

const TABLES = ["records", "indexed", "logs", "streams", "entries", "leases", "jobs", "buckets", "messages"];

/** SQLSTATE of a missing right. */
const isDenied = (error: unknown) =>
  error instanceof ClusterError && (error.cause as { code?: unknown } | undefined)?.code === "42501";

function denied({ schema }: Names, role: string, what: string): ClusterError {
  const grants = [
    `grant usage on schema ${schema} to ${role}`,
    `grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
    `grant usage on all sequences in schema ${schema} to ${role}`,
  ];
  return refused(`The role ${role} may not use ${what}. Run: ${grants.join("; ")}.`);
}

function refused(message: string): ClusterError {
  return new ClusterError("refused", `postgresCluster: ${message}`);
}
