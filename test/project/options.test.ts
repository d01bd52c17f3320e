import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { bearer, createAuthSteps, exchangeAtProvider, identityAssertion, oauth } from "bowline/auth/client";
import { createIssuer, memoryIssuerStore, rateLimiter } from "bowline/auth/issuer";
import { introspectionVerifier, jwtVerifier, protect } from "bowline/auth/server";
import { type Client, connect, createGroup, loadIcon, memoryCache, pinned, retry } from "bowline/client";
import { authStore, cacheStore, memoryCluster, type Store, storeCluster } from "bowline/cluster";
import { inspect } from "bowline/inspect";
import { jsonSchemaValidator } from "bowline/json-schema";
import {
  createStdioClientChannel,
  createStdioServerChannel,
  diagnoseClient,
  diagnoseServer,
  fileResource,
  guardedFetch,
  openLoopback,
  recordingFile,
  serveHttp,
  serveNodeRequest,
  serveStdio,
  skillCache,
  skillFolder,
} from "bowline/node";
import { traceClient, traceServer } from "bowline/otel";
import { postgresCluster } from "bowline/postgres";
import { redisCluster } from "bowline/redis";
import { inputRequired, McpServer, memoryBuckets, ServerExtension, toolResult } from "bowline/server";
import { SkillCatalogue, SkillsClient } from "bowline/skills/client";
import { skills } from "bowline/skills/server";
import { sqliteCluster } from "bowline/sqlite";
import { defineState } from "bowline/state";
import { tasksClient } from "bowline/tasks/client";
import { tasks } from "bowline/tasks/server";
import {
  createArrayExchange,
  createChannelPair,
  createMemoryState,
  engineContract,
  Recording,
  replayClient,
  replayServer,
  storeContract,
  withFaults,
  withFetchFaults,
} from "bowline/testing";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Declarations of an entry, by name. */
type Declarations = ReadonlyMap<string, string>;

const ENTRIES = readdirSync(join(root, "api")).map((file) => file.replace(/\.md$/, ""));

/** Returns the declarations of a part of an entry, by the names under which it exports them. */
function declared(part = ""): Declarations {
  const [, block = ""] = /^```ts\n(.*?)\n```/ms.exec(part) ?? [];
  return new Map(
    block.split(/\n\n/).map((text) => {
      const [, alias, body = ""] = /^(?:\/\/ exported as (\S+)\n)?(.*)$/s.exec(text) ?? [];
      return [alias ?? /^(?:abstract )?\w+ ([\w$]+)/.exec(body)?.[1] ?? "", body];
    }),
  );
}

const partsOf = (entry: string) => readFileSync(join(root, "api", `${entry}.md`), "utf8").split("## Used by");

/** Declarations of all entries. A name has one meaning in all of them, but for those of the official SDK. */
const EVERYWHERE: Declarations = new Map(
  ENTRIES.filter((entry) => entry !== "compat").flatMap((entry) => [...declared(partsOf(entry)[0])]),
);

/** Reads an entry. Its declarations may name those of other entries. */
function read(entry: string): { readonly exported: Declarations; readonly all: Declarations } {
  const [exported, hidden] = partsOf(entry).map(declared);
  return { exported: exported as Declarations, all: new Map([...EVERYWHERE, ...(exported ?? []), ...(hidden ?? [])]) };
}

