import type { ClientResult } from "../../era/client-era.js";
import { CLIENT_LIMITS } from "../../era/client-limits.js";
import { isDigest } from "../../protocol/digest.js";
import { DefinitionError, McpError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import { assertOptions, type Known } from "../../protocol/known-options.js";
import { sortedJson } from "../../protocol/sorted-json.js";
import type { Tool } from "../../protocol/types/index.js";
import type { CallOptions, ClientCall, ClientInterceptor } from "../options.js";
import { Pages } from "../pages.js";
import { definitionDigest, definitionOf } from "./definition.js";

/** Lock of a server, as `bowline types` writes it. Other members than the digests of tools are for messages. */
export interface ServerLock {
  readonly tools: { readonly [name: string]: LockedTool };
}

/** Tool of a lock. */
export interface LockedTool {
  /** Digest of the definition. */
  readonly digest: string;
  /** The definition: name, texts, schemas and hints. */
  readonly definition?: { readonly [member: string]: unknown } | undefined;
}

/** Difference between a lock and what a server lists. */
export interface ToolChange {
  readonly name: string;
  /** `added`: the lock does not have the tool. `removed`: the server does not list it any more. */
  readonly kind: "added" | "changed" | "removed";
  /** Members of the definition that differ, such as `description`. Empty if the lock has no definition. */
  readonly members: readonly string[];
  /** Tool as the server lists it now. Undefined if it is removed. */
  readonly tool: Tool | undefined;
}

/** Options of {@link pinned}. */
export interface PinnedOptions {
  /**
   * Called for each tool that differs from the lock. If it returns true, the tool is listed and called. It is called
   * again only if the definition changes again.
   * @default no change is accepted
   */
  readonly onChange?: ((change: ToolChange) => boolean | Promise<boolean>) | undefined;
}

const OPTIONS: Known<PinnedOptions> = { onChange: "function" };

/**
 * Creates an interceptor that uses a server only as a lock of `bowline types` describes it. A tool whose definition is not
 * that of the lock is not listed, and a call of it rejects with code `tool_changed`, without being sent. Before the first
 * call of a tool that the client has not listed, the tools are listed.
 *
 * @example
 * ```ts
 * const lock = { tools: { moor: { digest: `sha256:${"0".repeat(64)}` } } }; // harbour.mcp.lock.json
 * const client = await connect("https://example.com/mcp", { interceptors: [pinned(lock)] });
 * ```
 */
export function pinned(lock: ServerLock, options: PinnedOptions = {}): ClientInterceptor {
  assertLock(lock);
  assertOptions({ pinned }, options, OPTIONS);
  // A client has a `next` of its own, and servers of the same lock may list different things.
  const clients = new WeakMap<object, Pins>();
  return async (call, next) => {
    const pins = clients.get(next) ?? new Pins(lock, options);
    clients.set(next, pins);
    if (call.method === "tools/list") return pins.filter(await next(call), call.params?.cursor === undefined);
    if (call.method === "tools/call") await pins.assertLocked(String(call.params?.name), call, next);
    return next(call);
  };
}

/** Verdict on a tool: the digest that was judged, and the change that nobody agreed to. */
interface Verdict {
  readonly digest: string;
  readonly refused: ToolChange | undefined;
}

/** What one connection of a client has listed, compared with the lock. */
class Pins {
  readonly #lock: ServerLock;
  readonly #onChange: NonNullable<PinnedOptions["onChange"]>;
  #verdicts = new Map<string, Verdict>();
  /** Verdicts of the listing before. Nobody is asked again about the same definition. */
  #before: ReadonlyMap<string, Verdict> = new Map();

  constructor(lock: ServerLock, { onChange = () => false }: PinnedOptions) {
    this.#lock = lock;
    this.#onChange = onChange;
  }

  /** Returns a page of a listing without the tools that differ from the lock. */
  filter(result: ClientResult, isFirst: boolean): Promise<ClientResult> {
    if (isFirst) this.#begin(new Map());
    return this.#filter(result, this.#verdicts);
  }

  /** Throws if the tool may not be called. Lists the tools first if this connection has not listed this one. */
  async assertLocked(name: string, call: ClientCall, next: Next): Promise<void> {
    const { refused } = this.#verdicts.get(name) ?? (await this.#listed(name, call, next));
    if (refused !== undefined) throw changed(refused);
  }

  #begin(verdicts: Map<string, Verdict>): void {
    this.#before = this.#verdicts;
    this.#verdicts = verdicts;
  }

  async #filter(result: ClientResult, verdicts: Map<string, Verdict>): Promise<ClientResult> {
    const tools: Tool[] = [];
    for (const tool of result.tools as readonly Tool[]) {
      const verdict = await this.#judge(tool);
      verdicts.set(tool.name, verdict);
      if (verdict.refused === undefined) tools.push(tool);
    }
    return { ...result, tools };
  }

  async #listed(name: string, { options }: ClientCall, next: Next): Promise<Verdict> {
    const { signal, timeoutMs, deadlineMs } = options;
    const limits: CallOptions = { signal, timeoutMs, deadlineMs };
    const verdicts = new Map<string, Verdict>();
    this.#begin(verdicts);
    const read = async (at: { readonly cursor: string } | undefined) =>
      this.#filter(await next({ method: "tools/list", params: at && { ...at }, options: limits }), verdicts);
    await new Pages<Tool>("tools", read, CLIENT_LIMITS).all();
    const verdict = verdicts.get(name) ?? (await this.#judgeMissing(name));
    verdicts.set(name, verdict);
    return verdict;
  }

  async #judge(tool: Tool): Promise<Verdict> {
    const { name } = tool;
    const digest = await definitionDigest(definitionOf(tool));
    const locked = this.#lockedTool(name);
    if (locked?.digest === digest) return { digest, refused: undefined };
    const change = {
      name,
      kind: locked === undefined ? "added" : "changed",
      members: membersOf(tool, locked),
      tool,
    } as const;
    return this.#ask(change, digest);
  }

  #judgeMissing(name: string): Promise<Verdict> {
    const kind = this.#lockedTool(name) === undefined ? "added" : "removed";
    return this.#ask({ name, kind, members: [], tool: undefined }, "");
  }

  async #ask(change: ToolChange, digest: string): Promise<Verdict> {
    const before = this.#before.get(change.name);
    if (before?.digest === digest) return before;
    return { digest, refused: (await this.#onChange(change)) === true ? undefined : change };
  }

  #lockedTool(name: string): LockedTool | undefined {
    const { tools } = this.#lock;
    return Object.hasOwn(tools, name) ? tools[name] : undefined;
  }
}

