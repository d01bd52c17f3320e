import { deepEqual, equal, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { legacyMethods, legacyNotifications } from "#src/era/legacy/methods.js";
import { legacyResults } from "#src/era/legacy/results.js";
import { modernMethods, modernNotifications } from "#src/era/modern/methods.js";
import { modernResults } from "#src/era/modern/results.js";
import type { MethodShape, MethodTable } from "#src/era/server-era.js";
import type { Check } from "#src/protocol/json.js";
import { inputRequiredResult } from "#src/protocol/shapes/input.js";

function methodsWhere(table: MethodTable, holds: (shape: MethodShape) => boolean): string[] {
  return [...table]
    .filter(([, shape]) => holds(shape))
    .map(([method]) => method)
    .sort();
}

function shapeOf(table: MethodTable, method: string): MethodShape {
  const shape = table.get(method);
  ok(shape !== undefined, `${method} exists`);
  return shape;
}

function resultOf(method: string): Check {
  const check = modernResults.get(method);
  ok(check !== undefined, `${method} has a result`);
  return check;
}

describe("the method tables", () => {
  test("whatever a client may ask has a result", () => {
    deepEqual([...modernResults.keys()].sort(), [...modernMethods.keys()].sort());
    deepEqual(
      [...legacyResults.keys()].sort(),
      methodsWhere(legacyMethods, (shape) => shape.from !== "server"),
    );
  });

  test("a modern server asks for input in three methods only", () => {
    deepEqual(
      methodsWhere(modernMethods, (shape) => shape.asks === true),
      ["prompts/get", "resources/read", "tools/call"],
    );
    deepEqual(
      methodsWhere(legacyMethods, (shape) => shape.asks === true),
      [],
    );
  });

  test("cache hints belong to six modern methods and to no legacy one", () => {
    deepEqual(
      methodsWhere(modernMethods, (shape) => shape.cacheable === true),
      ["prompts/list", "resources/list", "resources/read", "resources/templates/list", "server/discover", "tools/list"],
    );
    deepEqual(
      methodsWhere(legacyMethods, (shape) => shape.cacheable === true),
      [],
    );
  });

  test("who sends what: nothing but the client on the modern wire, both sides on the legacy one", () => {
    deepEqual(
      methodsWhere(modernMethods, (shape) => shape.from !== "client"),
      [],
    );
    deepEqual(
      methodsWhere(legacyMethods, (shape) => shape.from === "server"),
      ["elicitation/create", "roots/list", "sampling/createMessage"],
    );
    deepEqual(
      methodsWhere(legacyMethods, (shape) => shape.from === "both"),
      ["ping"],
    );
  });

  test("what went away with the handshake exists only on the legacy wire, and its successors only on the modern", () => {
    const onlyIn = (one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>) =>
      [...one.keys()].filter((name) => !other.has(name)).sort();
    deepEqual(onlyIn(modernMethods, legacyMethods), ["server/discover", "subscriptions/listen"]);
    deepEqual(onlyIn(legacyMethods, modernMethods), [
      "elicitation/create",
      "initialize",
      "logging/setLevel",
      "ping",
      "resources/subscribe",
      "resources/unsubscribe",
      "roots/list",
      "sampling/createMessage",
    ]);
    deepEqual(onlyIn(modernNotifications, legacyNotifications), ["notifications/subscriptions/acknowledged"]);
    deepEqual(onlyIn(legacyNotifications, modernNotifications), [
      "notifications/elicitation/complete",
      "notifications/initialized",
      "notifications/roots/list_changed",
    ]);
  });

  test("the mirrored name is a member that the params must have", () => {
    for (const [method, shape] of modernMethods) {
      if (shape.nameFrom === undefined) continue;
      equal(shape.params({})?.path, `/${shape.nameFrom}`, method);
    }
    equal(methodsWhere(modernMethods, (shape) => shape.nameFrom !== undefined).length, 3);
  });

  test("a question in place of a result has a shape of its own", () => {
    const question = { resultType: "input_required", requestState: "sealed" };
    equal(inputRequiredResult(question), undefined);
    ok(resultOf("tools/call")(question) !== undefined);
    ok(inputRequiredResult({ ...question, inputRequests: [] }) !== undefined);
  });

  test("answers of a retry are a map of objects, of any shape where nobody asked", () => {
    const { params } = shapeOf(modernMethods, "tools/call");
    equal(params({ name: "a", inputResponses: { any: { thing: 1 } }, requestState: "" }), undefined);
    for (const inputResponses of ["x", [], { k: 5 }, null]) ok(params({ name: "a", inputResponses }) !== undefined);
    ok(params({ name: "a", requestState: 1 }) !== undefined);
  });

  test("cache hints and the server's name for itself never make a result malformed", () => {
    const _meta = { "io.modelcontextprotocol/serverInfo": 5 };
    const result = resultOf("tools/list");
    for (const ttlMs of [-5, Number.POSITIVE_INFINITY, "60"]) {
      equal(result({ tools: [], ttlMs, cacheScope: "shared", _meta }), undefined);
    }
  });
});
