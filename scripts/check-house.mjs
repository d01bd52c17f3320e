import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { alone } from "./lib/check.mjs";
import { importsOf, withoutComments } from "./lib/imports.mjs";
import { at, filesBelow, shown } from "./lib/project.mjs";

/** Sizes above which a file, a folder or the list of seams is worth a second look. They warn; a reviewer decides. */
const usual = { lines: 450, files: 23, seams: 6 };

/** Programs that import a file of the user, whose path nobody knows before. */
const importers = ["cli/runner.ts"];

/**
 * Allowed dynamic imports of our own code, by seam: `[importing file, imported file]`, below `src`. See
 * `src/call/lazy.ts`.
 */
const seams = {
  "the handshake era of a server": [
    ["entry/server.ts", "era/legacy/server/era.ts"],
    ["era/legacy/server/http.ts", "era/legacy/server/cluster/share.ts"],
  ],
  "the handshake era of a client": [["era/legacy/client/era.ts", "era/legacy/client/connect.ts"]],
  "questions by replay, with the seal": [
    ["era/modern/server/handler.ts", "era/modern/server/replay.ts"],
    ["server/runtime.ts", "server/state/seal.ts"],
    ["server/asking-through.ts", "era/client-requests.ts"],
  ],
  "channels of a server": [["server/transports/channels.ts", "server/transports/channel.ts"]],
  "the JSON Schema validator": [
    ["schema/json-schema/lazy-validator.ts", "schema/json-schema/validator.ts"],
    ["entry/dialer.ts", "schema/json-schema/validator.ts"],
  ],
  "parts for Node": [
    ["entry/client.ts", "node/undici/send.ts"],
    ["entry/client.ts", "node/stdio/client.ts"],
    ["entry/auth-client.ts", "node/outgoing/usual-fetch.ts"],
    ["entry/auth-issuer.ts", "node/outgoing/usual-fetch.ts"],
    ["node/guarded-fetch.ts", "node/outgoing/guarded.ts"],
    ["node/stdio/client.ts", "node/process/server-process.ts"],
    ["node/http/serve.ts", "node/workers/serve.ts"],
    ["inspect/login.ts", "node/loopback.ts"],
  ],
};

/** Dynamic imports of the command. They save time, and no program of a user loads any of them. */
const command = [
  ["cli/main.ts", "cli/commands/index.ts"],
  ["cli/main.ts", "cli/completion/candidates.ts"],
  ["cli/completion/candidates.ts", "doctor/rules/index.ts"],
  ["cli/completion/candidates.ts", "doctor/portability.ts"],
  ["cli/commands/index.ts", "cli/commands/doctor.ts"],
  ["cli/commands/index.ts", "cli/commands/record.ts"],
  ["cli/commands/index.ts", "cli/commands/replay.ts"],
  ["cli/commands/index.ts", "cli/commands/types.ts"],
  ["cli/commands/index.ts", "cli/commands/login.ts"],
  ["cli/commands/index.ts", "cli/commands/logout.ts"],
  ["cli/commands/index.ts", "cli/commands/init.ts"],
  ["cli/commands/index.ts", "cli/commands/install.ts"],
  ["cli/session.ts", "cli/recordings/recorder.ts"],
  ["cli/login/on-demand.ts", "cli/login/open-auth.ts"],
  ["cli/login/open-auth.ts", "cli/login/oauth4webapi.ts"],
  ["cli/target.ts", "cli/recordings/play.ts"],
  ["cli/target.ts", "cli/hosts/find.ts"],
  ["cli/commands/list.ts", "cli/hosts/read.ts"],
  ["cli/hosts/read.ts", "cli/hosts/toml.ts"],
  ["cli/commands/list.ts", "entry/skills/client.ts"],
  ["cli/commands/skills.ts", "entry/skills/client.ts"],
  ["cli/commands/call.ts", "entry/tasks/client.ts"],
  ["cli/commands/tasks.ts", "entry/tasks/client.ts"],
  ["cli/tool-arguments.ts", "schema/json-schema/validator.ts"],
  ["cli/open-page.ts", "node/loopback.ts"],
  ["cli/commands/index.ts", "cli/commands/inspect.ts"],
  ["cli/runner.ts", "entry/node.ts"],
];

/** Checks the dynamic imports of `src`, and warns of large files and folders. */
export const house = {
  name: "house",
  async run() {
    return measure(at("src"), seams, command);
  },
};

/**
 * Returns the problems and warnings of a source folder. `allowed` has the imports of each seam by its name, `others` those that
 * are no seams.
 */
export function measure(source, allowed, others = []) {
  const problems = [];
  const warnings = [];
  const filesIn = new Map();
  const names = Object.keys(allowed);
  const open = new Set([...Object.values(allowed).flat(), ...others].map((one) => one.join(" -> ")));
  if (names.length > usual.seams) warnings.push(`${names.length} seams; up to ${usual.seams} are usual`);
  const files = filesBelow(source, ".ts");
  for (const file of files) {
    const code = readFileSync(file, "utf8");
    const count = code.split("\n").length - 1;
    if (count > usual.lines) warnings.push(`${shown(file)}: ${count} lines; up to ${usual.lines} are usual`);
    filesIn.set(dirname(file), (filesIn.get(dirname(file)) ?? 0) + 1);
    const own = file.slice(source.length + 1).replaceAll("\\", "/");
    if (!importers.includes(own) && /\bimport\s*\(\s*[^"'\s]/.test(withoutComments(code)))
      problems.push(`${shown(file)}: a dynamic import of a computed path`);
    for (const { specifier, kind } of importsOf(code)) {
      if (kind !== "dynamic" || !specifier.startsWith(".")) continue;
      const target = join(dirname(file), specifier.replace(/\.js$/, ".ts"));
      const seam = [file, target].map((path) => path.slice(source.length + 1).replaceAll("\\", "/")).join(" -> ");
      if (!open.delete(seam)) problems.push(`${seam}: a dynamic import that scripts/check-house.mjs does not list`);
    }
  }
  for (const [folder, count] of filesIn)
    if (count > usual.files) warnings.push(`${shown(folder)}: ${count} files; up to ${usual.files} are usual`);
  problems.push(...[...open].map((seam) => `${seam}: listed in scripts/check-house.mjs, but src has no such import`));
  return { problems, warnings, note: `${files.length} files, ${names.length} seams` };
}

await alone(import.meta.url, house);
