import { after } from "node:test";
import { startPostgres } from "../../support/engines/postgres.js";
import { PostgresWorld } from "../../support/engines/postgres-world.js";
import { stateRounds } from "../../support/engines/state-rounds.js";

const server = await startPostgres();
after(() => server.close());

stateRounds("PostgreSQL", async (t) => {
  await server.start();
  return Object.assign(new PostgresWorld(t, server.url, "pg"), { engine: server });
});
