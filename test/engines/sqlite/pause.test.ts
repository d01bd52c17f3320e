import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { pauseContract } from "../../contract/pause.js";
import { SqliteWorld } from "../../support/engines/sqlite-world.js";

/** A process that is stopped while it writes blocks the others. In memory it writes for some microseconds only. */
const base = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

pauseContract("SQLite", async (t) => {
  const world = new SqliteWorld(t, { prefix: "paused_" }, base);
  const node = await world.node();
  t.after(() => node.close());
  return { node, args: ["sqlite", world.path, "paused_"] };
});
