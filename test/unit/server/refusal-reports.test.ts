import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { InvalidTokenError, protect } from "bowline/auth/server";
import { McpServer, ProtocolError } from "bowline/server";
import { createArrayExchange } from "bowline/testing";
import { modernRequest } from "../../support/modern-request.js";

type Line = readonly [level: string, message: string, fields: Record<string, unknown>];

/** Sends one request to a server with a gate. Returns the status, the lines of the log and the reported errors. */
async function send(headers: Record<string, string>) {
  const lines: Line[] = [];
  const errors: unknown[] = [];
  const write =
    (level: string) =>
    (message: string, fields: Record<string, unknown> = {}) =>
      lines.push([level, message, fields]);
  const gate = protect({
    verify: (token) => {
      if (token === "broken") throw new TypeError("no database");
      throw new InvalidTokenError(`no such token: ${token}`);
    },
  });
  const server = new McpServer(
    { name: "a", version: "1" },
    {
      http: { gate },
      logger: { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") },
      onError: (error) => errors.push(error),
    },
  );
  // Warnings about the setup of the gate are no reports of a request.
  lines.length = 0;
  const request = modernRequest("tools/list");
  const exchange = createArrayExchange({
    headers: { ...request.headers, ...headers },
    body: JSON.stringify(request.body),
  });
  server.handle(exchange);
  await exchange.done;
  await server.close();
  return { status: exchange.status, lines, errors };
}

test("a request without credentials is ordinary: a debug message, and no error", async () => {
  const { status, lines, errors } = await send({});
  equal(status, 401);
  deepEqual(lines, [["debug", "POST refused with 401 by the gate", { where: "http" }]]);
  deepEqual(errors, []);
});

test("a refused token is a warning with the reason, without a stack and the token, and an error for onError", async () => {
  const { status, lines, errors } = await send({ authorization: "Bearer wrong" });
  equal(status, 401);
  const reason = "The access token is not valid";
  deepEqual(lines, [["warn", `POST refused with 401 by the gate: ${reason}`, { where: "http" }]]);
  ok(errors.length === 1 && errors[0] instanceof ProtocolError);
});

test("a refused host or origin is a warning without a stack, and an error for onError", async () => {
  for (const headers of [{ host: "evil.example" }, { origin: "https://evil.example" }] as const) {
    const { status, lines, errors } = await send(headers as Record<string, string>);
    equal(status, 403);
    const [[level, message, fields] = ["", "", {}], ...others] = lines;
    deepEqual([level, others], ["warn", []]);
    match(message, /^POST refused with 403: (Host|Origin) "\S*evil\.example" is not allowed: add it to http\.allowed/);
    equal("error" in fields, false);
    ok(errors.length === 1 && errors[0] instanceof ProtocolError);
  }
});

test("a verifier that fails is an error, with its cause", async () => {
  const { status, lines, errors } = await send({ authorization: "Bearer broken" });
  equal(status, 500);
  equal(errors.length, 1);
  deepEqual(lines, [["error", "no database", { where: "http", error: errors[0] }]]);
});
