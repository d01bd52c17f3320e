import { runWithin } from "../../call/abortable.js";
import { type Clock, systemClock } from "../../call/clock.js";
import { ignoreErrors } from "../../call/maybe-promise.js";
import { CLIENT_TIMES } from "../../era/client-limits.js";
import { McpError, RpcError, TimeoutError, withDeadline } from "../../protocol/errors.js";
import { METHOD_NOT_FOUND } from "../../protocol/jsonrpc/errors.js";
import type {
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplate,
  Tool,
} from "../../protocol/types/index.js";
import type { Client } from "../client.js";
import { firstArgumentError } from "../first-argument.js";
import {
  assertClientOptions,
  type CallOptions,
  type ClientOptions,
  type Target,
  type ToolCallOptions,
} from "../options.js";
import type { Pages } from "../pages.js";
import type { ToolOutcome } from "../results.js";
import type { AnyServer, CallArguments, ServerTools } from "../server-types.js";
import type { WatchFilter } from "../subscriptions/watch.js";
import { environment, mergeHeaders, planServers, type ServersConfig } from "./config.js";
import { GroupListing } from "./listing.js";
import { GroupMember, type MemberContext, type ServerStatus } from "./member.js";
import { assertNameRules, type NameRules, namesUnder, prefixesOf } from "./names.js";
import { GROUP_OPTIONS, type GroupOptions } from "./options.js";
import { GroupWatch } from "./watch.js";

/** Definitions of a group's servers as types. Servers that are not in it are allowed, and not checked. */
export interface ServerTypes {
  readonly [name: string]: AnyServer;
}

/** Name of a server in a group: one with types, which editors suggest, or any other. */
export type GroupServerName<M extends ServerTypes> = (keyof M & string) | (string & Record<never, never>);

/** Server of a group by its name. */
export type GroupServer<M extends ServerTypes, Name> = Name extends keyof M ? M[Name] : AnyServer;

/** Names of tools in a group with the default separator. */
export type GroupToolName<M extends ServerTypes> = {
  [S in keyof M & string]: string extends S ? string : `${S}__${keyof ServerTools<M[S]> & string}`;
}[keyof M & string];

/** Servers of which all tools are known. */
type CheckedServer<M extends ServerTypes> = {
  [S in keyof M & string]: string extends keyof ServerTools<M[S]> ? never : S;
}[keyof M & string];

/** `Name`, or the known names if it is a literal that names no tool of a server whose tools are known. */
export type GroupToolNameOr<M extends ServerTypes, Name extends string> =
  Record<never, never> extends Record<Name, 1>
    ? Name
    : Name extends GroupToolName<M>
      ? Name
      : Name extends `${CheckedServer<M>}__${string}`
        ? GroupToolName<M>
        : Name;

type UntypedTool = { readonly input: Readonly<Record<string, unknown>>; readonly output: unknown };

type GroupToolOf<M extends ServerTypes, Name> = Name extends `${infer S}__${infer T}`
  ? S extends CheckedServer<M>
    ? T extends keyof ServerTools<M[S]>
      ? ServerTools<M[S]>[T]
      : UntypedTool
    : UntypedTool
  : UntypedTool;

/** Server that an item of a listing comes from. */
export interface FromServer {
  readonly server: string;
}

/** Item with a name. `name` is its name in the group, `originalName` its name on the server. */
export interface Named extends FromServer {
  readonly originalName: string;
}

type Connect = (target: Target, options: ClientOptions) => Promise<Client>;
type Kind = "tools" | "prompts" | "resources" | "resourceTemplates";

const DEFAULTS = CLIENT_TIMES.group;
const ALL_LISTS: WatchFilter = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

/**
 * Several servers as one catalogue. A server is connected on first use. A server that fails or hangs affects only its
 * own callers. Listings contain the items of the others.
 */
export class Group<M extends ServerTypes = ServerTypes> {
  readonly #members = new Map<string, GroupMember>();
  readonly #options: GroupOptions;
  readonly #clock: Clock;
  readonly #names: NameRules;
  readonly #watches = new Set<GroupWatch>();

