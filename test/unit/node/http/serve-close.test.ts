import { equal } from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";

test("a connection that never sent anything does not hold up the end", async (t) => {
  const running = await serveHttp(new McpServer({ name: "quick", version: "1.0.0" }));
  const arrived = once(running.server, "connection");
  const socket = connect(running.port, "127.0.0.1");
  await Promise.all([once(socket, "connect"), arrived]);
  // The time after which everything is cut never comes: what ends here ends by itself.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const gone = once(socket, "close");
  await running.close();
  await gone;
  equal(socket.bytesRead, 0);
});
