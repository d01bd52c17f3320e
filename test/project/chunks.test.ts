import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Module {
  readonly imports?: readonly string[];
  readonly late?: readonly string[];
  readonly outside?: readonly string[];
  readonly isEntry?: boolean;
  readonly isApart?: boolean;
  readonly size?: number;
}

const { chunksOf } = await loadScript<{
  chunksOf(graph: ReadonlyMap<string, Required<Module>>): ReadonlyMap<string, string>;
}>("scripts/lib/chunks.mjs");

function divide(modules: Readonly<Record<string, Module>>): Record<string, string> {
  const whole = { imports: [], late: [], outside: [], isEntry: false, isApart: false, size: 1 };
  return Object.fromEntries(
    chunksOf(new Map(Object.entries(modules).map(([id, module]) => [id, { ...whole, ...module }]))),
  );
}

const HEAVY = 1_000_000;

test("what one root needs is in that root's chunk", () => {
  const chunks = divide({
    server: { isEntry: true, imports: ["tool"], late: ["legacy"] },
    tool: {},
    legacy: { imports: ["session", "tool"] },
    session: {},
  });
  deepEqual(chunks, { server: "server", tool: "server", legacy: "legacy", session: "legacy" });
});

test("heavy sets of modules have chunks of their own, and a light one joins what is common to those around it", () => {
  const chunks = divide({
    server: { isEntry: true, imports: ["all", "sides", "few"] },
    client: { isEntry: true, imports: ["all", "sides", "few"] },
    node: { isEntry: true, imports: ["all", "sides"] },
    otel: { isEntry: true, imports: ["all"] },
    all: { size: HEAVY },
    sides: { size: HEAVY },
    few: {},
  });
  notEqual(chunks.all, chunks.sides);
  equal(chunks.few, chunks.sides);
});

test("an extension has chunks of its own and does not change those of the others", () => {
  const base = {
    server: { isEntry: true, imports: ["all", "catalogue"] },
    client: { isEntry: true, imports: ["all", "pages"] },
    all: { size: HEAVY },
    catalogue: {},
    pages: {},
  };
  const chunks = divide({
    ...base,
    "skills-server": { isEntry: true, isApart: true, imports: ["all", "catalogue", "names"] },
    "skills-client": { isEntry: true, isApart: true, imports: ["all", "pages", "names"] },
    names: { isApart: true },
  });
  for (const [id, chunk] of Object.entries(divide(base))) equal(chunks[id], chunk, id);
  ok(!Object.keys(base).some((id) => chunks[id] === chunks.names));
});

test("a module that needs a package joins nobody who would not load it", () => {
  const chunks = divide({
    issuer: { isEntry: true, imports: ["all", "keys"] },
    verifier: { isEntry: true, imports: ["all", "keys"] },
    client: { isEntry: true, imports: ["all"] },
    all: { size: HEAVY },
    keys: { imports: ["sign"] },
    sign: { outside: ["jose"] },
  });
  equal(chunks.keys, chunks.sign);
  notEqual(chunks.keys, chunks.all);
});

test("what one entry starts with and another loads late is in neither's chunk", () => {
  const chunks = divide({
    client: { isEntry: true, imports: ["session"] },
    server: { isEntry: true, late: ["legacy"] },
    legacy: { imports: ["session"] },
    session: {},
  });
  equal(chunks.session, "shared-1");
});
