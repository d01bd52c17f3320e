import { equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { bearer, oauth } from "bowline/auth/client";
import { createIssuer } from "bowline/auth/issuer";
import { introspectionVerifier, jwtVerifier, protect } from "bowline/auth/server";
import { createGroup, retry } from "bowline/client";
import { fileResource, serveHttp, serveStdio, skillFolder } from "bowline/node";
import { postgresCluster } from "bowline/postgres";
import { redisCluster } from "bowline/redis";
import { DefinitionError, McpServer } from "bowline/server";
import { McpServer as ModernServer } from "bowline/server/modern";
import { skills } from "bowline/skills/server";
import { tasks } from "bowline/tasks/server";

const server = () => new McpServer({ name: "s", version: "1" });
const none = (() => "") as never;
const unknown = { unknown: true } as never;

const MISTAKES: Readonly<Record<string, () => unknown>> = {
  "new McpServer": () => new McpServer({ name: "s", version: "1" }, unknown),
  "new McpServer of the modern era": () => new ModernServer({ name: "s", version: "1" }, unknown),
  tool: () => server().tool("t", unknown, none),
  prompt: () => server().prompt("p", unknown, none),
  resource: () => server().resource("a://b", unknown, none),
  method: () => server().method("x/y", unknown, none),
  onNotification: () => server().onNotification("notifications/x", unknown, none),
  use: () => server().use(5 as never),
  extend: () => server().extend(5 as never),
  serveStdio: () => serveStdio(server(), unknown),
  serveHttp: () => serveHttp(server(), { port: -1 }),
  skillFolder: () => skillFolder(".", unknown),
  fileResource: () => fileResource(".", unknown),
  skills: () => skills([], unknown),
  tasks: () => tasks(unknown),
  protect: () => protect(unknown),
  jwtVerifier: () => jwtVerifier(unknown),
  introspectionVerifier: () => introspectionVerifier({} as never),
  createIssuer: () => createIssuer(unknown),
  oauth: () => oauth(unknown),
  bearer: () => bearer({ token: () => "t", unknown: true } as never),
  createGroup: () => createGroup({ mcpServers: {} }, unknown),
  retry: () => retry(unknown),
  redisCluster: () => redisCluster(unknown),
  postgresCluster: () => postgresCluster(unknown),
};

for (const [name, mistake] of Object.entries(MISTAKES)) {
  test(`${name}: the stack of a DefinitionError begins with the line of the author`, async () => {
    const error = await (async () => mistake())().then(
      () => undefined,
      (error: unknown) => error,
    );
    ok(error instanceof DefinitionError, String(error));
    const [first = ""] = (error.stack ?? "").split("\n").filter((line) => /^ +at /.test(line));
    match(first, /at-caller\.test\./, error.stack);
  });
}

test("a method still returns what it returned, and its server", () => {
  const own = server();
  equal(
    own.tool("t", {}, () => ""),
    own,
  );
  equal(
    own.use((call, next) => next(call)),
    own,
  );
});
