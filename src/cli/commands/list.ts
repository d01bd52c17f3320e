import type { Client } from "../../client/client.js";
import type { Prompt, Resource, ResourceTemplate, Tool } from "../../protocol/types/index.js";
import type { Skill } from "../../skills/types.js";
import { ifSupported, keepCatalogue } from "../catalogue.js";
import type { CommandContext } from "../context.js";
import { describeFailure, UsageError } from "../failures.js";
import type { ConfiguredServer } from "../hosts/read.js";
import { textValue } from "../parse.js";
import { Prompter } from "../prompter.js";
import { aboutTokens, kindOf, typeText, valueText } from "../schema-text.js";
import type { Screen } from "../screen.js";
import { withClient, withPlan } from "../session.js";
import { findServer, toldCommand, toldUrl } from "../target.js";
import { toJson, visibleLine, wrapped } from "../text.js";
import { parametersOf } from "../tool-parameters.js";

/** Kinds of items, in the order in which they are shown. */
const KINDS = ["tools", "resources", "templates", "prompts", "skills"] as const;
type Kind = (typeof KINDS)[number];

interface Listing {
  readonly tools?: readonly Tool[];
  readonly resources?: readonly Resource[];
  readonly resourceTemplates?: readonly ResourceTemplate[];
  readonly prompts?: readonly Prompt[];
  readonly skills?: readonly Skill[];
  readonly instructions?: string;
}

/** Lists what a server offers, or the configured servers. */
export async function list(context: CommandContext): Promise<void> {
  const { line, values } = context;
  if (line.server === undefined && line.program === undefined) {
    if (values.record !== undefined) throw new UsageError("--record is for one server; name it");
    return listConfigured(context);
  }
  if (values.connect === true || values.yes === true)
    throw new UsageError("--connect and --yes are for a list without a server");
  await withClient(context, async (client) => {
    const listing = searched(await listingOf(client, context), textValue("search", values));
    if (listing.tools !== undefined && values.search === undefined) await keepCatalogue(context, listing.tools);
    context.finish(listing, () => print(listing, client, context));
  });
}

function wantedOf({ values }: CommandContext): ReadonlySet<Kind> {
  const wanted = KINDS.filter((kind) => values[kind] === true);
  return new Set(wanted.length > 0 ? wanted : KINDS);
}

/** Asks for the kinds that the server has. */
async function listingOf(client: Client, context: CommandContext): Promise<Listing> {
  const wanted = wantedOf(context);
  const { capabilities, instructions } = client.server;
  const isKnown = Object.keys(capabilities).length > 0;
  const has = (kind: Kind, capability: object | undefined) =>
    wanted.has(kind) && (!isKnown || capability !== undefined);
  const recorded = <T>(items: Promise<T>) => ifRecorded(ifSupported(items), context);
  const [tools, resources, resourceTemplates, prompts, skills] = await Promise.all([
    has("tools", capabilities.tools) ? recorded(client.tools().all()) : undefined,
    has("resources", capabilities.resources) ? recorded(client.resources().all()) : undefined,
    has("templates", capabilities.resources) ? recorded(client.resourceTemplates().all()) : undefined,
    has("prompts", capabilities.prompts) ? recorded(client.prompts().all()) : undefined,
    wanted.has("skills") && capabilities.extensions !== undefined ? recorded(skillsOf(client)) : undefined,
  ]);
  return {
    ...(instructions !== undefined && { instructions }),
    ...(tools && { tools }),
    ...(resources && { resources }),
    ...(resourceTemplates && { resourceTemplates }),
    ...(prompts && { prompts }),
    ...(skills && { skills }),
  };
}

/** Returns the items. A recording may lack a list that its server offers; that is noted, and no failure. */
async function ifRecorded<T>(items: Promise<T>, { line, screen }: CommandContext): Promise<T | undefined> {
  try {
    return await items;
  } catch (error) {
    const isRecording = line.server?.endsWith(".rec.ndjson") === true;
    const [, missing] = /^Replay: (nothing is recorded for \S+)/.exec((error as Error).message) ?? [];
    if (!isRecording || missing === undefined) throw error;
    screen.note(screen.tint("dim", visibleLine(missing)));
    return undefined;
  }
}

