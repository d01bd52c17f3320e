import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { alone } from "./lib/check.mjs";
import { importsOf } from "./lib/imports.mjs";
import { at, packageEntries, shown } from "./lib/project.mjs";

/** The seams of a server: questions by replay with the seal, and the checks of values by JSON Schema. */
const lateInServer = [
  "dist/era/modern/server/replay.js",
  "dist/server/state/seal.js",
  "dist/schema/json-schema/validator.js",
];

/** Parts of dist that an entry must not load; `node:` stands for node's own modules. */
const forbidden = {
  ".": ["dist/node/", "node:"],
  "./client": [
    "dist/server/",
    "dist/era/legacy/client/connect.js",
    "dist/schema/json-schema/validator.js",
    "dist/node/",
    "node:",
  ],
  "./server": ["dist/client/", "dist/node/", "dist/era/legacy/server/era.js", ...lateInServer, "node:"],
  "./server/modern": [
    "dist/client/",
    "dist/node/",
    "dist/era/legacy/",
    "dist/schema/json-schema/check-schema.js",
    ...lateInServer,
    "node:",
  ],
  "./json-schema": ["dist/client/", "dist/server/", "dist/era/", "dist/node/", "node:"],
  // What costs node milliseconds is loaded by those who use it, not by every server on stdio.
  "./node": ["dist/auth/client/oauth.js", "node:http", "node:child_process", "node:crypto"],
  "./auth/client": ["dist/server/", "dist/client/", "dist/auth/server/", "dist/auth/issuer/", "dist/node/", "node:"],
  "./auth/server": [
    "dist/server/",
    "dist/client/",
    "dist/era/",
    "dist/auth/client/",
    "dist/auth/issuer/",
    "dist/node/",
    "node:",
  ],
  "./auth/issuer": [
    "dist/server/",
    "dist/client/",
    "dist/era/",
    "dist/auth/client/",
    "dist/auth/server/",
    "dist/node/",
    "node:",
  ],
  "./compat": ["dist/client/", "dist/auth/client/oauth.js", "node:http", "node:child_process", "node:crypto"],
  "./otel": ["dist/server/", "dist/client/", "dist/era/", "dist/node/", "node:"],
  "./testing": [],
};

/** Packages that an entry may need: optional peers, which only its users install. */
const peers = {
  "./auth/client": ["oauth4webapi"],
  "./auth/server": ["jose"],
  "./auth/issuer": ["jose"],
  "./compat": ["dist/client/", "dist/auth/client/oauth.js", "node:http", "node:child_process", "node:crypto"],
  "./otel": ["@opentelemetry/api"],
};

/** What each entry loads when it is imported, by the static imports of the built files. */
export const bleed = {
  name: "bleed",
  async run() {
    const problems = [];
    const notes = [];
    for (const { subpath, code } of packageEntries()) {
      const rules = forbidden[subpath];
      if (rules === undefined) problems.push(`${subpath}: no rule in scripts/check-bleed.mjs`);
      else if (!existsSync(code)) problems.push(`${subpath}: ${shown(code)} does not exist`);
      else {
        const reached = reach(code);
        notes.push(`${subpath} ${reached.size}`);
        problems.push(...judge(subpath, rules, reached));
      }
    }
    return { problems, note: `files loaded: ${notes.join(", ")}` };
  },
};

/** Everything an import of the file loads, each with the chain that leads to it. */
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
    if (rules.some((rule) => name.startsWith(rule))) problems.push(`${subpath} must not load ${name}: ${path}`);
    else if (!isFile && !name.startsWith("node:") && !peers[subpath]?.includes(name))
      problems.push(`${subpath} needs the package ${name}: ${path}`);
    else if (isFile && !existsSync(target)) problems.push(`${subpath} loads ${name}, which does not exist: ${path}`);
  }
  return problems;
}

await alone(import.meta.url, bleed);