  /** @internal */
  constructor(config: ServersConfig, options: GroupOptions, connect: Connect) {
    assertClientOptions("createGroup", options, GROUP_OPTIONS);
    const { separator = "__", maxNameLength = DEFAULTS.maxNameLength } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#names = { separator, maxLength: maxNameLength };
    assertNameRules(this.#names);
    const plans = planServers(config);
    const context = this.#memberHost(connect);
    const prefixes = prefixesOf(
      plans.map(({ name }) => name),
      this.#names,
    );
    for (const plan of plans)
      this.#members.set(plan.name, new GroupMember(plan, prefixes.get(plan.name) ?? "", context));
  }

  /** Names of the servers in the order of the configuration. */
  get servers(): readonly GroupServerName<M>[] {
    return [...this.#members.keys()];
  }

  /** Returns the state of each server. */
  status(): { readonly [S in keyof M & string]: ServerStatus } & {
    readonly [server: string]: ServerStatus | undefined;
  } {
    const all = [...this.#members].map(([name, member]) => [name, member.status] as const);
    return Object.fromEntries(all) as { readonly [S in keyof M & string]: ServerStatus };
  }

  /**
   * Returns the client of a server. Connects on first use. The group owns the client: closing it ends only the present
   * connection.
   */
  async client<S extends GroupServerName<M>>(server: S, options: CallOptions = {}): Promise<Client<GroupServer<M, S>>> {
    return (await this.#connected(this.#member(server), options)) as Client<GroupServer<M, S>>;
  }

  /**
   * Calls a tool by its name in the group. A name that is known at run time only is not checked by the compiler.
   *
   * @example
   * ```ts
   * const group = createGroup({ mcpServers: { files: { command: "npx", args: ["some-server"] } } });
   * const { text } = await group.callTool("files__read", { path: "a.txt" });
   * ```
   */
  async callTool<const Name extends GroupToolName<M> | (string & Record<never, never>)>(
    name: GroupToolNameOr<M, Name>,
    ...[args, options = {}]: CallArguments<GroupToolOf<M, Name>["input"], ToolCallOptions>
  ): Promise<ToolOutcome<GroupToolOf<M, Name>["output"]>> {
    if (typeof name !== "string") throw firstArgumentError("callTool(name, args, options)", name);
    const { member, original } = this.#find("tools", name);
    const outcome = await this.#call(member, options, (client, rest) => client.callTool(original, args ?? {}, rest));
    return outcome as ToolOutcome<GroupToolOf<M, Name>["output"]>;
  }

  /** Lists the tools of all servers that respond in time, in the order of the configuration. */
  tools(options: CallOptions = {}): GroupListing<Tool & Named> {
    return this.#listing(options, async (member, limits) => {
      const tools = await this.#read<Tool>(member, "tools", limits);
      return this.#named(member, "tools", tools);
    });
  }

  /** Lists the prompts of all servers that respond in time. */
  prompts(options: CallOptions = {}): GroupListing<Prompt & Named> {
    return this.#listing(options, async (member, limits) => {
      const prompts = await this.#read<Prompt>(member, "prompts", limits);
      return this.#named(member, "prompts", prompts);
    });
  }

  /** Requests the messages of a prompt by its name in the group. */
  async getPrompt(
    name: string,
    args?: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<GetPromptResult> {
    if (typeof name !== "string") throw firstArgumentError("getPrompt(name, args, options)", name);
    const { member, original } = this.#find("prompts", name);
    return this.#call(member, options, (client, rest) => client.getPrompt(original, args, rest));
  }

  /** Lists resources. They keep their URIs, so several servers may have the same one. */
  resources(options: CallOptions = {}): GroupListing<Resource & FromServer> {
    return this.#listing(options, (member, limits) => this.#read<Resource>(member, "resources", limits));
  }

  /** Lists the templates of all families of resources. */
  resourceTemplates(options: CallOptions = {}): GroupListing<ResourceTemplate & FromServer> {
    return this.#listing(options, (member, limits) =>
      this.#read<ResourceTemplate>(member, "resourceTemplates", limits),
    );
  }

