import { stat } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import type { ConfiguredFacts, HostsFacts } from "../../doctor/facts.js";
import { isObject } from "../../protocol/json.js";
import { Redactor } from "../../recording/redactor.js";
import { SecretNames } from "../../recording/secret-names.js";
import { type ConfiguredServer, readConfigured } from "../hosts/read.js";
import type { Io } from "../io.js";

/** Reads the configuration files of hosts. Starts nothing. */
export async function readHosts(config: string | undefined, io: Io): Promise<HostsFacts> {
  const { servers, problems } = await readConfigured(config, io);
  return { problems, servers: await Promise.all(servers.map((server) => factsOf(server, io))) };
}

async function factsOf({ name, place, entry }: ConfiguredServer, io: Io): Promise<ConfiguredFacts> {
  const { command, args, cwd } = entry;
  const program = typeof command === "string" ? command : undefined;
  const texts = Array.isArray(args) ? args.filter((one) => typeof one === "string") : [];
  const isMissing = program !== undefined && !program.includes("${") && !(await exists(program, io, place.project));
  // A host starts the servers of a project in its folder, and those of the user anywhere.
  const paths = program === undefined ? [] : [program, ...texts, ...(typeof cwd === "string" ? [cwd] : [])];
  const isAnywhere = place.project === undefined && !(typeof cwd === "string" && isAbsolute(cwd));
  return {
    name,
    host: place.host,
    file: place.file,
    ...(isMissing && { missing: program }),
    relative: isAnywhere ? paths.filter((path) => /^\.\.?[\\/]/.test(path)) : [],
    secrets: secretsIn(entry),
  };
}

/** Returns the names of the members of `env`, `headers` and `args` whose values look secret. */
function secretsIn({ env, headers, args, url }: ConfiguredServer["entry"]): string[] {
  const names = new SecretNames([], []);
  const redactor = new Redactor();
  const isPlain = (text: unknown) => typeof text === "string" && text.length >= 8 && !/\$\{[^}]+\}/.test(text);
  const members = [env, headers].flatMap((values) => (isObject(values) ? Object.entries(values) : []));
  const named = members.flatMap(([name, value]) => {
    const isSecret = names.has(name) || redactor.text(String(value)) !== String(value);
    return isPlain(value) && isSecret ? [name] : [];
  });
  const others = [...(Array.isArray(args) ? args : []), url].some(
    (text) => isPlain(text) && redactor.url(String(text)) !== text,
  );
  return others ? [...named, Array.isArray(args) ? "args" : "url"] : named;
}

async function exists(program: string, { env, platform, cwd }: Io, project: string | undefined): Promise<boolean> {
  const endings = platform === "win32" ? ["", ".exe", ".cmd", ".bat", ".com"] : [""];
  const hasFolder = /[\\/]/.test(program);
  const folders = hasFolder
    ? [isAbsolute(program) ? "" : (project ?? cwd)]
    : (env.PATH ?? env.Path ?? "").split(delimiter);
  for (const folder of folders)
    for (const ending of endings)
      if (await isFile(folder === "" ? program + ending : join(folder, program + ending))) return true;
  return false;
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
