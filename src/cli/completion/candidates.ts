import { keptCatalogue } from "../catalogue.js";
import { readConfigured } from "../hosts/read.js";
import type { Io } from "../io.js";
import type { OptionTable } from "../options.js";
import { optionsOf, tokensOf } from "../parse.js";
import { choicesOf, kindOf } from "../schema-text.js";
import { COMMANDS, type CommandSpec, commandNamed, usesServer } from "../table.js";
import { visibleLine } from "../text.js";
import { parametersOf } from "../tool-parameters.js";
import { SHELLS } from "./scripts.js";

/** A word that may come next, and what it is. */
export type Candidate = readonly [word: string, about: string];

/** Returns the words that may take the place of the last one. Starts nothing and sends nothing. */
export async function candidatesFor(words: readonly string[], io: Io): Promise<readonly Candidate[]> {
  const [name = "", ...rest] = words;
  if (rest.length === 0)
    return fitting(
      name,
      COMMANDS.map((command) => [command.name, command.summary] as const),
    );
  const spec = commandNamed(name);
  if (spec === undefined || rest.slice(0, -1).includes("--")) return [];
  const last = rest.at(-1) ?? "";
  const before = rest.slice(0, -1);
  return fitting(last, await wordsOf(spec, before, last, io));
}

function fitting(start: string, words: readonly Candidate[]): Candidate[] {
  return words.filter(([word]) => word.startsWith(start));
}

async function wordsOf(
  spec: CommandSpec,
  before: readonly string[],
  last: string,
  io: Io,
): Promise<readonly Candidate[]> {
  const table = optionsOf(spec);
  const texts = tokensOf(before, table).flatMap(({ kind, value }) => (kind === "positional" ? [value ?? ""] : []));
  const tools = spec.name === "call" && texts[0] !== undefined ? await keptCatalogue(texts[0], undefined, io) : [];
  const tool = tools.find((one) => one.name === texts[1]);
  const parameters = tool === undefined ? undefined : parametersOf(tool as Parameters<typeof parametersOf>[0]);
  const asked = /^--(.+)$/.exec(before.at(-1) ?? "")?.[1];
  const parameter = asked === undefined ? undefined : parameters?.get(asked);
  if (parameter !== undefined && kindOf(parameter.schema) !== "boolean")
    return choicesOf(parameter.schema).map((choice) => [visibleLine(choice), ""]);
  if (spec.name === "doctor" && asked !== undefined && asked in DOCTOR_LISTS)
    return listWords(await DOCTOR_LISTS[asked as keyof typeof DOCTOR_LISTS](), last);
  if (parameter === undefined && asked !== undefined && table[asked]?.type === "string")
    return (table[asked].choices ?? []).map((choice) => [choice, ""]);
  if (last.startsWith("-"))
    return [
      ...[...(parameters ?? [])].map(
        ([name, { schema }]) => [`--${visibleLine(name)}`, visibleLine(String(schema.description ?? ""))] as const,
      ),
      ...optionWords(table),
    ];
  if (spec.name === "completion") return Object.keys(SHELLS).map((shell) => [shell, ""]);
  if (!usesServer(spec)) return [];
  if (texts.length === 0) return serverWords(io);
  return spec.name === "call" && texts.length === 1 ? tools.map(({ name }) => [visibleLine(name), ""]) : [];
}

/** Values of the options of the doctor that take lists. The rules are loaded for them alone. */
const DOCTOR_LISTS = { only: rulesAndGroups, skip: rulesAndGroups, for: portableHosts } as const;

async function rulesAndGroups(): Promise<readonly Candidate[]> {
  const { RULES } = await import("../../doctor/rules/index.js");
  const groups = new Set(RULES.map(({ id }) => id.split("/")[0]!));
  return [...[...groups].map((group) => [group, ""] as const), ...RULES.map(({ id, finds }) => [id, finds] as const)];
}

async function portableHosts(): Promise<readonly Candidate[]> {
  const { PORTABLE_HOSTS } = await import("../../doctor/portability.js");
  return PORTABLE_HOSTS.map((host) => [host, ""]);
}

/** Returns the words for the last name of a list, behind those that it has. */
function listWords(words: readonly Candidate[], list: string): Candidate[] {
  const before = list.slice(0, list.lastIndexOf(",") + 1);
  return words.map(([word, about]) => [before + word, about]);
}

function optionWords(table: OptionTable): Candidate[] {
  return Object.entries(table).map(([name, { help }]) => [`--${name}`, help]);
}

/** Bare names where they are one server, and the names with the host otherwise. */
async function serverWords(io: Io): Promise<Candidate[]> {
  const { servers } = await readConfigured(undefined, io);
  const counts = new Map<string, number>();
  for (const { name } of servers) counts.set(name, (counts.get(name) ?? 0) + 1);
  return servers.map(({ name, place }) => {
    const word = counts.get(name) === 1 ? name : `${place.host}:${name}`;
    return [visibleLine(word), place.file];
  });
}
