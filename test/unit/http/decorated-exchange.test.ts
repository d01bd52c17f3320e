import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { createArrayExchange } from "bowline/testing";
import { DecoratedExchange } from "#src/http/decorated-exchange.js";

const outer = { subject: "outer" };
const inner = { subject: "inner" };

test("an admission that names no caller keeps the caller of the exchange in front", () => {
  const given = createArrayExchange({ auth: outer, principal: "outer" });
  const admitted = new DecoratedExchange(given, {});
  deepEqual([admitted.auth, admitted.principal], [outer, "outer"]);
  deepEqual([admitted.endsAt, admitted.judge], [undefined, undefined]);
});

test("an admission that names the caller goes before the exchange in front, each fact by itself", () => {
  const given = createArrayExchange({ auth: outer, principal: "outer" });
  const both = new DecoratedExchange(given, { auth: inner, principal: "inner" }, 5);
  deepEqual([both.auth, both.principal, both.endsAt], [inner, "inner", 5]);
  const one = new DecoratedExchange(given, { auth: inner });
  deepEqual([one.auth, one.principal], [inner, "outer"]);
});

test("headers of an admission go along with answers and streams, and win", () => {
  for (const answer of ["reply", "stream"] as const) {
    const given = createArrayExchange();
    const admitted = new DecoratedExchange(given, { headers: { "x-a": "gate", "x-b": "gate" } });
    admitted[answer](200, { "x-a": "server", "x-c": "server" });
    deepEqual([given.headers["x-a"], given.headers["x-b"], given.headers["x-c"]], ["gate", "gate", "server"], answer);
    equal(given.status, 200);
  }
});
