import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Entry {
  readonly since?: string;
  readonly until?: string;
  readonly transports?: readonly string[];
}

const { missingWires } = await loadScript<{
  missingWires(entry: Entry, wires: readonly (string | undefined)[]): readonly string[];
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
