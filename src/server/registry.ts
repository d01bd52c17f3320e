import { DefinitionError } from "../schema/errors.js";
import type { AnySchema } from "../schema/standard.js";
import type { CacheScope, ServerCapabilities } from "../schema/types.js";
import type { ChangeBus } from "../store/change-bus.js";
import { assertDefinition } from "./assert-definition.js";
import { assertCacheHints } from "./cache-hints.js";
import { Catalogue } from "./catalogue.js";
import { CustomMethod, type MethodOptions, type OtherNotificationHandler } from "./custom-method.js";
import { CatalogueEntry, type Editable } from "./edit.js";
import { METHOD, PROMPT, RESOURCE, TOOL } from "./option-names.js";
import type { ServerOptions } from "./options.js";
import { type PromptHandler, type PromptOptions, RegisteredPrompt } from "./prompt.js";
import { RegisteredResource, type ResourceHandler, type ResourceOptions } from "./resource.js";
import { type AnyToolHandler, type AnyToolOptions, RegisteredTool, type RunningToolOptions } from "./tool.js";

export type Kind = "tools" | "prompts" | "resources";

/** The methods that the definitions of each kind answer. */
const METHODS: { readonly [kind in Kind]: readonly string[] } = {
  tools: ["tools/list", "tools/call"],
  prompts: ["prompts/list", "prompts/get"],
  resources: ["resources/list", "resources/templates/list", "resources/read"],
};

export type ToolChanges = Partial<AnyToolOptions> & { readonly name?: string; readonly handler?: AnyToolHandler };
export type PromptChanges = Partial<PromptOptions<AnySchema>> & {
  readonly name?: string;
  readonly handler?: PromptHandler<AnySchema>;
};
export type ResourceChanges = Partial<ResourceOptions> & { readonly uri?: string; readonly handler?: ResourceHandler };

/** All that an author registered, compiled. One registry serves every connection of every era. */
export class Registry {
  readonly tools: Catalogue<RegisteredTool>;
  readonly prompts: Catalogue<RegisteredPrompt>;
  readonly resources: Catalogue<RegisteredResource>;
  readonly templates: Catalogue<RegisteredResource>;
  /** Methods of the author's own, or in place of the SDK's. */
  readonly methods = new Map<string, CustomMethod>();
  readonly notifications = new Map<string, CustomMethod>();
  /** Hears of every notification without a handler of its own. */
  otherNotifications: OtherNotificationHandler | undefined;
  /** What clients are told about extensions. */
  extensions: ServerCapabilities["extensions"];
  readonly #changes: ChangeBus;
  readonly #options: ServerOptions;
  readonly #toolOptions: RunningToolOptions;
  readonly #unannounced = new Set<Kind>();

  constructor(options: ServerOptions, changes: ChangeBus, toolOptions: RunningToolOptions) {
    const pageSize = options.pageSize ?? Number.POSITIVE_INFINITY;
    this.tools = new Catalogue({ noun: "tool", member: "tools", pageSize });
    this.prompts = new Catalogue({ noun: "prompt", member: "prompts", pageSize });
    this.resources = new Catalogue({ noun: "resource", member: "resources", pageSize });
    this.templates = new Catalogue({ noun: "resource template", member: "resourceTemplates", pageSize });
    this.#changes = changes;
    this.#options = options;
    this.#toolOptions = toolOptions;
    this.extensions = options.capabilities?.extensions;
    assertCacheHints("cache", options.cache ?? {});
    for (const [method, hints] of Object.entries(options.cache?.methods ?? {})) {
      assertCacheHints(`cache of ${method}`, hints);
    }
  }

