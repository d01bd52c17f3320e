import { support } from "../support.mjs";

export async function openEngine() {
  const { startPostgres } = await support("engines/postgres.js");
  const server = await startPostgres();
  return { address: server.url, kill: server.kill, start: server.start, end: server.close };
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
