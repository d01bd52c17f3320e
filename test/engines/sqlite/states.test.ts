import { SqliteWorld } from "../../support/engines/sqlite-world.js";
import { stateRounds } from "../../support/engines/state-rounds.js";

stateRounds("SQLite", (t) => new SqliteWorld(t));
