import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { alone } from "./lib/check.mjs";
import { importsOf } from "./lib/imports.mjs";
import { at, packageEntries, shown } from "./lib/project.mjs";

/** Parts of a server that are loaded on demand: questions by replay with sealed state, and JSON Schema validation. */
const lateInServer = [
  "dist/era/modern/server/replay.js",
  "dist/server/state/seal.js",
  "dist/schema/json-schema/validator.js",
];

/** Adapters of engines. Only their own entries load them. */
const engines = ["dist/postgres/", "dist/redis/", "dist/sqlite/"];

/** Parts of `dist` that an entry must not load. `node:` stands for the modules of Node. */
const forbidden = {
  ".": [...engines, "dist/cluster/", "dist/node/", "node:"],
  "./client": [
    ...engines,
    "dist/server/",
    "dist/era/legacy/client/connect.js",
    "dist/schema/json-schema/validator.js",
    "dist/skills/",
    "dist/state/",
    "dist/tasks/",
    "dist/cluster/",
    "dist/node/",
    "node:",
  ],
  "./server": [
    ...engines,
    "dist/client/",
    "dist/skills/",
    "dist/state/",
    "dist/tasks/",
    "dist/cluster/",
    "dist/node/",
    "dist/era/legacy/server/era.js",
    ...lateInServer,
    "node:",
  ],
  "./server/modern": [
    ...engines,
    "dist/client/",
    "dist/skills/",
    "dist/state/",
    "dist/tasks/",
    "dist/cluster/",
    "dist/node/",
    "dist/era/legacy/",
    "dist/schema/json-schema/check-schema.js",
    ...lateInServer,
    "node:",
  ],
  "./json-schema": [...engines, "dist/cluster/", "dist/client/", "dist/server/", "dist/era/", "dist/node/", "node:"],
  // Modules that take Node milliseconds to load. Only programs that use them load them, not every server on stdio.
  "./node": [
    ...engines,
    "dist/auth/client/oauth.js",
    "dist/skills/",
    "dist/state/",
    "dist/tasks/",
    "dist/cluster/",
    "node:http",
    "node:child_process",
    "node:crypto",
  ],
  "./auth/client": [
    ...engines,
    "dist/cluster/",
    "dist/server/",
    "dist/client/",
    "dist/auth/server/",
    "dist/auth/issuer/",
    "dist/node/",
    "node:",
  ],
  "./auth/server": [
    ...engines,
    "dist/cluster/",
    "dist/server/",
    "dist/client/",
    "dist/era/",
    "dist/auth/client/",
    "dist/auth/issuer/",
    "dist/node/",
    "node:",
  ],
  "./auth/issuer": [
    ...engines,
    "dist/cluster/",
    "dist/server/",
    "dist/client/",
    "dist/era/",
    "dist/auth/client/",
    "dist/auth/server/",
    "dist/node/",
    "node:",
  ],
  "./compat": [
    ...engines,
    "dist/cluster/",
    "dist/client/",
    "dist/auth/client/oauth.js",
    "node:http",
    "node:child_process",
    "node:crypto",
  ],
  "./skills/server": [
    ...engines,
    "dist/cluster/",
    "dist/client/",
    "dist/skills/client/",
    "dist/node/",
    "dist/auth/",
    "node:",
  ],
  "./state": [
    ...engines,
    "dist/client/",
    "dist/server/",
    "dist/tasks/",
    "dist/skills/",
    "dist/node/",
    "dist/auth/",
    "node:",
  ],
  "./tasks/server": [
    ...engines,
    "dist/client/",
    "dist/tasks/client/",
    "dist/skills/",
    "dist/node/",
    "dist/auth/",
    "node:",
  ],
  "./skills/client": [
    ...engines,
    "dist/cluster/",
    "dist/server/",
    "dist/skills/server/",
    "dist/node/",
    "dist/auth/",
    "node:",
  ],
  "./tasks/client": [
    ...engines,
    "dist/cluster/",
    "dist/server/",
    "dist/tasks/server/",
    "dist/skills/",
    "dist/node/",
    "dist/auth/",
    "node:",
  ],
  "./redis": [
    "dist/cluster/memory/",
    "dist/postgres/",
    "dist/sqlite/",
    "dist/server/",
    "dist/client/",
    "dist/era/",
    "dist/http/",
    "dist/store/",
    "dist/node/",
    "node:",
  ],
  "./postgres": [
    "dist/cluster/memory/",
    "dist/redis/",
    "dist/sqlite/",
    "dist/server/",
    "dist/client/",
    "dist/era/",
    "dist/http/",
    "dist/store/",
    "dist/node/",
    "node:",
  ],
  // SQLite is in the thread, which only new versions of Node can load.
  "./sqlite": [
    "dist/cluster/memory/",
    "dist/postgres/",
    "dist/redis/",
    "dist/server/",
    "dist/client/",
    "dist/era/",
    "dist/http/",
    "dist/store/",
    "dist/auth/",
    "node:sqlite",
  ],
  "./cluster": [
    "dist/postgres/",
    "dist/redis/",
    "dist/sqlite/",
    "dist/server/",
    "dist/client/",
    "dist/era/",
    "dist/http/",
    "dist/store/",
    "dist/node/",
    "node:",
  ],
  "./otel": [...engines, "dist/cluster/", "dist/server/", "dist/client/", "dist/era/", "dist/node/", "node:"],
  "./testing": [],
};

