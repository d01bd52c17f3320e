import { after } from "node:test";
import { contract, engineContract, lostReplyContract } from "../../contract/contract.js";
import { findOrStartPostgres } from "../../support/engines/postgres.js";
import { PostgresWorld } from "../../support/engines/postgres-world.js";

const server = await findOrStartPostgres();
after(() => server.close());

contract("PostgreSQL by postgres", (t) => new PostgresWorld(t, server.url, "postgres"));
lostReplyContract("PostgreSQL by postgres", (t) => new PostgresWorld(t, server.url, "postgres"));

// A server at DATABASE_URL is not killed.
if ("kill" in server)
  engineContract("PostgreSQL by postgres", async (t) => {
    await server.start();
    return Object.assign(new PostgresWorld(t, server.url, "postgres"), { engine: server });
  });