type Next = (call: ClientCall) => Promise<ClientResult>;

/** Returns the members in which a tool differs from its definition in the lock. */
function membersOf(tool: Tool, locked: LockedTool | undefined): readonly string[] {
  const before = locked?.definition;
  if (before === undefined) return [];
  const now = definitionOf(tool) as unknown as Readonly<Record<string, unknown>>;
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])].sort();
  return names.filter((name) => sortedJson(before[name] ?? null) !== sortedJson(now[name] ?? null));
}

function changed({ name, kind, members }: ToolChange): McpError {
  const how = {
    added: "the lock does not have it",
    changed: `its ${members.length === 0 ? "definition" : members.join(", ")} changed since the lock was written`,
    removed: "the server does not list it any more",
  }[kind];
  return new McpError(
    "tool_changed",
    `The tool ${JSON.stringify(name)} was not called: ${how}. Review the change, and run bowline types again to accept it`,
  );
}

function assertLock(lock: unknown): asserts lock is ServerLock {
  const { tools, servers } = isObject(lock) ? lock : {};
  if (isObject(servers) && tools === undefined)
    throw new DefinitionError(
      `pinned: the lock is of several servers; pass one of them, such as lock.servers[${JSON.stringify(Object.keys(servers)[0])}]`,
    );
  if (!isObject(tools))
    throw new DefinitionError("pinned(lock): the lock must have tools, as in a file of bowline types");
  const wrong = Object.entries(tools).find(([, tool]) => !isObject(tool) || !isDigest(tool.digest));
  if (wrong !== undefined)
    throw new DefinitionError(
      `pinned: the tool ${JSON.stringify(wrong[0])} of the lock has no digest (sha256: and 64 hexadecimal digits)`,
    );
}
