import { DefinitionError } from "../../protocol/errors.js";
import { defined } from "../../protocol/json.js";
import { assertOptions, withDefaults } from "../../protocol/known-options.js";
import { BUILT_IN_EXTENSIONS } from "../../protocol/meta.js";
import type { CacheScope, ServerCapabilities, Tool } from "../../protocol/types/index.js";
import type { AnySchema } from "../../schema/compile.js";
import type { ChangeBus } from "../../store/change-bus.js";
import { assertCacheHints, type ServerOptions } from "../options.js";
import { Catalogue, type Editable, editEntry, type Listed } from "./catalogue.js";
import { CustomMethod, METHOD_OPTIONS, type OtherNotificationHandler } from "./custom-method.js";
import { PROMPT_OPTIONS, type PromptHandler, type PromptOptions, RegisteredPrompt } from "./prompt.js";
import { RESOURCE_OPTIONS, RegisteredResource, type ResourceHandler, type ResourceOptions } from "./resource.js";
import {
  type AnyToolHandler,
  type AnyToolOptions,
  RegisteredTool,
  type RunningToolOptions,
  TOOL_OPTIONS,
} from "./tool.js";

export type Kind = "tools" | "prompts" | "resources";

export type ToolChanges = Partial<AnyToolOptions> & {
  readonly name?: string | undefined;
  readonly handler?: AnyToolHandler | undefined;
};
export type PromptChanges = Partial<PromptOptions<AnySchema>> & {
  readonly name?: string | undefined;
  readonly handler?: PromptHandler<AnySchema> | undefined;
};
export type ResourceChanges = Partial<ResourceOptions> & {
  readonly uri?: string | undefined;
  readonly handler?: ResourceHandler | undefined;
};

interface ChangesOf {
  readonly tools: ToolChanges;
  readonly prompts: PromptChanges;
  readonly resources: ResourceChanges;
}

/** Compiled definition of any kind. */
interface Item extends Listed {
  readonly options: object;
  readonly handler: unknown;
  /** Set for a resource template. */
  readonly template?: unknown;
}

/** Properties of a kind of definitions. */
interface KindFacts {
  readonly noun: string;
  /** Member of `update` that changes the name or URI. */
  readonly key: "name" | "uri";
  readonly known: { readonly [option: string]: unknown };
  /** Methods that serve the definitions of this kind. */
  readonly methods: readonly string[];
  readonly Item: new (key: string, options: never, handler: never, running: RunningToolOptions) => Item;
}

const KINDS: { readonly [kind in Kind]: KindFacts } = {
  tools: {
    noun: "tool",
    key: "name",
    known: TOOL_OPTIONS,
    methods: ["tools/list", "tools/call"],
    Item: RegisteredTool,
  },
  prompts: {
    noun: "prompt",
    key: "name",
    known: PROMPT_OPTIONS,
    methods: ["prompts/list", "prompts/get"],
    Item: RegisteredPrompt,
  },
  resources: {
    noun: "resource",
    key: "uri",
    known: RESOURCE_OPTIONS,
    methods: ["resources/list", "resources/templates/list", "resources/read"],
    Item: RegisteredResource,
  },
};

/** Catalogues that the result of a method lists. */
const LISTED: ReadonlyMap<string, readonly (Kind | "templates")[]> = new Map([
  ["tools/list", ["tools"]],
  ["prompts/list", ["prompts"]],
  ["resources/list", ["resources", "templates"]],
  ["resources/templates/list", ["templates"]],
]);

/** Compiled definitions of a server. One registry serves all connections of all eras. */
export class Registry {
  readonly tools: Catalogue<RegisteredTool>;
  readonly prompts: Catalogue<RegisteredPrompt>;
  readonly resources: Catalogue<RegisteredResource>;
  readonly templates: Catalogue<RegisteredResource>;
  /** Custom methods, and replacements of methods of the specification. */
  readonly methods = new Map<string, CustomMethod>();
  readonly notifications = new Map<string, CustomMethod>();
  /** Handles notifications that have no other handler. */
  otherNotifications: OtherNotificationHandler | undefined;
  /** Extensions with their settings, as announced to clients. */
  extensions: ServerCapabilities["extensions"];
  /** Owner of each method, notification, result type and topic of an extension. */
  readonly extensionOwners = new Map<string, string>();
  readonly #server: { readonly changes: ChangeBus };
  readonly #options: ServerOptions;
  readonly #running: RunningToolOptions;
  readonly #unannounced = new Set<Kind>();
  #isServed = false;