  addTool(name: string, options: AnyToolOptions, handler: AnyToolHandler): void {
    assertDefinition("tool", name, options, handler, TOOL);
    this.#assertOwnMethods("tools", `tool "${name}"`);
    this.tools.add(name, new RegisteredTool(name, options, handler, this.#toolOptions));
    this.#announce("tools");
  }

  editTool(name: string): Editable<ToolChanges> {
    this.tools.expect(name);
    const rebuild = (tool: RegisteredTool, changes: ToolChanges) => {
      const { name: key = tool.listing.name, handler = tool.handler, ...options } = changes;
      return { key, item: new RegisteredTool(key, { ...tool.options, ...options }, handler, this.#toolOptions) };
    };
    return new CatalogueEntry(this.tools, name, rebuild, () => this.#announce("tools"));
  }

  addPrompt(name: string, options: PromptOptions<AnySchema>, handler: PromptHandler<AnySchema>): void {
    assertDefinition("prompt", name, options, handler, PROMPT);
    this.#assertOwnMethods("prompts", `prompt "${name}"`);
    this.prompts.add(name, new RegisteredPrompt(name, options, handler, this.#toolOptions.validator));
    this.#announce("prompts");
  }

  editPrompt(name: string): Editable<PromptChanges> {
    this.prompts.expect(name);
    const rebuild = (prompt: RegisteredPrompt, changes: PromptChanges) => {
      const { name: key = prompt.listing.name, handler = prompt.handler, ...options } = changes;
      const { validator } = this.#toolOptions;
      return { key, item: new RegisteredPrompt(key, { ...prompt.options, ...options }, handler, validator) };
    };
    return new CatalogueEntry(this.prompts, name, rebuild, () => this.#announce("prompts"));
  }

  addResource(uri: string, options: ResourceOptions, handler: ResourceHandler): void {
    assertDefinition("resource", uri, options, handler, RESOURCE);
    this.#assertOwnMethods("resources", `resource "${uri}"`);
    const resource = new RegisteredResource(uri, options, handler, this.#toolOptions.validator);
    (resource.template === undefined ? this.resources : this.templates).add(uri, resource);
    this.#announce("resources");
  }

  editResource(uri: string): Editable<ResourceChanges> {
    const catalogue = this.templates.get(uri) === undefined ? this.resources : this.templates;
    catalogue.expect(uri);
    const rebuild = (resource: RegisteredResource, changes: ResourceChanges) => {
      const { uri: key = resource.uri, handler = resource.handler, ...options } = changes;
      const item = new RegisteredResource(
        key,
        { ...resource.options, ...options },
        handler,
        this.#toolOptions.validator,
      );
      if ((item.template === undefined) === (resource.template === undefined)) return { key, item };
      throw new DefinitionError(`resource "${resource.uri}" cannot turn into "${key}": one of them is a template`);
    };
    return new CatalogueEntry(catalogue, uri, rebuild, () => this.#announce("resources"));
  }

  removeTool(name: string): boolean {
    return this.#removed("tools", this.tools.remove(name));
  }

  removePrompt(name: string): boolean {
    return this.#removed("prompts", this.prompts.remove(name));
  }

  removeResource(uri: string): boolean {
    return this.#removed("resources", this.resources.remove(uri) || this.templates.remove(uri));
  }

  /** A method of the author's own. One that definitions answer already cannot be taken from them. */
  addMethod(name: string, options: MethodOptions<AnySchema>, handler: CustomMethod["handler"]): void {
    assertDefinition("method", name, options, handler, METHOD);
    const taken = (Object.keys(METHODS) as Kind[]).find((kind) => this.#defines(kind) && METHODS[kind].includes(name));
    if (taken !== undefined) {
      throw new DefinitionError(`method "${name}": the ${taken} that are defined answer it already`);
    }
    this.methods.set(name, new CustomMethod(name, options, handler, this.#toolOptions.validator));
  }

  addNotification(name: string, options: MethodOptions<AnySchema>, handler: CustomMethod["handler"]): void {
    assertDefinition("notification", name, options, handler, METHOD);
    this.notifications.set(name, new CustomMethod(name, options, handler, this.#toolOptions.validator));
  }

  /** Loads what checking values by the schemas of all definitions would load. */
  prepare(): unknown {
    return this.#toolOptions.validator?.prepare?.();
  }

  get allowsUnsafePaths(): boolean {
    return this.#options.resources?.unsafePaths === true;
  }

  get hasCompletions(): boolean {
    const has = (item: { readonly complete: object }) => Object.keys(item.complete).length > 0;
    return this.prompts.values().some(has) || this.templates.values().some(has);
  }

  /** What clients are told about keeping results of a method, unless the result says so itself. */
  cacheHints(method: string): { readonly ttlMs: number; readonly cacheScope: CacheScope } {
    const { cache = {} } = this.#options;
    const methods = cache.methods ?? {};
    const own = Object.hasOwn(methods, method) ? methods[method] : undefined;
    const { ttlMs = cache.ttlMs ?? 0, scope = cache.scope ?? "private" } = own ?? {};
    return { ttlMs, cacheScope: this.#dependsOnCaller(method) ? "private" : scope };
  }

  /** Names a capability for each feature that is there and for no other. */
  get capabilities(): ServerCapabilities {
    const { experimental, logging } = this.#options.capabilities ?? {};
    const { extensions } = this;
    const features = this.offers("tools") || this.offers("prompts") || this.offers("resources");
    return {
      ...(experimental === undefined ? undefined : { experimental: { ...experimental } }),
      ...((logging ?? features) ? { logging: {} } : undefined),
      ...(this.hasCompletions || this.methods.has("completion/complete") ? { completions: {} } : undefined),
      ...(this.offers("prompts") ? { prompts: this.#announced("prompts") } : undefined),
      ...(this.offers("resources") ? { resources: this.#announced("resources") } : undefined),
      ...(this.offers("tools") ? { tools: this.#announced("tools") } : undefined),
      ...(extensions === undefined ? undefined : { extensions: { ...extensions } }),
    };
  }

  #announced(kind: Kind): { listChanged: boolean; subscribe?: boolean } {
    const declared = this.#options.capabilities?.[kind];
    const flags = typeof declared === "object" ? declared : {};
    return { ...(kind === "resources" ? { subscribe: true } : undefined), listChanged: true, ...flags };
  }

  /** Whether the methods of a kind are answered. */
  offers(kind: Kind): boolean {
    const declared = this.#options.capabilities?.[kind];
    const defined = this[kind].offered || (kind === "resources" && this.templates.offered);
    return defined || (declared ?? false) !== false || METHODS[kind].some((method) => this.methods.has(method));
  }

  #defines(kind: Kind): boolean {
    return this[kind].size > 0 || (kind === "resources" && this.templates.size > 0);
  }

  #dependsOnCaller(method: string): boolean {
    switch (method) {
      case "tools/list":
        return this.tools.filtered;
      case "prompts/list":
        return this.prompts.filtered;
      case "resources/list":
        return this.resources.filtered || this.templates.filtered;
      case "resources/templates/list":
        return this.templates.filtered;
      default:
        return false;
    }
  }

  #assertOwnMethods(kind: Kind, what: string): void {
    const taken = METHODS[kind].find((method) => this.methods.has(method));
    if (taken !== undefined)
      throw new DefinitionError(`${what}: a method of the author's own answers ${taken} already`);
  }

  #removed(kind: Kind, removed: boolean): boolean {
    if (removed) this.#announce(kind);
    return removed;
  }

  /** Changes of one turn are told once, after the last of them. */
  #announce(kind: Kind): void {
    if (this.#unannounced.has(kind)) return;
    this.#unannounced.add(kind);
    queueMicrotask(() => {
      this.#unannounced.delete(kind);
      this.#changes.publish({ kind });
    });
  }
}
