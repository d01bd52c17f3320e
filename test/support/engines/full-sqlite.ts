import { createSqliteCluster, type SqliteCluster } from "#src/sqlite/cluster.js";
import type { StartThread } from "#src/sqlite/messages.js";
import type { Database } from "#src/sqlite/session.js";
import { FileServer } from "#src/sqlite/thread.js";
import type { Scope, World } from "#src/testing/contract/world.js";
import { SqliteWorld } from "./sqlite-world.js";

const TABLES = ["records", "indexed", "logs", "streams", "entries", "buckets", "texts"];

/**
 * State of one test in a file that can be filled: by the maximum number of its pages, which each connection has for
 * itself, and by triggers, since small rows may fit into the pages that are there. So the files are opened in this thread.
 */
export function openFullSqlite(open: (path: string) => Database) {
  return (t: Scope): World => {
    const { path } = new SqliteWorld(t);
    const databases = new Set<Database>();
    const connect = () => {
      const database = open(path);
      databases.add(database);
      return database;
    };
    const start: StartThread = (options, heard, lost) => {
      const database = connect();
      const post = (reply: Parameters<typeof heard>[0]) => queueMicrotask(() => heard(reply));
      const end = () => {
        databases.delete(database);
        queueMicrotask(() => lost(new Error("the file is closed")));
      };
      const server = new FileServer({
        ...options,
        open: () => database,
        isSame: () => true,
        journalBytes: () => 0,
        post,
        end,
      });
      post({ kind: "open" });
      return {
        post: (request) => queueMicrotask(() => server.handle(request)),
        end: async () => server.handle({ kind: "close" }),
      };
    };
    const all = (sql: string) => {
      for (const database of databases) database.exec(sql);
    };
    const triggers = TABLES.flatMap((table) =>
      ["insert", "update"].map((change) => ({ name: `full_${table}_${change}`, on: `${change} on ${table}` })),
    );
    return {
      async node(): Promise<SqliteCluster> {
        const node = createSqliteCluster({ path }, start);
        await node.ready;
        return node;
      },
      crash: () => {
        throw new Error("a file in this thread is not lost");
      },
      engine: {
        kill: () => {},
        start: () => {},
        fill() {
          const [first] = databases;
          first?.exec(`create table if not exists filler (x);
            ${triggers.map(({ name, on }) => `create trigger ${name} before ${on} begin insert into filler values (zeroblob(100000)); end;`).join("\n")}`);
          // The number cannot be less than that of the pages that the file has.
          all("pragma max_page_count = 1");
        },
        free() {
          all("pragma max_page_count = 1073741823");
          const [first] = databases;
          first?.exec(triggers.map(({ name }) => `drop trigger ${name};`).join("\n"));
        },
      },
    };
  };
}
