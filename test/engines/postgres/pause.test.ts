import { after } from "node:test";
import { pauseContract } from "../../contract/pause.js";
import { startPostgres } from "../../support/engines/postgres.js";
import { PostgresWorld } from "../../support/engines/postgres-world.js";

const engine = await startPostgres();
after(() => engine.close());

pauseContract("PostgreSQL", async (t) => {
  const world = new PostgresWorld(t, engine.url, "pg");
  const node = await world.node();
  t.after(() => world.close(node));
  return { node, args: ["postgres", engine.url, world.schema] };
});
