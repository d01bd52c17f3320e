import { contract, engineContract } from "../../contract/contract.js";
import { SqliteWorld } from "../../support/engines/sqlite-world.js";

contract("SQLite", (t) => new SqliteWorld(t, { prefix: "a_" }));
engineContract("SQLite", (t) => new SqliteWorld(t));
