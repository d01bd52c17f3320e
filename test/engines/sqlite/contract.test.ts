import { contract, engineContract, lostReplyContract } from "../../contract/contract.js";
import { SqliteWorld } from "../../support/engines/sqlite-world.js";

contract("SQLite", (t) => new SqliteWorld(t, { prefix: "a_" }));
engineContract("SQLite", (t) => new SqliteWorld(t));
lostReplyContract("SQLite", (t) => new SqliteWorld(t, { timeoutMs: 500 }));