  constructor(options: ServerOptions, server: { readonly changes: ChangeBus }, running: RunningToolOptions) {
    const { pageSize, cache = {}, capabilities } = options;
    this.tools = new Catalogue("tool", "tools", pageSize);
    this.prompts = new Catalogue("prompt", "prompts", pageSize);
    this.resources = new Catalogue("resource", "resources", pageSize);
    this.templates = new Catalogue("resource template", "resourceTemplates", pageSize);
    this.#server = server;
    this.#options = options;
    this.#running = running;
    this.extensions = capabilities?.extensions;
    assertCacheHints("cache", cache);
    for (const [method, hints] of Object.entries(cache.methods ?? {})) assertCacheHints(`cache of ${method}`, hints);
  }

  /** Adds a definition. `key` is its name, URI or URI template. */
  add(kind: Kind, key: string, ...given: Definition): void {
    const { noun, methods } = KINDS[kind];
    const item = this.#make(kind, key, ...withOptions(given));
    const taken = methods.find((method) => this.methods.has(method));
    if (taken !== undefined) throw new DefinitionError(`${noun} "${key}": a custom method already handles ${taken}`);
    this.#catalogueOf(kind, item).add(key, item);
    this.#announce(kind);
  }

  /** Throws for definitions that do not fit together. Later ones are checked when they are added or changed. */
  assertServable(): void {
    if (this.#isServed) return;
    for (const name of this.tools.keys()) this.#assertRuns(name, this.tools.expect(name));
    this.#isServed = true;
  }

  /** Throws for a tool that runs only as a task if nothing runs tasks. It would run as an ordinary call. */
  #assertRuns(name: string, { listing }: { readonly listing: Partial<Pick<Tool, "execution">> }): void {
    if (listing.execution?.taskSupport !== "required" || this.extensions?.[BUILT_IN_EXTENSIONS.tasks] !== undefined)
      return;
    throw new DefinitionError(
      `tool "${name}": task is "required", but the server runs no tasks; add .extend(tasks()) of bowline/tasks/server`,
    );
  }

