import { after } from "node:test";
import { clientRounds } from "../../support/engines/client-rounds.js";
import { startPostgres } from "../../support/engines/postgres.js";
import { PostgresWorld } from "../../support/engines/postgres-world.js";

const server = await startPostgres();
after(() => server.close());

clientRounds("PostgreSQL", async (t) => {
  await server.start();
  return Object.assign(new PostgresWorld(t, server.url, "pg"), { engine: server });
});
