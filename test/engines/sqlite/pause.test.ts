import { pauseContract } from "../../contract/pause.js";
import { SqliteWorld } from "../../support/engines/sqlite-world.js";

pauseContract("SQLite", async (t) => {
  const world = new SqliteWorld(t, { prefix: "paused_" });
  const node = await world.node();
  t.after(() => node.close());
  return { node, args: ["sqlite", world.path, "paused_"] };
});
