import { ClusterError } from "../cluster/error.js";
import type { Connection, Row } from "./connection.js";
import { functions } from "./functions.js";
import { type Names, TABLES, tables, VERSION } from "./schema.js";

/** Oldest version of PostgreSQL that is supported, as `server_version_num`. */
const OLDEST_SERVER = 130_000;

/** Checks the server and creates the tables. Rejects with a ClusterError that names the remedy. */
export async function prepare(connection: Connection, names: Names): Promise<void> {
  const role = await checkServer(connection);
  const before = await versionOf(connection, names).catch((error) => {
    throw isDenied(error) ? denied(names, role, "the schema") : error;
  });
  if (before === 0) await create(connection, names);
  await checkRights(connection, names, role);
}

const CHECK = {
  operation: "check the server",
  isRead: true,
  text: `select current_setting('server_version_num') as number, current_setting('server_version') as version,
    current_setting('server_encoding') as encoding, current_setting('transaction_isolation') as isolation,
    pg_is_in_recovery()::text as standby, current_setting('transaction_read_only') as readonly,
    quote_ident(current_user) as role`,
};

/** Checks version and settings. Returns the role. */
async function checkServer(connection: Connection): Promise<string> {
  const [row = {} as Row] = await connection.attempt(CHECK, []);
  const { number, version, encoding, isolation, standby, readonly, role } = row;
  if (!(Number(number) >= OLDEST_SERVER)) throw refused(`PostgreSQL ${version} is too old; use PostgreSQL 13 or newer`);
  if (standby === "true" || readonly === "on")
    throw refused("the server is a standby or read-only; connect to the primary");
  if (encoding !== "UTF8" && encoding !== "SQL_ASCII")
    throw refused(`the database has the encoding ${encoding}; create a database with the encoding UTF8`);
  if (isolation !== "read committed")
    throw refused(
      `connections use the isolation level ${isolation}; set default_transaction_isolation to 'read committed' for the role`,
    );
  return role ?? "";
}

/** Returns the version of the tables, 0 if there are none. */
async function versionOf(connection: Connection, { of }: Names): Promise<number> {
  const look = { operation: "look at the tables", isRead: true };
  const [row] = await connection.attempt({ ...look, text: "select to_regclass($1::text)::text as name" }, [of("meta")]);
  if (row?.name == null) return 0;
  const text = `select version::text, readable::text from ${of("meta")}`;
  const [{ version = "0", readable = "0" } = {}] = await connection.attempt({ ...look, text }, []);
  const what = `the tables of ${of("*")} have version ${version}`;
  if (Number(readable) > VERSION)
    throw refused(`${what}, and this release works with ${VERSION}; upgrade it, or use another schema or prefix`);
  if (Number(version) < VERSION)
    throw refused(`${what}, and this release works with ${VERSION}; delete them, or use another schema or prefix`);
  return Number(version);
}

/** Creates the tables in one transaction. Processes that start together wait for each other. */
async function create(connection: Connection, names: Names): Promise<void> {
  const { of, schema, prefix, lock } = names;
  // Functions such as to_regclass may answer from a cache that is older than the lock. Queries of the catalog do not.
  const statement = {
    operation: `create the tables in the schema ${schema}`,
    text: `do $create$ begin
      perform pg_advisory_xact_lock(${lock});
      if not exists (select from pg_namespace where nspname = '${schema}') then create schema "${schema}"; end if;
      if not exists (
        select from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname = '${schema}' and c.relname = '${prefix}meta'
      ) then
        ${tables(names)}
        ${functions(names)}
        create table ${of("meta")} (version int not null, readable int not null);
        insert into ${of("meta")} values (${VERSION}, ${VERSION});
      end if;
    end $create$`,
  };
  await connection.attempt(statement, []);
}

/** Checks that the role can use the tables, which another role may have created. */
async function checkRights(connection: Connection, names: Names, role: string): Promise<void> {
  const { of } = names;
  const tested = TABLES.map((name) => `('${of(name)}')`).join(",");
  const statement = {
    operation: "check the rights",
    isRead: true,
    text: `select string_agg(t.name, ', ') as missing from (values ${tested}) as t(name)
      where not (has_table_privilege(t.name, 'select') and has_table_privilege(t.name, 'insert')
        and has_table_privilege(t.name, 'update') and has_table_privilege(t.name, 'delete'))`,
  };
  const [row] = await connection.attempt(statement, []);
  if (row?.missing != null) throw denied(names, role, row.missing);
}

/** SQLSTATE of a missing right. */
const isDenied = (error: unknown) =>
  error instanceof ClusterError && (error.cause as { code?: unknown } | undefined)?.code === "42501";

function denied({ schema }: Names, role: string, what: string): ClusterError {
  const grants = [
    `grant usage on schema ${schema} to ${role}`,
    `grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
  ];
  return refused(`the role ${role} may not use ${what}; run: ${grants.join("; ")}`);
}

function refused(problem: string): ClusterError {
  return new ClusterError("refused", `postgresCluster: ${problem}`);
}
