import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";

test("closing waits for no connection that never asked anything", async (t) => {
  // The time after which everything is cut never comes.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const running = await serveHttp(new McpServer({ name: "a", version: "1.0.0" }));
  const accepted = once(running.server, "connection");
  const socket = connect(running.port, "127.0.0.1");
  socket.resume();
  await accepted;
  await running.close();
  await once(socket, "close");
});
