import { after } from "node:test";
import { contract, engineContract, lostReplyContract } from "../../contract/contract.js";
import { findOrStartPostgres } from "../../support/engines/postgres.js";
import { PostgresWorld } from "../../support/engines/postgres-world.js";

const server = await findOrStartPostgres();
after(() => server.close());

contract("PostgreSQL by pg", (t) => new PostgresWorld(t, server.url, "pg"));
lostReplyContract("PostgreSQL by pg", (t) => new PostgresWorld(t, server.url, "pg"));

// A server at DATABASE_URL is not killed.
if ("kill" in server)
  engineContract("PostgreSQL by pg", async (t) => {
    await server.start();
    return Object.assign(new PostgresWorld(t, server.url, "pg"), { engine: server });
  });
