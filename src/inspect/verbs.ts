import type { Client } from "../client/client.js";
import type { ToolOutcome } from "../client/results.js";
import type { WatchFilter } from "../client/subscriptions/watch.js";
import { ERA_NAMES } from "../era/era-names.js";
import type { CallToolResult } from "../protocol/types/index.js";
import { SkillsClient } from "../skills/client/skills-client.js";
import { ClientTasks } from "../tasks/client/client-tasks.js";
import type { InspectedConnection } from "./connection.js";
import { VerbError } from "./failure.js";
import type { EmbeddedRecording } from "./html-file.js";
import type { Inspection } from "./inspection.js";
import type { ListedItems, ListName, Verb, VerbName, VerbResults, Verbs } from "./protocol.js";
import { VERB_NAMES } from "./verb-options.js";

/** Writes recordings as one HTML page, which opens without a server. */
export type ToHtml = (recordings: readonly EmbeddedRecording[]) => Promise<string>;

/** What the surroundings of an inspector can do in addition. A verb that is missing here is not available. */
export interface MoreVerbs {
  readonly doctor?: Doing<"doctor"> | undefined;
}

type Doing<Name extends VerbName> = (
  verb: Verbs[Name],
  inspection: Inspection,
) => VerbResults[Name] | Promise<VerbResults[Name]>;

type Table = { readonly [Name in VerbName]?: Doing<Name> | undefined };

const DONE = {};

/** Returns the verbs of an inspection. One without a live client opens recordings alone. */
export function verbsOf(inspection: Inspection, toHtml: ToHtml, more: MoreVerbs = {}): Table {
  const { servers } = inspection.state([]);
  const hasLogin = servers.some(({ login }) => login !== undefined);
  return {
    ...(servers.length > 0 && { ...ON_CONNECTIONS, ...more }),
    ...(hasLogin && ON_LOGINS),
    save: save(toHtml),
  };
}

/** Names of the verbs of a table. */
export function namesOf(table: Table): readonly VerbName[] {
  return VERB_NAMES.filter((name) => table[name] !== undefined);
}

/** Does a verb. */
export async function doVerb(verb: Verb, table: Table, inspection: Inspection): Promise<unknown> {
  const { do: name, ...members } = verb;
  const doing = table[name] as ((members: object, inspection: Inspection) => unknown) | undefined;
  if (doing === undefined) throw new VerbError("not_available", `${name} is not available here`);
  return doing(members, inspection);
}

const ON_CONNECTIONS: Table = {
  connect: ({ server = 0, era, both = false }, inspection) => {
    const eras = both ? ERA_NAMES : [era];
    return { connections: eras.map((each) => inspection.connect(server, each).number) };
  },
  close: async ({ connection }, inspection) => {
    await inspection.closeConnection(connection);
    return DONE;
  },
  list: ({ connection, what, fresh = false }, inspection) =>
    started(inspection, connection, "list", what, (client, signal) => LISTS[what](client, fresh, signal)),
  call,
  read: ({ connection, uri, skill }, inspection) =>
    started(inspection, connection, "read", uri, (client, signal) =>
      skill === undefined ? client.readResource(uri, { signal }) : readSkill(client, skill, uri, signal),
    ),
  prompt: ({ connection, name, arguments: given = {} }, inspection) =>
    started(inspection, connection, "prompt", name, (client, signal) => client.getPrompt(name, given, { signal })),
  complete: ({ connection, ref, argument, context }, inspection) =>
    started(inspection, connection, "complete", argument.name, async (client, signal) => {
      const params = { ref, argument, ...(context !== undefined && { context }) };
      return (await client.request("completion/complete", params, { signal })).completion;
    }),
  watch: ({ connection, resources }, inspection) =>
    started(inspection, connection, "watch", resources?.join(" "), (client, signal) =>
      watch(client, resources, signal),
    ),
  unwatch: ({ run }, inspection) => {
    inspection.runs.cancel(run, "unwatched");
    return DONE;
  },
  answer: (answer, inspection) => {
    inspection.questions.answer(answer);
    return DONE;
  },
  cancel: ({ run, reason }, inspection) => {
    inspection.runs.cancel(run, reason);
    return DONE;
  },
  task: ({ connection, id, act }, inspection) =>
    started(inspection, connection, "task", id, (client, signal) => useTask(client, id, act, signal)),
  faults: ({ connection, plan, now, direction }, inspection) => {
    const { faults } = inspection.connection(connection);
    if (plan !== undefined) faults.set(plan);
    if (now !== undefined) faults.act(now, direction);
    inspection.changed();
    return DONE;
  },
};

/** Verbs of servers over HTTP. */
const ON_LOGINS: Table = {
  login: async ({ server = 0 }, inspection) => {
    const login = inspection.login(server);
    await login.begin();
    const connection = inspection.connect(server, undefined);
    const work = async (signal: AbortSignal) => {
      signal.addEventListener("abort", () => void connection.close(), { once: true });
      // Connecting sends the request that logs in.
      await connection.ready;
      login.settle();
      await connection.client();
      return DONE;
    };
    return { run: inspection.runs.start({ connection: connection.number, verb: "login" }, work) };
  },
  logout: ({ server = 0 }, inspection) => {
    const login = inspection.login(server);
    const work = async (signal: AbortSignal) => {
      await login.logout(signal);
      return DONE;
    };
    return { run: inspection.runs.start({ connection: 0, verb: "logout" }, work) };
  },
  reveal: ({ server = 0, token }, inspection) => inspection.login(server).reveal(token),
};

