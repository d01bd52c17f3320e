import { after } from "node:test";
import { contract, engineContract } from "../../contract/contract.js";
import { startPostgres } from "../../support/engines/postgres.js";
import { PostgresWorld } from "../../support/engines/postgres-world.js";

const engine = await startPostgres();
after(() => engine.close());

const open = async () => {
  await engine.start();
  return Object.assign(new PostgresWorld(engine.url, "pg"), { engine });
};

contract("PostgreSQL by pg", open);
engineContract("PostgreSQL by pg", open);
