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

interface Reason {
  readonly chunk: string;
  readonly needs: readonly string[];
  readonly joined: readonly string[] | undefined;
}

const { reasonsOf } = await loadScript<{
  reasonsOf(graph: ReadonlyMap<string, Required<Module>>): ReadonlyMap<string, Reason>;
}>("scripts/lib/chunks.mjs");

function reasonsIn(modules: Readonly<Record<string, Module>>): ReadonlyMap<string, Reason> {
  const whole = { imports: [], late: [], outside: [], isEntry: false, isApart: false, size: 1 };
  return reasonsOf(new Map(Object.entries(modules).map(([id, module]) => [id, { ...whole, ...module }])));
}

function divide(modules: Readonly<Record<string, Module>>): Record<string, string> {
  return Object.fromEntries([...reasonsIn(modules)].map(([id, { chunk }]) => [id, chunk]));
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

test("each module tells which roots need it, and which larger set it joined", () => {
  const reasons = reasonsIn({
    server: { isEntry: true, imports: ["all", "few"] },
    client: { isEntry: true, imports: ["all", "few"] },
    node: { isEntry: true, imports: ["all"] },
    all: { size: HEAVY },
    few: {},
  });
  const everyone = ["server", "client", "node"];
  deepEqual(reasons.get("server"), { chunk: "server", needs: ["server"], joined: undefined });
  deepEqual(reasons.get("all"), { chunk: "shared-1", needs: everyone, joined: undefined });
  deepEqual(reasons.get("few"), { chunk: "shared-1", needs: ["server", "client"], joined: everyone });
});