  /** Reads a resource of a server. */
  async readResource(server: GroupServerName<M>, uri: string, options: CallOptions = {}): Promise<ReadResourceResult> {
    if (typeof server !== "string") throw firstArgumentError("readResource(server, uri, options)", server);
    return this.#call(this.#member(server), options, (client, rest) => client.readResource(uri, rest));
  }

  /**
   * Returns the changes of all servers as one stream, until it or the group is closed. It connects no server: each
   * server is watched while it is connected. A server that reconnects reports which changes may have been missed.
   */
  watch(filter: WatchFilter = ALL_LISTS): GroupWatch {
    const watch = new GroupWatch(filter, {
      clock: this.#clock,
      onError: (error, server) => this.#report(error, server),
      onEnd: () => this.#watches.delete(watch),
    });
    this.#watches.add(watch);
    for (const { name, ready } of this.#members.values()) if (ready !== undefined) watch.follow(name, ready, false);
    return watch;
  }

  /** Closes the connection to a server, if there is one, and clears its failures. The next use connects again. */
  async reset(server: GroupServerName<M>): Promise<void> {
    await this.#member(server).reset();
  }

  /** Closes all servers at once. Resolves when no connection and no process is left. Idempotent. */
  async close(): Promise<void> {
    for (const watch of [...this.#watches]) void watch.close();
    await Promise.all([...this.#members.values()].map((member) => member.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #memberHost(connect: Connect): MemberContext {
    const { connectTimeoutMs = DEFAULTS.connectTimeoutMs, backoff = {}, variables } = this.#options;
    const { delayMs = DEFAULTS.backoff.delayMs, maxDelayMs = DEFAULTS.backoff.maxDelayMs } = backoff;
    return {
      clock: this.#clock,
      backoff: { delayMs, maxDelayMs },
      connectTimeoutMs,
      variables: variables ?? environment(),
      connect: (target, options, server) => connect(this.#withProcess(target, server), options),
      optionsOf: (server) => this.#optionsOf(server),
      onError: (error, server) => this.#report(error, server),
      onReady: ({ name, wasAway }, client) => {
        for (const watch of this.#watches) watch.follow(name, client, wasAway);
      },
      onLost: ({ name }, reason) => {
        for (const watch of this.#watches) watch.lost(name, reason);
      },
    };
  }

  #withProcess(target: Target, server: string): Target {
    const { process } = this.#options;
    if (process === undefined || typeof target !== "object" || !("command" in target)) return target;
    return { ...(typeof process === "function" ? process(server) : process), ...target };
  }

  #optionsOf(server: string): ClientOptions {
    const { client = {}, servers = {} } = this.#options;
    const shared = typeof client === "function" ? client(server) : client;
    const own = Object.hasOwn(servers, server) ? servers[server] : undefined;
    const interceptors = [...(shared.interceptors ?? []), ...(own?.interceptors ?? [])];
    return { ...shared, ...own, headers: mergeHeaders(shared.headers, own?.headers), interceptors };
  }

  #member(server: string): GroupMember {
    const member = this.#members.get(server);
    if (member !== undefined) return member;
    const known = [...this.#members.keys()].join(", ");
    throw new McpError("unknown_server", `The group has no server ${JSON.stringify(server)}; it has: ${known}`);
  }

  /**
   * Returns the server that a group name belongs to, and the name of the tool or prompt on that server. No prefix
   * begins with another, so at most one matches.
   */
  #find(kind: "tools" | "prompts", name: string): { readonly member: GroupMember; readonly original: string } {
    for (const member of this.#members.values()) {
      if (!name.startsWith(member.prefix)) continue;
      return { member, original: member.aliases[kind].get(name) ?? name.slice(member.prefix.length) };
    }
    const prefixes = [...this.#members.values()].map(({ prefix }) => prefix).join(", ");
    const message = `No server of the group has ${JSON.stringify(name)}: names begin with one of ${prefixes}`;
    throw new McpError("unknown_server", message);
  }

  /** Makes a call on a server. The time to connect counts towards its deadline. */
  async #call<T, O extends CallOptions>(
    member: GroupMember,
    options: O,
    call: (client: Client, options: O) => Promise<T>,
  ): Promise<T> {
    if (member.ready !== undefined) return call(member.ready, options);
    const { deadlineMs } = options;
    const began = this.#clock.now();
    const client = await this.#connected(member, options);
    if (deadlineMs === undefined) return call(client, options);
    const leftMs = Math.max(1, deadlineMs - (this.#clock.now() - began));
    try {
      return await call(client, { ...options, deadlineMs: leftMs });
    } catch (error) {
      throw withDeadline(error, leftMs, deadlineMs);
    }
  }

  #connected(member: GroupMember, { signal, deadlineMs: ms = Number.POSITIVE_INFINITY }: CallOptions): Promise<Client> {
    const late = () =>
      new TimeoutError(
        "deadline",
        ms,
        `Server ${member.name} was not connected within ${ms} ms (deadlineMs)`,
        "not_sent",
      );
    return runWithin({ clock: this.#clock, signal, ms, late }, () => member.client());
  }

  #listing<T extends object>(
    options: CallOptions,
    read: (member: GroupMember, limits: CallOptions) => Promise<readonly T[]>,
  ): GroupListing<T & FromServer> {
    const { listTimeoutMs: ms = DEFAULTS.listTimeoutMs, listGraceMs: graceMs = DEFAULTS.listGraceMs } = this.#options;
    const clock = this.#clock;
    const readFrom = async (member: GroupMember, unwanted: AbortSignal) => {
      const late = () =>
        new TimeoutError(
          "deadline",
          ms,
          `Server ${member.name} did not return its list within ${ms} ms (option listTimeoutMs)`,
        );
      try {
        const limits = { clock, signal: unwanted, ms, late };
        const items = await runWithin(limits, (signal) => read(member, { ...options, signal }));
        return items.map((item) => ({ ...item, server: member.name }));
      } catch (error) {
        member.missed();
        throw error;
      }
    };
    const servers = [...this.#members.values()].map((member) => {
      return { name: member.name, read: (unwanted: AbortSignal) => readFrom(member, unwanted) };
    });
    const onError = (error: Error, server: string) => this.#report(error, server);
    return new GroupListing(servers, { clock, signal: options.signal, graceMs, onError });
  }

  async #read<T>(member: GroupMember, kind: Kind, limits: CallOptions): Promise<readonly T[]> {
    const { maxItems = DEFAULTS.maxItems } = this.#options;
    const client = await member.client();
    if (!offers(client, kind)) return [];
    const items: T[] = [];
    try {
      for await (const item of client[kind](limits) as Pages<unknown> as Pages<T>) {
        if (items.push(item) < maxItems) continue;
        this.#report(
          new McpError("too_many_items", `${kind}: only the first ${maxItems} are used (option maxItems)`),
          member.name,
        );
        break;
      }
    } catch (error) {
      if (!(error instanceof RpcError && error.rpcCode === METHOD_NOT_FOUND)) throw error;
    }
    return items;
  }

  #named<T extends { readonly name: string }>(
    member: GroupMember,
    kind: "tools" | "prompts",
    items: readonly T[],
  ): readonly (T & { readonly originalName: string })[] {
    const names = namesUnder(
      member.prefix,
      items.map(({ name }) => name),
      this.#names,
    );
    const aliases = member.aliases[kind];
    aliases.clear();
    const seen = new Set<string>();
    return items.flatMap((item) => {
      const name = names.get(item.name) as string;
      if (seen.has(name)) {
        const message = `${kind}: ${JSON.stringify(item.name)} is listed more than once; the first is used`;
        this.#report(new McpError("duplicate_name", message), member.name);
        return [];
      }
      seen.add(name);
      if (name !== member.prefix + item.name) aliases.set(name, item.name);
      return [{ ...item, name, originalName: item.name }];
    });
  }

  #report(error: Error, server: string): void {
    ignoreErrors(() => this.#options.onError?.(error, server));
  }
}

/** False if the server announced capabilities without this kind. */
function offers({ server: { capabilities } }: Client, kind: Kind): boolean {
  const announced = Object.keys(capabilities).length > 0;
  return !announced || capabilities[kind === "resourceTemplates" ? "resources" : kind] !== undefined;
}
