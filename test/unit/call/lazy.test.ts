import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { McpServer } from "bowline/server";
import { createArrayExchange } from "bowline/testing";
import { lazyModule } from "#src/call/lazy.js";
import { lazyValidator } from "#src/schema/json-schema/lazy-validator.js";
import { defaultValidator } from "#src/schema/json-schema/validator.js";
import { gate } from "../../support/gate.js";
import { modernRequest } from "../../support/modern-request.js";

const me = { name: "late", version: "1.0.0" };

test("a part is loaded once for all who wait, and is there without a promise from then on", async () => {
  const loading = gate<object>();
  let loads = 0;
  const part = lazyModule(() => {
    loads++;
    return loading.opened;
  });
  equal(loads, 0);
  const waiting = [part(), part()];
  const value = {};
  loading.open(value);
  deepEqual(await Promise.all(waiting), [value, value]);
  equal(part(), value);
  equal(loads, 1);
});

test("a part that could not be loaded is loaded by the next who asks", async () => {
  let fails = true;
  const part = lazyModule(async () => {
    if (fails) throw new Error("not there");
    return "here";
  });
  await rejects(Promise.resolve(part()), /not there/);
  fails = false;
  equal(await part(), "here");
});

test("a subscription that waits for what serves it is ended by the server's end", { timeout: 900 }, async () => {
  const server = new McpServer(me).tool("a", {}, () => "b");
  const { headers, body } = modernRequest("subscriptions/listen", {
    params: { notifications: { toolsListChanged: true } },
  });
  const exchange = createArrayExchange({ headers, body });
  server.handle(exchange);
  while (server.stats().openRequests === 0) await Promise.resolve();
  await server.close();
  await exchange.done;
  match(exchange.body(), /"resultType":"complete"/);
  deepEqual([server.stats().openRequests, server.stats().subscriptions], [0, 0]);
});

test("a schema is judged when it is defined, and by the same rules, whenever values are checked", async () => {
  const schema = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] };
  const check = lazyValidator.compile(schema);
  const first = check({ n: "x" });
  ok(first instanceof Promise);
  deepEqual(await first, defaultValidator.compile(schema)({ n: "x" }));
  deepEqual(check({ n: 1 }), []);
  const wrong = [
    { type: "strng" },
    { properties: { "": { minimum: "1" } } },
    { $ref: "#/$defs/none" },
    { patternProperties: { "(": {} } },
    { contains: {}, minContains: -1 },
    { allOf: {} },
    { items: 5 },
  ];
  for (const schema of wrong) {
    const messages = [lazyValidator, defaultValidator].map(({ compile }) => {
      try {
        compile(schema);
      } catch (error) {
        return (error as Error).message;
      }
      return undefined;
    });
    ok(messages[0] !== undefined, JSON.stringify(schema));
    equal(messages[0], messages[1]);
  }
});
