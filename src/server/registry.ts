import type { AnySchema } from "../schema/standard.js";
import type { ServerCapabilities } from "../schema/types.js";
import type { ChangeBus } from "../store/change-bus.js";
import { Catalogue } from "./catalogue.js";
import type { CustomMethod, OtherNotificationHandler } from "./custom-method.js";
import type { ServerOptions } from "./options.js";
import { type PromptHandler, type PromptOptions, RegisteredPrompt } from "./prompt.js";
import { RegisteredResource, type ResourceHandler, type ResourceOptions } from "./resource.js";
import { RegisteredTool, type RunningToolOptions, type ToolHandler, type ToolOptions } from "./tool.js";

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
  readonly #changes: ChangeBus;
  readonly #options: ServerOptions;
  readonly #toolOptions: RunningToolOptions;

  constructor(options: ServerOptions, changes: ChangeBus, toolOptions: RunningToolOptions) {
    const pageSize = options.pageSize ?? Number.POSITIVE_INFINITY;
    const extras = {
      ...(options.cache?.ttlMs === undefined ? undefined : { ttlMs: options.cache.ttlMs }),
      ...(options.cache?.scope === undefined ? undefined : { cacheScope: options.cache.scope }),
    };
    this.tools = new Catalogue({ noun: "tool", member: "tools", pageSize, extras });
    this.prompts = new Catalogue({ noun: "prompt", member: "prompts", pageSize, extras });
    this.resources = new Catalogue({ noun: "resource", member: "resources", pageSize, extras });
    this.templates = new Catalogue({ noun: "resource template", member: "resourceTemplates", pageSize, extras });
    this.#changes = changes;
    this.#options = options;
    this.#toolOptions = toolOptions;
  }

  addTool(name: string, options: ToolOptions<AnySchema, AnySchema>, handler: ToolHandler<AnySchema, AnySchema>): void {
    this.tools.add(name, new RegisteredTool(name, options, handler, this.#toolOptions));
    this.#changes.publish({ kind: "tools" });
  }

  removeTool(name: string): boolean {
    const removed = this.tools.remove(name);
    if (removed) this.#changes.publish({ kind: "tools" });
    return removed;
  }

  addPrompt(name: string, options: PromptOptions<AnySchema>, handler: PromptHandler<AnySchema>): void {
    this.prompts.add(name, new RegisteredPrompt(name, options, handler, this.#options.validator));
    this.#changes.publish({ kind: "prompts" });
  }

  removePrompt(name: string): boolean {
    const removed = this.prompts.remove(name);
    if (removed) this.#changes.publish({ kind: "prompts" });
    return removed;
  }

  addResource(uri: string, options: ResourceOptions, handler: ResourceHandler): void {
    const resource = new RegisteredResource(uri, options, handler);
    (resource.template === undefined ? this.resources : this.templates).add(uri, resource);
    this.#changes.publish({ kind: "resources" });
  }

  removeResource(uri: string): boolean {
    const removed = this.resources.remove(uri) || this.templates.remove(uri);
    if (removed) this.#changes.publish({ kind: "resources" });
    return removed;
  }

  /** The resource behind a URI, and what its template's variables stand for. */
  findResource(
    uri: string,
  ): { resource: RegisteredResource; variables: Record<string, string | string[]> } | undefined {
    const exact = this.resources.get(uri);
    if (exact !== undefined) return { resource: exact, variables: {} };
    for (const resource of this.templates.values()) {
      const variables = resource.template?.match(uri);
      if (variables !== undefined) return { resource, variables };
    }
    return undefined;
  }

  get hasResources(): boolean {
    return this.resources.size + this.templates.size > 0;
  }

  get hasCompletions(): boolean {
    const has = (item: { readonly complete: object }) => Object.keys(item.complete).length > 0;
    return [...this.prompts.values()].some(has) || [...this.templates.values()].some(has);
  }

  /** Names a capability for each feature that is there and for no other. */
  get capabilities(): ServerCapabilities {
    const { experimental, extensions, logging } = this.#options.capabilities ?? {};
    const features = this.tools.size + this.prompts.size > 0 || this.hasResources;
    return {
      ...(experimental === undefined ? undefined : { experimental: { ...experimental } }),
      ...((logging ?? features) ? { logging: {} } : undefined),
      ...(this.hasCompletions ? { completions: {} } : undefined),
      ...(this.prompts.size > 0 ? { prompts: { listChanged: true } } : undefined),
      ...(this.hasResources ? { resources: { subscribe: true, listChanged: true } } : undefined),
      ...(this.tools.size > 0 ? { tools: { listChanged: true } } : undefined),
      ...(extensions === undefined ? undefined : { extensions: { ...extensions } }),
    };
  }
}
