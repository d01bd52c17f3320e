import { deepEqual, equal, ok } from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { askPort } from "../../../support/plain-http.js";

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

const texts = async (running: { readonly port: number }, paths: readonly string[]) =>
  Promise.all(paths.map(async (path) => (await askPort(running.port, { method: "GET", path })).text));

test("a path without an endpoint tells the default path, and not one of the author's choice", async (t) => {
  const running = await serveHttp(new McpServer({ name: "s", version: "1" }));
  t.after(() => running.close());
  for (const text of await texts(running, ["/", "/mpc", "/mcp/x", "/?a=/mcp"]))
    equal(text, "Not found: the MCP endpoint is at /mcp");
  const hidden = await serveHttp(new McpServer({ name: "s", version: "1" }), { path: "/3f9a" });
  t.after(() => hidden.close());
  for (const text of await texts(hidden, ["/", "/mcp"]))
    equal(text, "Not found: this is not the path of the MCP endpoint");
});

test("a slash at the end of the path is accepted, or left out", async (t) => {
  for (const path of ["/mcp", "/mcp/", "/"]) {
    const running = await serveHttp(new McpServer({ name: "s", version: "1" }), { path });
    t.after(() => running.close());
    for (const asked of path === "/" ? ["/", "/?a=1"] : ["/mcp", "/mcp/", "/mcp/?a=1"])
      equal((await askPort(running.port, { method: "PUT", path: asked })).status, 405, `${path} ${asked}`);
  }
});

test("draining on loopback waits for a load balancer only if one has asked for readiness", async (t) => {
  const clock = new FakeClock();
  const quiet = await serveHttp(new McpServer({ name: "s", version: "1" }), { clock });
  await texts(quiet, ["/livez", "/mcp"]);
  await quiet.drain(0);
  const watched = await serveHttp(new McpServer({ name: "s", version: "1" }), { clock });
  t.after(() => watched.close());
  deepEqual(await texts(watched, ["/readyz"]), ["ok"]);
  const drained = watched.drain(0);
  equal(clock.delays.at(-1), 5_000);
  deepEqual(await texts(watched, ["/readyz"]), ["draining"]);
  clock.advance(5_000);
  await drained;
});
