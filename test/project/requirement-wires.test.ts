import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Entry {
  readonly since?: string;
  readonly until?: string;
  readonly transports?: readonly string[];
}

interface Proof {
  readonly wire?: string;
  readonly traffic: readonly string[];
}

const { missingWires, provedWires, refusalOf, isWire } = await loadScript<{
  missingWires(entry: Entry, wires: readonly (string | undefined)[]): readonly string[];
  provedWires(proof: Proof): readonly (string | undefined)[];
  refusalOf(proof: Proof & { readonly test: string }): string | undefined;
  isWire(wire: string | undefined): boolean;
}>("scripts/lib/catalogue.mjs");

test("a requirement without transports needs one proof in each era", () => {
  deepEqual(missingWires({}, ["modern-memory"]), ["legacy"]);
  deepEqual(missingWires({}, ["modern-memory", "legacy-stdio"]), []);
});

test("a test without a wire proves both eras, but no transport", () => {
  deepEqual(missingWires({}, [undefined]), []);
  deepEqual(missingWires({ transports: ["stdio"] }, [undefined]), ["legacy-stdio", "modern-stdio"]);
});

test("since and until decide the eras", () => {
  deepEqual(missingWires({ since: "2026-07-28" }, ["legacy-memory"]), ["modern"]);
  deepEqual(missingWires({ until: "2026-07-28" }, ["modern-memory"]), ["legacy"]);
  deepEqual(missingWires({ since: "2025-03-26", until: "2025-11-25" }, ["legacy-memory"]), []);
});

test("http takes both hosts, or a test that speaks HTTP itself", () => {
  const entry = { since: "2026-07-28", transports: ["http"] };
  deepEqual(missingWires(entry, ["modern-node"]), ["modern-fetch"]);
  deepEqual(missingWires(entry, ["modern-node", "modern-fetch"]), []);
  deepEqual(missingWires(entry, ["http"]), []);
  deepEqual(missingWires(entry, ["legacy-http"]), ["modern-node", "modern-fetch"]);
});

test("sse is asked for in the legacy era alone", () => {
  deepEqual(missingWires({ transports: ["sse"] }, []), ["legacy-sse"]);
  deepEqual(missingWires({ transports: ["sse"] }, ["sse"]), []);
});

test("a proof counts for its wire where messages of that era passed on it", () => {
  deepEqual(provedWires({ wire: "modern-node", traffic: ["legacy-node", "modern-node"] }), ["modern-node"]);
  deepEqual(provedWires({ wire: "modern-http", traffic: ["modern-fetch"] }), ["modern-http"]);
  deepEqual(provedWires({ wire: "sse", traffic: ["legacy-node", "legacy-sse"] }), ["legacy-sse"]);
});

test("a proof whose wire had other traffic, or none, counts for nothing", () => {
  deepEqual(provedWires({ wire: "modern-http", traffic: ["legacy-http", "legacy-node"] }), []);
  deepEqual(provedWires({ wire: "modern-node", traffic: ["modern-fetch"] }), []);
  deepEqual(provedWires({ wire: "modern-node", traffic: ["node"] }), []);
  deepEqual(provedWires({ wire: "stdio", traffic: ["memory", "modern-memory"] }), []);
  deepEqual(provedWires({ wire: "http", traffic: [] }), []);
});

test("a refusal names the test, its wire and its traffic", () => {
  const test = "build/test/scenarios/a.test.js:some:id: a title";
  equal(refusalOf({ test, wire: "modern-http", traffic: ["modern-node"] }), undefined);
  const wrong = refusalOf({ test, wire: "modern-http", traffic: ["legacy-http", "legacy-node"] });
  ok(wrong?.startsWith(`${test}: its wire is modern-http, but its traffic was legacy-http, legacy-node;`), wrong);
  const none = refusalOf({ test, wire: "stdio", traffic: [] });
  ok(none?.startsWith(`${test}: its wire is stdio, but it had no traffic;`), none);
});

test("a wire without an era stands for the eras that were seen, or for both if none was", () => {
  deepEqual(provedWires({ wire: "http", traffic: ["legacy-http", "node"] }), ["legacy-http"]);
  deepEqual(provedWires({ wire: "http", traffic: ["legacy-node", "modern-fetch"] }), ["legacy-http", "modern-http"]);
  deepEqual(provedWires({ wire: "http", traffic: ["node", "modern-memory"] }), ["http"]);
});

test("a test without a wire counts for the eras that it spoke, or for both if it spoke none", () => {
  deepEqual(provedWires({ traffic: ["legacy-memory", "memory"] }), ["legacy"]);
  deepEqual(provedWires({ traffic: [] }), [undefined]);
  deepEqual(missingWires({}, ["legacy"]), ["modern"]);
  deepEqual(missingWires({ until: "2026-07-28", transports: ["http"] }, ["legacy"]), ["legacy-node", "legacy-fetch"]);
});

test("a test names a transport, with an era or without", () => {
  deepEqual(["modern-stdio", "sse", undefined].map(isWire), [true, true, true]);
  deepEqual(["modern", "", "modern-", "websocket"].map(isWire), [false, false, false, false]);
});
