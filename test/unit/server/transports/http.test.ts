import { deepEqual, equal } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { modernServer } from "#src/era/modern/server/era.js";
import type { HttpBinding, ServerEra } from "#src/era/server-era.js";
import type { HttpExchange } from "#src/http/exchange.js";
import { createWebExchange } from "#src/http/web-exchange.js";
import { createNodeExchange } from "#src/node/http/exchange.js";
import { HttpEndpoint } from "#src/server/transports/http.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { FakeServerHost } from "../../../support/fake-server-host.js";
import { settle } from "../../../support/legacy-endpoint.js";
import { modernRequest } from "../../../support/modern-request.js";

const body = { jsonrpc: "2.0", method: "notifications/initialized" };
const headers = { "content-type": "application/json" };

/** A front whose only era answers as told and then fails. */
function failingFront(answer: (exchange: HttpExchange) => void) {
  const host = new FakeServerHost();
  const binding: HttpBinding = {
    serve(exchange) {
      answer(exchange);
      throw new Error("too late to tell");
    },
    idle: async () => {},
    close() {},
  };
  const era: Partial<ServerEra> = {
    versions: [],
    claims: () => true,
    httpMethods: () => ["DELETE"],
    http: () => binding,
    load: () => era as ServerEra,
  };
  return { host, front: new HttpEndpoint(host, [era as ServerEra], {}, async () => {}) };
}

test("what fails before the answer is answered with 500, with or without a body", async () => {
  const { host, front } = failingFront(() => {});
  for (const method of ["POST", "DELETE"]) {
    const exchange = createArrayExchange({ method, headers, body });
    front.serve(exchange);
    await exchange.done;
    equal(exchange.status, 500);
  }
  equal(host.reports.length, 2);
});

test("a gate whose judgement throws is answered with 500, and tells nobody but the log why", async () => {
  const host = new FakeServerHost();
  const judge = () => {
    throw new Error("secret");
  };
  const endpoint = new HttpEndpoint(host, [modernServer], { gate: () => ({ judge }) }, async () => {});
  const exchange = createArrayExchange(modernRequest("tools/list"));
  endpoint.serve(exchange);
  await exchange.done;
  equal(exchange.status, 500);
  equal(exchange.body().includes("secret"), false);
  deepEqual(
    host.reports.map(({ error }) => (error as Error).message),
    ["secret"],
  );
});

test("what fails after the answer is reported, and the answer stands", async () => {
  const { host, front } = failingFront((exchange) => exchange.reply(202, {}));
  const exchange = createArrayExchange({ headers, body });
  front.serve(exchange);
  await exchange.done;
  await settle();
  equal(exchange.status, 202);
  deepEqual(
    host.reports.map(({ error }) => (error as Error).message),
    ["too late to tell"],
  );
});

test("a stream that has begun goes on, through every host", async (t) => {
  const { host, front } = failingFront((exchange) => {
    const stream = exchange.stream(200, { "content-type": "text/plain" });
    setImmediate(() => {
      stream.write("still here");
      stream.end();
    });
  });
  const request = { method: "POST", headers, body: JSON.stringify(body) };
  const web = createWebExchange(new Request("http://localhost/mcp", request));
  front.serve(web.exchange);
  equal(await (await web.response).text(), "still here");

  const server = createServer((req, res) => front.serve(createNodeExchange(req, res)));
  t.after(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, request);
  equal(await response.text(), "still here");
  equal(host.reports.length, 2);
});
