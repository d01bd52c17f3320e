import type { Database } from "#src/sqlite/session.js";
import { fullContract } from "../../contract/contract.js";
import { fullServers } from "../../support/engines/full-servers.js";
import { openFullSqlite } from "../../support/engines/full-sqlite.js";

const { DatabaseSync } = (await import("node:sqlite" as string)) as { DatabaseSync: new (path: string) => Database };

const open = openFullSqlite((path) => new DatabaseSync(path));

fullContract("SQLite", open);
fullServers("SQLite", open);