type Work = (client: Client, signal: AbortSignal) => Promise<unknown>;

function started(inspection: Inspection, connection: number, verb: VerbName, name: string | undefined, work: Work) {
  const info = { verb, ...(name !== undefined && { name }) };
  return { run: inspection.start(inspection.connection(connection), info, work) };
}

/** Calls a tool, or the same in both eras. */
async function call(
  { connection, name, arguments: given, both = false, task = false }: Verbs["call"],
  inspection: Inspection,
): Promise<VerbResults["call"]> {
  const work: Work = (client, signal) =>
    task ? startTask(client, name, given, signal) : callTool(client, name, given, signal);
  const start = (at: InspectedConnection) => inspection.start(at, { verb: "call", name }, work);
  const at = inspection.connection(connection);
  if (!both) return { run: start(at) };
  const beside = await inspection.otherEra(at);
  const [run, other] = [start(at), start(beside)];
  inspection.runs.pair(run, other);
  inspection.changed();
  return { run, other };
}

async function callTool(client: Client, name: string, given: object | undefined, signal: AbortSignal) {
  // A listener for progress asks for it, and lets it restart the time limit.
  return toResult(await client.callTool(name, given, { signal, onProgress: () => {} }));
}

async function startTask(client: Client, name: string, given: object | undefined, signal: AbortSignal) {
  const handle = await new ClientTasks(client).startTool(name, given, { signal });
  if (handle.task === undefined) return toResult(await handle.result);
  const { task } = handle;
  handle.detach();
  return task;
}

async function useTask(client: Client, id: string, act: Verbs["task"]["act"], signal: AbortSignal) {
  const handle = await new ClientTasks(client).task(id, { signal });
  if (act === "result") return toResult(await handle.result);
  if (act === "cancel") await handle.cancel();
  else handle.detach();
  return handle.task;
}

/** Returns the result of a call as the server sent it. */
function toResult({ content, structured, isError, meta }: ToolOutcome): CallToolResult {
  return {
    content: [...content],
    ...(structured !== undefined && { structuredContent: structured }),
    ...(isError && { isError }),
    ...(meta !== undefined && { _meta: meta }),
  } as CallToolResult;
}

/** Lasts until it is cancelled, or until the server ends the subscription. */
async function watch(client: Client, resources: readonly string[] | undefined, signal: AbortSignal) {
  const filter: WatchFilter =
    resources === undefined
      ? { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
      : { resources };
  const watching = await client.watch(filter, { signal });
  try {
    // Changes are lines of the recording.
    for await (const _ of watching);
  } finally {
    await watching.close();
  }
  return DONE;
}

const LISTS: {
  readonly [What in ListName]: (
    client: Client,
    fresh: boolean,
    signal: AbortSignal,
  ) => Promise<readonly ListedItems[What][]>;
} = {
  tools: (client, fresh, signal) => client.tools(optionsOf(fresh, signal)).all(),
  prompts: (client, fresh, signal) => client.prompts(optionsOf(fresh, signal)).all(),
  resources: (client, fresh, signal) => client.resources(optionsOf(fresh, signal)).all(),
  templates: (client, fresh, signal) => client.resourceTemplates(optionsOf(fresh, signal)).all(),
  skills: async (client, refresh, signal) => (await new SkillsClient(client).list({ refresh, signal })).skills,
  tasks: (client, _, signal) => new ClientTasks(client).list({ signal }).all(),
};

function optionsOf(fresh: boolean, signal: AbortSignal) {
  return { cache: fresh ? ("refresh" as const) : ("use" as const), signal };
}

/** Reads a file of a skill, verified by its digest. */
async function readSkill(client: Client, skill: string, uri: string, signal: AbortSignal) {
  const held = await new SkillsClient(client).load(skill, { signal });
  if (uri === skill) return { contents: [{ uri, mimeType: "text/markdown", text: held.body }] };
  const base = skill.slice(0, skill.lastIndexOf("/") + 1);
  const { bytes } = await held.read(uri.startsWith(base) ? uri.slice(base.length) : uri, { signal });
  return { contents: [{ uri, text: new TextDecoder().decode(bytes) }] };
}

function save(toHtml: ToHtml): Doing<"save"> {
  return async ({ as }, inspection) => {
    const text = inspection.lines.text();
    const name = `inspection-${inspection.recording.header.at.replace(/\.\d+Z$/, "").replaceAll(":", "-")}`;
    if (as === "recording") return { name: `${name}.rec.ndjson`, type: "application/x-ndjson", text };
    const live = inspection.lines.last > 1 ? [{ name: `${name}.rec.ndjson`, text }] : [];
    return { name: `${name}.html`, type: "text/html", text: await toHtml([...live, ...inspection.recordings]) };
  };
}