/** Splits a text at a separator outside of brackets. An arrow has no bracket. */
function split(text: string, separator: string): readonly string[] {
  const parts = [""];
  let depth = 0;
  for (const [index, char] of [...text].entries()) {
    if ("{[(<".includes(char)) depth++;
    if ("}])>".includes(char) && !(char === ">" && text[index - 1] === "=")) depth--;
    if (char === separator && depth === 0) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** Object of options: its path, and a value in which it has a misspelt option. */
interface Probe {
  readonly path: string;
  readonly value: unknown;
  /** Members of its own by name, with their types. */
  readonly members: readonly Member[];
}

interface Member {
  readonly name: string;
  readonly isOptional: boolean;
  readonly type: string;
}

/** Option that nothing has. */
const MISSPELT = { misspelt: 1 };

/**
 * Data that is used as it is. It is passed on (entities of the protocol), comes from an earlier connection, or is refused
 * by its reader if a part is missing (keys). Of the annotations of a tool, names that look misspelt are refused. A logger
 * may be a console, which has more methods.
 */
const DATA: ReadonlySet<string> = new Set([
  ...["Implementation", "Icon", "Annotations", "ToolAnnotations", "JsonObject", "Root"],
  ...["AuthInfo", "PriorKnowledge", "SavedSession", "SealKey", "RingKey"],
  ...["Logger", "ClientLogger"],
]);

/**
 * Returns a probe for each object of options that a type has, at any depth. Types with methods are not options, and
 * objects with free names have no misspelt ones.
 */
function probesOf(type: string, all: Declarations, seen: readonly string[] = []): readonly Probe[] {
  const text = type
    .replace(/^readonly /, "")
    .trim()
    .replace(/^\((.*)\)$/s, "$1");
  if (isFunction(text)) return [];
  const [first = "", ...others] = split(text, "|");
  if (others.length > 0) return [first, ...others].flatMap((one) => probesOf(one, all, seen));
  const elements = /^(.*)\[\]$/s.exec(text)?.[1];
  if (elements !== undefined)
    return probesOf(elements.replace(/^\((.*)\)$/s, "$1"), all, seen).map((probe) => ({
      ...probe,
      path: `[0]${probe.path && `.${probe.path}`}`,
      value: [probe.value],
    }));
  const parts = split(text, "&");
  if (parts.length > 1) return parts.flatMap((one) => probesOf(one, all, seen));
  if (text.startsWith("{")) return membersOf(text.slice(1, -1), all, seen);
  const [, name = "", given = ""] = /^([\w$]+)(?:<(.*)>)?$/s.exec(text) ?? [];
  const [inner = "", keys = ""] = split(given, ",");
  if (name === "Readonly") return probesOf(given, all, seen);
  const literals = split(all.get(inner)?.replace(/^type \w+ = (.*);$/s, "$1") ?? inner, "|");
  if (name === "Record" && literals.every((each) => each.startsWith('"')))
    return membersOf(literals.map((each) => `${each.slice(1, -1)}: ${keys}`).join("; "), all, seen);
  if (name === "Partial" || name === "Optional") {
    const suffix = name === "Optional" ? " | undefined" : "";
    const optional = (each: Member) => ({ ...each, isOptional: true, type: each.type + suffix });
    const toOptional = (probe: Probe) =>
      probe.path === "" ? { ...probe, members: probe.members.map(optional) } : probe;
    return probesOf(inner, all, seen).map(toOptional);
  }
  if (name === "Omit" || name === "Pick") {
    const isIn = (member: string) => keys.includes(`"${member}"`) === (name === "Pick");
    return probesOf(inner, all, seen)
      .filter(({ path }) => path === "" || isIn(path.split(/[.[]/, 1)[0] as string))
      .map((probe) =>
        probe.path === "" ? { ...probe, members: probe.members.filter((member) => isIn(member.name)) } : probe,
      );
  }
  const body = all.get(name);
  if (body === undefined || DATA.has(name) || seen.includes(name)) return [];
  const alias = /^type [^=]*= (.*);$/s.exec(body)?.[1];
  if (alias !== undefined) return probesOf(alias, all, [...seen, name]);
  const [head = "", members = ""] = [body.slice(0, body.indexOf("{\n")), body.slice(body.indexOf("{\n") + 1, -1)];
  if (!head.startsWith("interface ")) return [];
  const heritage = / extends (.*) $/.exec(head.replace(/^interface \w+<.*>(?= extends | $)/, ""))?.[1] ?? "";
  const own = membersOf(members, all, [...seen, name]);
  const inherited = split(heritage, ",").map((parent) => probesOf(parent, all, [...seen, name]));
  const isOptions = own.length > 0 && inherited.every((probes) => probes.length > 0);
  if (!isOptions) return [];
  const itself = [own, ...inherited].flatMap((probes) => probes[0]?.members ?? []);
  const within = [...own, ...inherited.flat()].filter(({ path }) => path !== "");
  return [{ path: "", value: MISSPELT, members: itself }, ...within];
}

/** Returns the probes of an object with these members, none if one is a method or an index. */
function membersOf(text: string, all: Declarations, seen: readonly string[]): readonly Probe[] {
  const members: Member[] = [];
  const probes: Probe[] = [{ path: "", value: MISSPELT, members }];
  for (const member of split(text, ";")) {
    const [, name, mark, type] = /^(?:readonly )?([\w$]+)(\??): (.*)$/s.exec(member) ?? [];
    if (name === undefined || type === undefined) return [];
    members.push({ name, isOptional: mark === "?", type });
    for (const { path, value, members: own } of probesOf(type, all, seen)) {
      const place = name + (path === "" || path.startsWith("[") ? path : `.${path}`);
      probes.push({ path: place, value: { [name]: value }, members: own });
    }
  }
  return probes;
}

/** True for the type of a function, which has an arrow outside of brackets. */
function isFunction(type: string): boolean {
  let flat = type;
  const brackets = /\([^()]*\)|\{[^{}]*\}|<(?:=>|[^<>])*(?<!=)>/g;
  for (let before = ""; before !== flat; ) [before, flat] = [flat, flat.replace(brackets, "")];
  return flat.includes("=>");
}

const info = { name: "a", version: "1" };
const nothing = () => undefined as never;
const server = () => new McpServer(info);
const resource = "https://a.example/mcp";
const channel = () => createChannelPair()[0];
const extension = () => new ServerExtension({ id: "a.b/c", serverOnly: true });
const cluster = memoryCluster();

/** Calls what takes options, with options that a program without types would pass. */
type Attempt = (options: never) => unknown;

/** Each function, class and method of an entry that takes options, by `<entry> <name>`. */
const CHECKED: { readonly [where: string]: Attempt } = {
  "auth-client bearer": (options: object) => bearer({ token: nothing, ...options }),
  "auth-client createAuthSteps": (options) => createAuthSteps(resource, options),
  "auth-client exchangeAtProvider": (options) => exchangeAtProvider(options),
  "auth-client identityAssertion": (options) => identityAssertion(nothing, options),
  "auth-client oauth": (options) => oauth(options),
  "auth-issuer createIssuer": (options: object) =>
    createIssuer({ issuer: "https://b.example", resources: [resource], ...options, user: nothing }),
  "auth-issuer memoryIssuerStore": (options) => memoryIssuerStore(options),
  "auth-issuer rateLimiter": (options) => rateLimiter(options),
  "auth-server introspectionVerifier": (options) => introspectionVerifier(options),
  "auth-server jwtVerifier": (options) => jwtVerifier(options),
  "auth-server protect": (options) => protect(options),
  "client Client.answerWith": async (options) => {
    await using client = await connect(server());
    client.answerWith(options);
  },
  "client Client.close": async (options) => {
    await using client = await connect(server());
    await client.close(options);
  },
  "client connect": (options) => connect(server(), options),
  "client createGroup": (options) => createGroup({ mcpServers: {} }, options),
  "client loadIcon": (options) => loadIcon({ src: "data:image/png;base64," }, options),
  "client memoryCache": (options) => memoryCache(options),
  "client pinned": (options) => pinned({ tools: {} }, options),
  "client retry": (options) => retry(options),
  "cluster authStore": (options) => authStore(cluster, options),
  "cluster cacheStore": (options) => cacheStore(cluster, options),
  "cluster memoryCluster": (options) => memoryCluster(options),
  "cluster storeCluster": (options) => storeCluster({} as Store, options),
  "inspect inspect": (options: object) => inspect({ server: server(), ...options }),
  "json-schema jsonSchemaValidator": (options) => jsonSchemaValidator(options),
  "node createStdioClientChannel": (options) => createStdioClientChannel(options),
  "node createStdioServerChannel": (options) => createStdioServerChannel(options),
  "node diagnoseClient": (options) => connect(server(), diagnoseClient(options)),
  "node diagnoseServer": (options) => new McpServer(info, diagnoseServer(options)),
  "node fileResource": (options) => fileResource("folder", options),
  "node guardedFetch": (options) => guardedFetch(options),
  "node openLoopback": (options) => openLoopback(options),
  "node recordingFile": (options) => recordingFile("a.rec.ndjson", options),
  "node serveHttp": (options) => serveHttp(server(), options),
  "node serveNodeRequest": (options) => serveNodeRequest(server(), nothing(), nothing(), options),
  "node serveStdio": (options) => serveStdio(server(), options),
  "node skillCache": (options) => skillCache("folder", options),
  "node skillFolder": (options) => skillFolder("folder", options),
  "otel traceClient": (options) => traceClient(options),
  "otel traceServer": (options) => traceServer(options),
  "postgres postgresCluster": (options) => postgresCluster(options),
  "redis redisCluster": (options) => redisCluster(options),
  "server McpServer": (options) => new McpServer(info, options),
  "server memoryBuckets": (options) => memoryBuckets(options),
  "server Server.method": (options) => server().method("a/b", options, nothing),
  "server Server.onNotification": (options) => server().onNotification("a/b", options, nothing),
  "server Server.prompt": (options) => server().prompt("a", options, nothing),
  "server Server.resource": (options) => server().resource("a://b", options, nothing),
  "server Server.tool": (options) => server().tool("a", options, nothing),
  "server ServerExtension": (options: object) => new ServerExtension({ id: "a.b/c", ...options }),
  "server ServerExtension.method": (options) => server().extend(extension().method("a/b", options, nothing)),
  "server ServerExtension.onNotification": (options) =>
    server().extend(extension().onNotification("a/b", options, nothing)),
  "server ServerExtension.resource": (options) => server().extend(extension().resource("a://b", options, nothing)),
  "skills-client SkillCatalogue": (options) => new SkillCatalogue({}, options),
  "skills-client SkillsClient": (options) => new SkillsClient(nothing(), options),
  "skills-server skills": (options) => skills([], options),
  "sqlite sqliteCluster": (options) => sqliteCluster(options),
  "state defineState": (options) => defineState("a", options),
  "tasks-client tasksClient": (options) => tasksClient(options),
  "tasks-server tasks": (options) => tasks(options),
  "testing Recording.client": (options) => new Recording().client(server(), options),
  "testing Recording": (options) => new Recording(options),
  "testing createArrayExchange": (options) => createArrayExchange(options),
  "testing createMemoryState": (options) => createMemoryState(options),
  "testing engineContract": (options) => engineContract(options),
  "testing replayClient": (options) => replayClient(new Recording(), server(), options),
  "testing replayServer": (options) => replayServer(new Recording(), options),
  "testing storeContract": (options) => storeContract(options),
  "testing withFetchFaults": (options) => withFetchFaults(nothing, options),
  "testing withFaults": (options) => withFaults(channel(), options),
};

/** What takes options and does not check them in this way, with the reason. */
const OTHERS: readonly (readonly [where: RegExp, reason: string])[] = [
  [/^\S+ \w*(Error|Problem|Denied)$/, "details of an error"],
  [/^client (Group|GroupListing|Pages|Client)$/, "is created by a function that checks the options"],
  [
    /^(tasks-server TasksExtension|skills-server SkillsExtension|server Server)$/,
    "is created by what checks the options",
  ],
  [/^compat /, "the official SDK ignores unknown members, and programs rely on it; `bowline` is checked by McpServer"],
  [/^tasks-client ClientTasks\.task$/, "not yet: the extension answers before a request checks the options"],
];

const note = (): McpServer => server().tool("a", {}, nothing).resource("note://a", { name: "a" }, nothing);

/** Calls something with options by a client of a server, and closes the client. */
const called =
  (call: (client: Client, options: never) => unknown, to = note): Attempt =>
  async (options) => {
    await using client = await connect(to());
    await call(client, options);
  };
const skill = { frontmatter: { name: "a", description: "b" }, body: "c" };
const skilled = () => server().extend(skills([skill], { cache: { ttlMs: 60_000 } }));
const loaded = (client: Client) => new SkillsClient(client).load("skill://a/SKILL.md");

/** A call by the type of its options, which are checked when the call is made. */
const CALLS: { readonly [type: string]: Attempt } = {
  AskOptions: async (options) => {
    let problem: unknown;
    const asking = server().tool("ask", {}, async (_args, ctx) => {
      problem = await ctx.listRoots(options).catch((error: unknown) => error);
    });
    await called(
      (client) => client.callTool("ask"),
      () => asking,
    )(options);
    throw problem;
  },
  CallOptions: called((client, options) => client.ping(options)),
  ListSkillsOptions: called(async (client, options) => {
    const found = new SkillsClient(client);
    await found.list();
    // The last listing is reused, so that nothing is sent.
    await found.list(options);
  }, skilled),
  ReadOptions: called((client, options) => client.readResource("note://a", options)),
  SkillReadOptions: called(async (client, options) => (await loaded(client)).read("SKILL.md", options), skilled),
  TypedCallOptions: called((client, options) => client.callTool("a", {}, options)),
  WatchOptions: called((client, options) => client.watch({ toolsListChanged: true }, options)),
};

interface Taker {
  readonly where: string;
  readonly type: string;
  readonly all: Declarations;
}

/** Returns the name of the type of the options of a call, if they are that. */
const callOf = (type: string) => /^((?:Tool|Typed)?Call|Ask|Read|SkillRead|ListSkills|Watch)Options\b/.exec(type)?.[0];

/** What takes options and checks them when it is created. */
const takers = () =>
  allTakers((type) => callOf(type) === undefined).filter(({ where }) => !OTHERS.some(([other]) => other.test(where)));

/** Everything in the entries that takes options of types that fit: functions, constructors and methods. */
function allTakers(fits: (type: string) => boolean): readonly Taker[] {
  const found: Taker[] = [];
  const seen = new Set<string>();
  // The declarations of the server are in other entries too.
  for (const entry of ENTRIES.toSorted((one, other) => Number(other === "server") - Number(one === "server"))) {
    const { exported, all } = read(entry);
    for (const [name, body] of exported) {
      if (seen.has(body) || !/^(function|class) /.test(body)) continue;
      seen.add(body);
      const isClass = body.startsWith("class ");
      const signatures = isClass ? split(body.slice(body.indexOf("{\n") + 1, -1), ";") : [body];
      for (const signature of signatures) {
        const method = /^(?:static )?(\w+)(?=[<(])/.exec(signature)?.[1];
        const where = isClass && method !== "constructor" ? `${entry} ${name}.${method}` : `${entry} ${name}`;
        for (const type of optionsOf(signature)) {
          if (!fits(type) || found.some((taker) => taker.where === where)) continue;
          found.push({ where, type, all });
        }
      }
    }
  }
  return found;
}

/** Returns the types of the parameters of a signature that are options. */
function optionsOf(signature: string): readonly string[] {
  const start = signature.search(/\((?![^<]*>\()/);
  const inside = signature.slice(start + 1, endOf(signature, start));
  return split(inside, ",").flatMap((parameter) => {
    const [, name = "", type = ""] = /^(\w+|\{[^}]*\})\??: (.*)$/s.exec(parameter) ?? [];
    return name === "options" || /(Options|Init|Provider)(<|$)/.test(type) ? [type] : [];
  });
}

/** Returns the index of the parenthesis that closes the one at `start`. */
function endOf(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    depth += Number(text[at] === "(") - Number(text[at] === ")");
    if (depth === 0) return at;
  }
  return text.length;
}

describe("a misspelt option is refused at every depth, and at the line of the caller", () => {
  const found = takers();

  it("by all that takes options", () => {
    const known = found.map(({ where }) => where).toSorted();
    deepEqual(known, Object.keys(CHECKED).toSorted(), "add a new function to CHECKED; it needs assertOptions");
  });

  for (const { where, type, all } of found) {
    const probes = probesOf(type, all);
    it(`${where}, ${probes.length}`, async () => {
      ok(probes.length > 0, type);
      for (const { path, value } of probes) await refuses(CHECKED[where] as Attempt, value, path);
    });
  }

  it("by each call", async () => {
    const types = allTakers((type) => callOf(type) !== undefined).map(({ type }) => callOf(type));
    deepEqual([...new Set(types)].toSorted(), Object.keys(CALLS).toSorted());
    for (const [type, attempt] of Object.entries(CALLS))
      await rejects(async () => await attempt(MISSPELT as never), /: unknown option misspelt\b/, type);
  });

  it("in what is no parameter of its own: a target, a skill, the rules of a skill", async () => {
    const { all } = read("client");
    const probes = probesOf("CommandTarget", all);
    equal(probes.length, 4);
    for (const { path, value } of probes)
      await refuses((options: object) => connect({ command: "none", ...options }), value, path);
    await using client = await connect(server().tool("a", {}, nothing));
    const watch = (options: never) => client.watch({ toolsListChanged: true }, options);
    await refuses(watch, { resubscribe: MISSPELT }, "resubscribe");
    for (const { path, value } of probesOf("AccessOptions", read("server").all))
      await refuses((options: object) => skills([{ ...skill, ...options }]), value, path);
  });
});

/** Declarations whose optional members are no options, with the reason. A program that sets one leaves it out instead. */
const EXACT: readonly (readonly [member: RegExp, reason: string])[] = [
  [/^index /, "data of the protocol, and details of errors"],
  [/^compat /, "as in the official SDK"],
  [
    /^cluster (PutOptions|LogOptions|TakeOptions|Records|Queue|Writer)\./,
    "operations of an engine, which the SDK calls",
  ],
  [/^server (FieldSchema|RequestedSchema|ResourcePart|ResourceReturn|PlainToolResult)\./, "content, as it is sent"],
  [/^server HttpExchange\./, "state of a request, which the SDK sets"],
  [/^auth-client OAuth\.extensions/, "capabilities, as they are sent"],
  [/^auth-issuer IssuerClientMetadata\./, "a document of a client, as it is stored"],
  [/^auth-issuer Keeping\./, "what the SDK tells a store"],
  [/^skills-client (SkillApproval|SkillApprovalRequest)\./, "what the SDK tells a host and its store"],
  [
    /^(client CallProgress|node ClientConnectionEvent|testing RecordedMessage|tasks-\S+ (Task|TaskState))\./,
    "is received",
  ],
  [/^(server OtherNotificationHandler|client ClientOptions)\.params/, "is received"],
  [/^(postgres PgPool|redis NodeRedisClient)\./, "is made by another package"],
  [/^\S+ (\w+Error|ProblemOptions)\./, "details of an error"],
  [/^redis RedisClusterOptions\.warn\?/, "to be widened with the engines"],
];

/**
 * Returns the optional members in a declaration that may not be undefined, such as each optional method. Parameters of
 * functions do not count.
 */
function exactMembers(body: string): readonly Member[] {
  return [...body.matchAll(/^ +(?:readonly )?(\w+)\?(?:: |(?=\())/gm)].flatMap(({ 0: begun, 1: name = "", index }) => {
    const [type = ""] = split(body.slice(index + begun.length), ";");
    const isMethod = begun.endsWith("?");
    const takesUndefined =
      !isMethod && !isFunction(type) && (/^(unknown|infer .*)$/.test(type) || split(type, "|").includes("undefined"));
    return takesUndefined ? [] : [{ name, isOptional: true, type }];
  });
}

/** What serves the input of this process, or a browser, until it ends. */
const LASTING = /^node (serveStdio|serveNodeRequest|createStdioServerChannel|openLoopback)$/;

/** Replaces the object with the misspelt option. */
function replaced(value: unknown, options: object): unknown {
  if (value === MISSPELT) return options;
  if (Array.isArray(value)) return value.map((each) => replaced(each, options));
  return Object.fromEntries(Object.entries(value as object).map(([name, each]) => [name, replaced(each, options)]));
}

/** Returns what a call ends with, and closes what it creates. */
async function outcomeOf(attempt: Attempt, options: unknown): Promise<string> {
  try {
    const created = (await attempt(options as never)) as { readonly close?: () => unknown } | undefined;
    await created?.close?.();
    return "created";
  } catch (error) {
    return String(error);
  }
}

describe("an option may be undefined instead of absent", () => {
  it("in its type, for users with exactOptionalPropertyTypes", () => {
    const exact = ENTRIES.flatMap((entry) =>
      [...declared(partsOf(entry).join())]
        .flatMap(([of, body]) => exactMembers(body).map(({ name, type }) => `${entry} ${of}.${name}?: ${type}`))
        .filter((member) => !EXACT.some(([other]) => other.test(member))),
    );
    deepEqual(
      exact,
      [],
      "add | undefined, with parentheses around a function, and use Optional<...> instead of Partial<...>",
    );
  });

  for (const { where, type, all } of takers().filter((taker) => !LASTING.test(taker.where)))
    it(`at run time, in ${where}`, async () => {
      for (const { path, value, members } of probesOf(type, all)) {
        const absent = Object.fromEntries(
          members.filter((each) => each.isOptional).map(({ name }) => [name, undefined]),
        );
        const [without, withUndefined] = [{}, absent].map((options) => replaced(value, options));
        const attempt = CHECKED[where] as Attempt;
        equal(await outcomeOf(attempt, withUndefined), await outcomeOf(attempt, without), path);
      }
    });
});

describe("undefined counts as absent in what is given to a server or client later", () => {
  it("in a logger", async () => {
    const said: string[] = [];
    const logger = { debug: undefined, warn: undefined, error: (text: string) => void said.push(text) };
    const failing = new McpServer(info, { logger }).tool("a", () => Promise.reject(new Error("no tide")));
    await using client = await connect(failing, { logger });
    equal((await client.callTool("a")).isError, true);
    deepEqual(said, ["no tide"]);
    await failing.close();
  });

  it("in the filter of a watch", async () => {
    const none = { promptsListChanged: undefined, resourcesListChanged: undefined, resources: undefined };
    for (const era of ["modern", "legacy"] as const) {
      await using client = await connect(server().tool("a", nothing), { era });
      await using watch = await client.watch({ toolsListChanged: true, ...none });
      deepEqual(watch.honoured, { toolsListChanged: true }, era);
    }
  });

  it("in the changes of a definition", async () => {
    const edited = server().tool("a", () => "kept");
    edited.edit.tool("a").update({ name: undefined, handler: undefined });
    edited.resource("a://b", { name: "b" }, () => "kept");
    edited.edit.resource("a://b").update({ uri: undefined, handler: undefined });
    await using client = await connect(edited);
    equal((await client.callTool("a")).text, "kept");
    deepEqual((await client.readResource("a://b")).contents, [{ uri: "a://b", text: "kept" }]);
  });

  it("in input requests and results", () => {
    deepEqual(inputRequired({ inputRequests: undefined, state: "a" }), {
      resultType: "input_required",
      requestState: "a",
    });
    deepEqual(toolResult({ content: undefined }).result, { content: [] });
  });

  it("in the refusal of a gate", async () => {
    const gate = () => ({ status: 403, headers: undefined, body: undefined, amend: undefined });
    const response = await new McpServer(info, { http: { gate } }).fetch(
      new Request("http://localhost/mcp", { method: "POST" }),
    );
    deepEqual([response.status, await response.text()], [403, ""]);
  });
});

async function refuses(attempt: Attempt, options: unknown, path: string): Promise<void> {
  await rejects(
    async () => await attempt(options as never),
    ({ name, message, stack = "" }: Error) => {
      equal(name, "DefinitionError", `${path}: ${message}`);
      match(/^ +at .*$/m.exec(stack)?.[0] ?? "", /options\.test\./, `the stack begins with the caller: ${stack}`);
      match(message, /: unknown option misspelt\b/, path);
      ok(path === "" || message.includes(`: ${path}: unknown`), `${path}: ${message}`);
      return true;
    },
    path,
  );
}
