import { deepEqual, equal, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { ISSUER_LIMITS } from "#src/auth/issuer/limits.js";
import { GATE_LIMITS } from "#src/auth/server/limits.js";
import { COMMAND_LIMITS } from "#src/client/command-limits.js";
import { MEMORY_CLUSTER_LIMITS } from "#src/cluster/memory/limits.js";
import { CLIENT_LIMITS } from "#src/era/client-limits.js";
import { SERVER_LIMITS } from "#src/era/server-limits.js";
import { INSPECT_LIMITS } from "#src/inspect/limits.js";
import { SKILL_CACHE_LIMITS } from "#src/node/files/skill-cache.js";
import { SKILL_FOLDER_LIMITS } from "#src/node/files/skill-folder.js";
import { SERVE_HTTP_LIMITS, STDIO_TIMES } from "#src/node/limits.js";
import { STDIO_SERVER_LIMITS } from "#src/node/stdio/server.js";
import { RECORDING_LIMITS } from "#src/recording/limits.js";
import { SCHEMA_LIMITS } from "#src/schema/json-schema/limits.js";
import { SKILL_CATALOGUE_LIMITS } from "#src/skills/client/catalogue.js";
import { SKILLS_LIMITS } from "#src/skills/server/options.js";
import { TASKS_CLIENT_LIMITS } from "#src/tasks/client/options.js";
import { TASKS_LIMITS } from "#src/tasks/server/options.js";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const read = (path: string) => readFileSync(join(root, path), "utf8");

/** Files of limits that a gate and an issuer share. */
const AUTH = ["auth/issuer-keys", "auth/dpop/check", "auth/authorization-server"] as const;

const SKILLS = { ...SKILLS_LIMITS, ...SKILL_FOLDER_LIMITS, ...SKILL_CATALOGUE_LIMITS, ...SKILL_CACHE_LIMITS };
const SKILL_FILES = [
  "skills/server/options",
  "skills/client/options",
  "skills/client/catalogue",
  "node/files/skill-folder",
  "node/files/skill-cache",
] as const;

const STDIO = { ...COMMAND_LIMITS, ...STDIO_SERVER_LIMITS, ...STDIO_TIMES };

/** Each table of the page, with the constant that it tells of and the files that declare the options. */
const TABLES = [
  ["Server", SERVER_LIMITS, ["era/server-limits"]],
  ["Listening", SERVE_HTTP_LIMITS, ["node/http/serve"]],
  ["Client", CLIENT_LIMITS, ["era/client-limits"]],
  ["stdio", STDIO, ["node/stdio/server", "node/stdio/client", "client/options", "client/command-limits"]],
  ["JSON Schema", SCHEMA_LIMITS, ["schema/json-schema/limits"]],
  ["Gate", GATE_LIMITS, ["auth/server/limits", ...AUTH]],
  ["Issuer", ISSUER_LIMITS, ["auth/issuer/limits", ...AUTH]],
  ["Skills", SKILLS, SKILL_FILES],
  ["Tasks of a client", TASKS_CLIENT_LIMITS, ["tasks/client/options"]],
  ["Tasks", TASKS_LIMITS, ["tasks/server/options"]],
  ["Recording", RECORDING_LIMITS, ["recording/limits"]],
  ["Inspector", INSPECT_LIMITS, ["inspect/limits"]],
  ["Cluster in memory", MEMORY_CLUSTER_LIMITS, ["cluster/memory/limits"]],
] as const;

const TIMES = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000],
] as const;
const SIZES = [
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
] as const;

/** A default as the page writes it: in the largest unit that leaves a whole number. */
function show(name: string, value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "none";
  const units = name.endsWith("Ms") ? TIMES : name.endsWith("Bytes") ? SIZES : [];
  const unit = units.find(([, size]) => value % size === 0);
  if (unit !== undefined) return `${value / unit[1]} ${unit[0]}`;
  return value.toLocaleString("en-US") + (name.endsWith("Ms") ? " ms" : "");
}

function rowsOf(heading: string): string[][] {
  const page = read("docs/operating.md");
  const begin = page.indexOf(`\n### ${heading}\n`);
  ok(begin > 0, `docs/operating.md has no heading ${heading}`);
  const section = page.slice(begin + 5).split(/\n#{2,3} /, 1)[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

for (const [heading, limits, files] of TABLES) {
  const defaults = Object.entries(limits as Readonly<Record<string, number>>);

  test(`the page tells every limit of ${heading} with its default, and no other`, () => {
    const told = rowsOf(heading).map(([name, value]) => [name, value]);
    const wanted = defaults.map(([name, value]) => [`\`${name}\``, show(name, value)]);
    deepEqual(told.toSorted(), wanted.toSorted());
  });

  test(`each limit of ${heading} says what happens, and what the other side sees`, () => {
    for (const [name, , ...words] of rowsOf(heading)) {
      equal(words.length, 2, name);
      for (const word of words) ok(word.length > 2, `${name}: ${word}`);
    }
  });

  test(`the comments of ${heading} tell the defaults that are used`, () => {
    const source = files.map((file) => read(`src/${file}.ts`)).join("\n");
    for (const [name, value] of defaults) {
      const declared = [
        ...source.matchAll(new RegExp(`@default ([^*]+?)\\s+\\*/\\s+readonly ${name}\\??: number`, "g")),
      ];
      ok(declared.length > 0, `${heading}: ${name} has no @default`);
      for (const [, told = ""] of declared) {
        if (told !== show(name, value)) equal(Number(told.replaceAll("_", "")), value, `${heading}: ${name}`);
      }
    }
  });
}