  edit<K extends Kind>(kind: K, key: string): Editable<ChangesOf[K]> {
    const { noun, key: member } = KINDS[kind];
    const catalogue = this.#catalogueOf(kind, this.templates.get(key));
    const rebuild = (was: string, present: Item, changes: object) => {
      const { [member]: key = was, handler = present.handler, ...options } = changes as Record<string, unknown>;
      const item = this.#make(kind, key as string, { ...present.options, ...options }, handler);
      if (this.#catalogueOf(kind, item) === catalogue) return { key: key as string, item };
      throw new DefinitionError(`${noun} "${was}" cannot become "${key}": one is a template`);
    };
    return editEntry(catalogue, key, rebuild, () => this.#announce(kind));
  }

  remove(kind: Kind, key: string): boolean {
    const removed = this[kind].remove(key) || (kind === "resources" && this.templates.remove(key));
    if (removed) this.#announce(kind);
    return removed;
  }

  #make(kind: Kind, key: string, options: unknown, handler: unknown): Item {
    const { noun, known, Item } = KINDS[kind];
    assertDefinition(noun, key, options, handler, known);
    const item = new Item(key, options as never, handler as never, this.#running);
    if (this.#isServed) this.#assertRuns(key, item);
    return item;
  }

  #catalogueOf(kind: Kind, item: Item | undefined): Catalogue<Item> {
    const catalogue = kind === "resources" && item?.template !== undefined ? this.templates : this[kind];
    return catalogue as unknown as Catalogue<Item>;
  }

  /** Adds a custom method. Throws if definitions already serve the method. */
  addMethod(name: string, ...given: Definition): void {
    const [options, handler] = withOptions(given);
    assertDefinition("method", name, options, handler, METHOD_OPTIONS);
    const taken = (Object.keys(KINDS) as Kind[]).find(
      (kind) => this.#defines(kind) && KINDS[kind].methods.includes(name),
    );
    if (taken !== undefined) throw new DefinitionError(`method "${name}": the defined ${taken} already handle it`);
    this.methods.set(name, new CustomMethod(name, options, handler, this.#running.validator));
  }

  addNotification(name: string, ...given: Definition): void {
    const [options, handler] = withOptions(given);
    assertDefinition("notification", name, options, handler, METHOD_OPTIONS);
    this.notifications.set(name, new CustomMethod(name, options, handler, this.#running.validator));
  }

  /** Loads the modules that validation by schemas needs. */
  prepare(): unknown {
    return this.#running.validator?.prepare?.();
  }

  get allowsUnsafePaths(): boolean {
    return this.#options.resources?.unsafePaths === true;
  }

  get hasCompletions(): boolean {
    const has = (item: { readonly complete: object }) => Object.keys(item.complete).length > 0;
    return this.prompts.values().some(has) || this.templates.values().some(has);
  }

  /** Returns the cache hints for results of a method that have none of their own. */
  cacheHints(method: string): { readonly ttlMs: number; readonly cacheScope: CacheScope } {
    const { cache = {} } = this.#options;
    const methods = cache.methods ?? {};
    const own = Object.hasOwn(methods, method) ? methods[method] : undefined;
    const { ttlMs = cache.ttlMs ?? 0, scope = cache.scope ?? "private" } = own ?? {};
    const dependsOnCaller = LISTED.get(method)?.some((catalogue) => this[catalogue].filtered);
    return { ttlMs, cacheScope: dependsOnCaller === true ? "private" : scope };
  }

  /** Capabilities of the server: one for each feature that is defined or declared. */
  get capabilities(): ServerCapabilities {
    const { experimental, logging } = this.#options.capabilities ?? {};
    const { extensions } = this;
    const prompts = this.#announced("prompts");
    const resources = this.#announced("resources");
    const tools = this.#announced("tools");
    return defined<ServerCapabilities>({
      experimental: experimental && { ...experimental },
      logging: (logging ?? tools ?? prompts ?? resources) ? {} : undefined,
      completions: this.hasCompletions || this.methods.has("completion/complete") ? {} : undefined,
      prompts,
      resources: resources && { subscribe: true, ...resources },
      tools,
      extensions: extensions && { ...extensions },
    });
  }

  #announced(kind: Kind): { listChanged: boolean } | undefined {
    const declared = this.#options.capabilities?.[kind];
    if (!this.offers(kind)) return undefined;
    return withDefaults({ ...(typeof declared === "object" ? declared : undefined) }, { listChanged: true });
  }

  /** True if the server offers the methods of a kind. */
  offers(kind: Kind): boolean {
    const declared = this.#options.capabilities?.[kind];
    const defined = this[kind].offered || (kind === "resources" && this.templates.offered);
    return defined || (declared ?? false) !== false || KINDS[kind].methods.some((method) => this.methods.has(method));
  }

  #defines(kind: Kind): boolean {
    return this[kind].size > 0 || (kind === "resources" && this.templates.size > 0);
  }

  /** Announces a change in a microtask, once for all changes of the code that runs now. */
  #announce(kind: Kind): void {
    if (this.#unannounced.has(kind)) return;
    this.#unannounced.add(kind);
    queueMicrotask(() => {
      this.#unannounced.delete(kind);
      this.#server.changes.publish({ kind });
    });
  }
}

/** Option names of other SDKs, and earlier ones, with their names here, for errors: an ignored schema would check nothing. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  inputSchema: "input",
  parameters: "input",
  outputSchema: "output",
  argsSchema: "arguments",
  args: "arguments",
  taskSupport: "task",
};

/** Handler of a definition, after its options if it has any. What is given is checked. */
export type Definition = readonly [handler: unknown] | readonly [options: unknown, handler: unknown];

/** Returns a definition with options, which are empty if only the handler is given. */
function withOptions(given: Definition): readonly [options: never, handler: never] {
  return (given.length === 1 && typeof given[0] === "function" ? [{}, given[0]] : given) as [never, never];
}

/** Throws for mistakes in a definition that TypeScript would find. */
export function assertDefinition(
  noun: string,
  name: unknown,
  options: unknown,
  handler: unknown,
  known: { readonly [name: string]: unknown },
): void {
  const where = `${noun} ${JSON.stringify(name)}`;
  if (typeof name !== "string") throw new DefinitionError(`${where}: the name must be a string`);
  if (typeof options !== "object" || options === null || typeof handler !== "function") {
    const required = noun === "resource" ? "options and a handler" : "a handler, after options if there are any";
    throw new DefinitionError(`${where}: requires ${required}, got ${typeof options} and ${typeof handler}`);
  }
  assertOptions(where, options, known, OTHER_NAMES);
}