/** Packages that an entry may import: optional peers, which only its users install. */
const peers = {
  "./auth/server": ["jose"],
  "./auth/issuer": ["jose"],
  "./otel": ["@opentelemetry/api"],
};

/** Checks which modules each entry loads by static imports of the built files. */
export const bleed = {
  name: "bleed",
  async run() {
    const problems = [];
    const notes = [];
    const files = packageEntries().flatMap(({ subpath, code, browser }) => [
      { subpath, name: subpath, code },
      ...(browser === undefined ? [] : [{ subpath, name: `${subpath} (browser)`, code: browser }]),
    ]);
    for (const { subpath, name, code } of files) {
      const rules = forbidden[subpath];
      if (rules === undefined) problems.push(`${name}: no rule in scripts/check-bleed.mjs`);
      else if (!existsSync(code)) problems.push(`${name}: ${shown(code)} does not exist`);
      else {
        const reached = reach(code);
        notes.push(`${name} ${reached.size}`);
        problems.push(...judge(subpath, rules, reached).map((problem) => `${name} ${problem}`));
      }
    }
    return { problems, note: `files loaded: ${notes.join(", ")}` };
  },
};

/** Returns all modules that an import of the file loads, each with the chain of imports that leads to it. */
export function reach(start) {
  const found = new Map([[start, [start]]]);
  for (const [file, chain] of found) {
    if (!existsSync(file)) continue;
    for (const { specifier, kind } of importsOf(readFileSync(file, "utf8"))) {
      if (kind !== "static") continue;
      const target = specifier.startsWith(".") ? join(dirname(file), specifier) : specifier;
      if (!found.has(target)) found.set(target, [...chain, target]);
    }
  }
  return found;
}

function judge(subpath, rules, reached) {
  const problems = [];
  for (const [target, chain] of reached) {
    const isFile = target.startsWith(at());
    const name = isFile ? shown(target) : target;
    const path = chain.map((step) => (step.startsWith(at()) ? shown(step) : step)).join(" -> ");
    if (rules.some((rule) => name.startsWith(rule))) problems.push(`must not load ${name}: ${path}`);
    else if (!isFile && !name.startsWith("node:") && !peers[subpath]?.includes(name))
      problems.push(`needs the package ${name}: ${path}`);
    else if (isFile && !existsSync(target)) problems.push(`loads ${name}, which does not exist: ${path}`);
  }
  return problems;
}

await alone(import.meta.url, bleed);