async function skillsOf(client: Client): Promise<readonly Skill[] | undefined> {
  const { SkillsClient } = await import("../../entry/skills/client.js");
  const skills = new SkillsClient(client);
  return skills.supported === true ? (await skills.list()).skills : undefined;
}

/** Keeps the items that have all words in their names or texts. */
function searched(listing: Listing, search: string | undefined): Listing {
  if (search === undefined) return listing;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (item: object) => {
    const text = JSON.stringify(item).toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return Object.fromEntries(
    Object.entries(listing).map(([kind, items]) => [kind, Array.isArray(items) ? items.filter(fits) : items]),
  );
}

function print(listing: Listing, client: Client, context: CommandContext): void {
  const { screen, values } = context;
  const { info } = client.server;
  const version = info?.version === undefined ? "" : ` ${visibleLine(info.version)}`;
  screen.line(
    `${screen.paint("bold", visibleLine(info?.name ?? "a server without a name"))}${version}, ${client.version}`,
  );
  const { instructions } = listing;
  if (instructions !== undefined)
    for (const line of paragraph(instructions, context, 0)) screen.line(screen.paint("dim", line));
  const section = <T>(title: string, items: readonly T[] | undefined, show: (item: T) => readonly string[]) => {
    if (items === undefined || items.length === 0) return;
    screen.line();
    screen.line(`${screen.paint("bold", title)} ${items.length}`);
    for (const item of items) for (const line of show(item)) screen.line(`  ${line}`);
  };
  section("Tools", listing.tools, (tool) => toolLines(tool, context));
  section("Resources", listing.resources, ({ uri, name, title, description }) => [
    `${screen.paint("cyan", visibleLine(uri))}${title !== undefined || name !== uri ? `  ${visibleLine(title ?? name)}` : ""}`,
    ...paragraph(description, context),
  ]);
  section("Resource templates", listing.resourceTemplates, ({ uriTemplate, name, title, description }) => [
    `${screen.paint("cyan", visibleLine(uriTemplate))}  ${visibleLine(title ?? name)}`,
    ...paragraph(description, context),
  ]);
  section("Prompts", listing.prompts, ({ name, arguments: args = [], description }) => [
    ...headLines(
      name,
      args.map(({ name: one, required }) => optionText(one, "<text>", required === true)),
      [],
      screen,
    ),
    ...paragraph(description, context),
  ]);
  section("Skills", listing.skills, ({ frontmatter }) => [
    screen.paint("cyan", visibleLine(frontmatter.name)),
    ...paragraph(frontmatter.description, context),
  ]);
  const shown = [listing.tools, listing.resources, listing.resourceTemplates, listing.prompts, listing.skills];
  if (shown.every((items) => items === undefined || items.length === 0))
    screen.line(values.search === undefined ? "nothing" : "nothing with these words");
}

function toolLines(tool: Tool, context: CommandContext): string[] {
  const { screen, values } = context;
  const root = tool.inputSchema as Readonly<Record<string, unknown>>;
  const options = [...parametersOf(tool)]
    .filter(([name]) => !name.includes("."))
    .map(([name, { schema, isRequired }]) =>
      optionText(
        name,
        kindOf(schema) === "boolean" ? "" : valueText(schema, root),
        isRequired,
        kindOf(schema) === "list",
      ),
    );
  const tokens = values.tokens === true ? [`about ${aboutTokens(tool)} tokens`] : [];
  const lines = [
    ...headLines(tool.name, options, tokens, screen),
    ...paragraph(tool.description ?? tool.title ?? "(no description)", context),
  ];
  if (tool.outputSchema !== undefined)
    lines.push(`    ${screen.paint("dim", `returns ${typeText(tool.outputSchema, tool.outputSchema)}`)}`);
  if (values.schema === true) {
    const schemas = { input: tool.inputSchema, ...(tool.outputSchema && { output: tool.outputSchema }) };
    lines.push(
      ...toJson(schemas, 2)
        .split("\n")
        .map((line) => `    ${line}`),
    );
  }
  return lines;
}

/** Returns the name of an item with its options, in lines that fit the terminal. No option is divided. */
function headLines(name: string, options: readonly string[], notes: readonly string[], screen: Screen): string[] {
  const lines: string[] = [];
  let text = screen.paint("cyan", visibleLine(name));
  let width = visibleLine(name).length;
  const add = (part: string, shown: string, gap: string) => {
    if (width + gap.length + part.length + 2 <= screen.columns) {
      text += gap + shown;
      width += gap.length + part.length;
      return;
    }
    lines.push(text);
    text = `    ${shown}`;
    width = 4 + part.length;
  };
  for (const option of options) add(option, option, " ");
  for (const note of notes) add(note, screen.paint("dim", note), "  ");
  return [...lines, text];
}

function optionText(name: string, value: string, isRequired: boolean, isList = false): string {
  const text = `--${visibleLine(name)}${value === "" ? "" : ` ${value}`}`;
  return `${isRequired ? text : `[${text}]`}${isList ? "..." : ""}`;
}

/** Returns a description as lines that fit the terminal, indented below their item. */
function paragraph(text: string | undefined, { screen }: CommandContext, indent = 4): string[] {
  if (text === undefined || text.trim() === "") return [];
  const columns = Math.min(screen.columns, 100) - indent - 2;
  return wrapped(visibleLine(text), columns).map((line) => `${" ".repeat(indent)}${line}`);
}

/** Lists the configured servers. With `--connect`, starts them after the user has agreed, and lists their tools. */
async function listConfigured(context: CommandContext): Promise<void> {
  const { values, io, screen } = context;
  const { readConfigured } = await import("../hosts/read.js");
  const { servers, problems } = await readConfigured(textValue("config", values), io);
  for (const problem of problems) screen.note(screen.tint("yellow", visibleLine(problem)));
  const told = servers.map((server) => tellOf(server));
  const show = () => {
    if (servers.length === 0) screen.line("No configured servers. bowline --help shows how to name one.");
    const width = Math.max(0, ...told.map(({ server }) => server.length));
    for (const { server, target, file, disabled } of told)
      screen.line(
        `${screen.paint("cyan", server.padEnd(width))}  ${target}${disabled ? "  (disabled)" : ""}  ${screen.paint("dim", file)}`,
      );
  };
  if (values.connect !== true) return context.finish({ servers: told }, show);
  if (!context.isJson) show();
  if (values.yes !== true && !(await agreed(context)))
    throw new UsageError("the configured servers are started only with --yes, or after a yes on a terminal");
  const results: object[] = [];
  for (const server of told.filter(({ disabled }) => !disabled)) results.push(await connectTo(server, context));
  context.finish({ servers: results }, () => {});
}

interface ToldServer {
  readonly server: string;
  readonly target: string;
  readonly file: string;
  readonly disabled: boolean;
}

function tellOf({ name, place, entry }: ConfiguredServer): ToldServer {
  const { command, args, url, disabled } = entry as {
    command?: string;
    args?: unknown;
    url?: string;
    disabled?: boolean;
  };
  const count = Array.isArray(args) ? args.length : 0;
  const target = command === undefined ? toldUrl(String(url ?? "")) : toldCommand(command, count);
  return {
    server: visibleLine(`${place.host}:${name}`),
    target: visibleLine(target),
    file: visibleLine(place.file),
    disabled: disabled === true,
  };
}

async function agreed({ io }: CommandContext): Promise<boolean> {
  if (io.stdin.isTTY !== true || io.stderr.isTTY !== true) return false;
  const text = await new Prompter(io).ask("Start these servers and list their tools? (y/n) ");
  return /^y(?:es)?$/i.test(text ?? "");
}

async function connectTo({ server, file }: ToldServer, context: CommandContext): Promise<object> {
  const { screen } = context;
  const line = { ...context.line, server };
  try {
    const plan = await findServer(line, context.io);
    return await withPlan(context, plan, async (client) => {
      const tools = client.server.capabilities.tools === undefined ? [] : await client.tools().all();
      if (!context.isJson) {
        screen.line();
        screen.line(`${screen.paint("bold", server)}, ${client.version}, ${tools.length} tools`);
        for (const tool of tools) for (const text of toolLines(tool, context)) screen.line(`  ${text}`);
      }
      return { server, file, tools };
    });
  } catch (error) {
    if (context.io.signal.aborted) throw error;
    const { failure } = describeFailure(error);
    screen.error(screen.tint("red", `${server}: ${failure.message}`));
    return { server, file, error: failure };
  }
}
