import { readdirSync, readFileSync, statSync } from "node:fs";
import pg from "pg";
import { createClient } from "redis";
import { cpuMsOf } from "./cpu.mjs";

/**
 * Opens a look into an engine, by name: `bytes()` that its records take, `cpuMs()` that it has used so far, and `close()`.
 * SQLite has no process of its own, so that the time of this one is returned.
 */
export const engineProbes = {
  async redis(url) {
    const client = await createClient({ url }).connect();
    const info = async (section, names) => {
      const text = await client.info(section);
      return names.reduce((sum, name) => sum + Number(new RegExp(`^${name}:(.*)$`, "m").exec(text)?.[1]), 0);
    };
    return {
      bytes: () => info("memory", ["used_memory"]),
      cpuMs: async () => 1000 * (await info("cpu", ["used_cpu_sys", "used_cpu_user"])),
      close: () => client.close(),
    };
  },
  async postgres(url) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query("select split_part(pg_read_file('postmaster.pid'), chr(10), 1) as pid");
    return {
      async bytes(space) {
        const tables = await client.query("select tablename as name from pg_tables where schemaname = $1", [space]);
        for (const { name } of tables.rows) await client.query(`vacuum full ${space}.${name}`);
        const sum = "select sum(pg_total_relation_size(format('%I.%I', schemaname, tablename))) as bytes";
        const found = await client.query(`${sum} from pg_tables where schemaname = $1`, [space]);
        return Number(found.rows[0].bytes);
      },
      cpuMs: async () => cpuMsOfChildren(rows[0].pid),
      close: () => client.end(),
    };
  },
  async sqlite(path) {
    const { DatabaseSync } = await import("node:sqlite");
    return {
      bytes() {
        const database = new DatabaseSync(path);
        database.exec("pragma wal_checkpoint(truncate)");
        database.close();
        return statSync(path).size;
      },
      cpuMs() {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1000;
      },
      close: () => {},
    };
  },
};

/** Returns the CPU time of the running children of a process. */
function cpuMsOfChildren(parent) {
  const isChild = (pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1] === parent;
    } catch {
      return false; // it ended
    }
  };
  const children = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && isChild(name));
  return children.reduce((sum, pid) => sum + (cpuMsOf(pid) ?? 0), 0);
}
