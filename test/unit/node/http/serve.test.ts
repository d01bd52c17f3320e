import { equal, ok } from "node:assert/strict";
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

test("a server on loopback answers under names of this machine alone, and its refusal names the option", async (t) => {
  const server = new McpServer({ name: "s", version: "1" });
  const running = await serveHttp(server, { port: 0 });
  t.after(() => running.close());
  const { port, pathname } = new URL(running.url);
  const ask = async (host: string | undefined, target = pathname, method = "POST") => {
    const socket = connect(Number(port), "127.0.0.1");
    let answer = "";
    socket.setEncoding("utf8").on("data", (chunk) => {
      answer += chunk;
    });
    const named = host === undefined ? "" : `host: ${host}\r\n`;
    const rest = "content-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
    socket.write(`${method} ${target} HTTP/1.${host === undefined ? 0 : 1}\r\n${named}${rest}`);
    await once(socket, "close");
    return answer;
  };
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    `127.0.0.1.evil.example:${port}`,
    `localhost.evil.example:${port}`,
    `127.0.0.1@evil.example:${port}`,
    "0.0.0.0",
    "2130706433",
    "",
    undefined,
  ]) {
    for (const method of ["POST", "GET", "DELETE", "OPTIONS"]) {
      const answer = await ask(host, pathname, method);
      ok(/^HTTP\/1\.1 403 /.test(answer), `${method} ${host}: ${answer}`);
    }
  }
  ok((await ask(`evil.example:${port}`)).includes("add it to http.allowedHosts of this server"));
  // What the request line says changes nothing.
  ok(/^HTTP\/1\.1 40[34] /.test(await ask("evil.example", `http://127.0.0.1:${port}${pathname}`)));
  for (const host of ["127.0.0.1", `127.0.0.1:${port}`, `localhost:${port}`, "[::1]", "app.localhost"])
    equal((await ask(host)).startsWith("HTTP/1.1 400 "), true, host);
});
