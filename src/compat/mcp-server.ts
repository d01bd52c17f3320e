import { defined } from "../protocol/json.js";
import type {
  Annotations,
  GetPromptResult,
  Icon,
  InputRequiredResult,
  JsonObject,
  LoggingLevel,
  ReadResourceResult,
  ToolAnnotations,
} from "../protocol/types/index.js";
import type { Context } from "../server/context.js";
import type { Completers } from "../server/definitions/completion.js";
import type { ResourceOptions } from "../server/definitions/resource.js";
import { isInputRequired, toolResult } from "../server/definitions/tool-result.js";
import type { Server as BowlineServer } from "../server/server.js";
import type { HandlerExtra } from "./extra.js";
import { CompatLowLevel, type CompatParts, type CompatTransport } from "./low-level.js";
import { type CompatRegistration, toRegistration } from "./registration.js";
import type { CompatToolResult, HandlerRunner } from "./run-handler.js";
import { isSchema, type SchemaOrShape, type Shape, toObjectSchema, type ValuesOf } from "./shape.js";
import type { StdioServerTransport } from "./stdio.js";
import { type Complete, completersOf, type ResourceTemplate } from "./templates.js";
import { type CompatTaskHandler, runToolTask } from "./tool-task.js";
import { unavailable } from "./unavailable.js";

/** Handler that receives the values of a schema, or `extra` alone if there is no schema. */
export type CompatHandler<S, R> = S extends SchemaOrShape
  ? (args: ValuesOf<S>, extra: HandlerExtra) => R | Promise<R>
  : (extra: HandlerExtra) => R | Promise<R>;

/** Handler of a tool. */
export type CompatToolHandler<I> = CompatHandler<I, CompatToolResult | InputRequiredResult>;
/** Handler of a prompt. */
export type CompatPromptHandler<A> = CompatHandler<A, GetPromptResult | InputRequiredResult>;
/** Result of reading a resource. */
export type CompatReadResult = ReadResourceResult | InputRequiredResult;

/** Reads a resource. */
export type ReadCallback = (uri: URL, extra: HandlerExtra) => CompatReadResult | Promise<CompatReadResult>;

/** Reads a resource of a template. */
export type ReadTemplateCallback = (
  uri: URL,
  variables: Record<string, string | string[]>,
  extra: HandlerExtra,
) => CompatReadResult | Promise<CompatReadResult>;

/** Options of `registerTool`. */
export interface CompatToolOptions<I extends SchemaOrShape | undefined, O extends SchemaOrShape | undefined> {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema?: I | undefined;
  readonly outputSchema?: O | undefined;
  readonly annotations?: ToolAnnotations | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly _meta?: JsonObject | undefined;
}

/** Options of `registerToolTask`. */
export interface CompatTaskOptions<I extends SchemaOrShape | undefined, O extends SchemaOrShape | undefined>
  extends CompatToolOptions<I, O> {
  /** @default { taskSupport: "required" } */
  readonly execution?: { readonly taskSupport?: "required" | "optional" };
}

/** Options of `registerPrompt`. */
export interface CompatPromptOptions<A extends SchemaOrShape | undefined> {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly argsSchema?: A | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly _meta?: JsonObject | undefined;
}

/** Options of `registerResource`. */
export interface CompatResourceOptions {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly size?: number | undefined;
  readonly annotations?: Annotations | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly _meta?: JsonObject | undefined;
}

/** Handle of a tool. */
export type RegisteredTool = Pick<CompatRegistration, "enabled" | "enable" | "disable" | "remove"> & {
  update<I extends SchemaOrShape | undefined = undefined>(
    changes: Omit<CompatToolOptions<never, SchemaOrShape>, "inputSchema"> & {
      readonly name?: string | null;
      readonly paramsSchema?: I;
      readonly callback?: CompatToolHandler<I>;
      readonly enabled?: boolean;
    },
  ): void;
};

/** Handle of a prompt. */
export type RegisteredPrompt = Pick<CompatRegistration, "enabled" | "enable" | "disable" | "remove"> & {
  update<A extends SchemaOrShape | undefined = undefined>(
    changes: Omit<CompatPromptOptions<never>, "argsSchema"> & {
      readonly name?: string | null;
      readonly argsSchema?: A;
      readonly callback?: CompatPromptHandler<A>;
      readonly enabled?: boolean;
    },
  ): void;
};

/** Members of a resource that `update` replaces. */
export interface CompatResourceChanges {
  readonly name?: string | null;
  readonly title?: string;
  readonly metadata?: CompatResourceOptions;
}

/** Handle of a resource. */
export type RegisteredResource = CompatRegistration<
  CompatResourceChanges & { readonly uri?: string | null; readonly callback?: ReadCallback }
>;

/** Handle of a resource template. */
export type RegisteredResourceTemplate = CompatRegistration<
  CompatResourceChanges & { readonly template?: ResourceTemplate; readonly callback?: ReadTemplateCallback }
>;

/** Id of the extension `tasks()` of `bowline/tasks/server`. */
const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** Experiments of version 1 of the official SDK. */
export interface CompatExperiments {
  readonly tasks: {
    /**
     * Adds a tool whose calls are tasks if `server.bowline` was extended by `tasks()` of `bowline/tasks/server` before.
     * Otherwise the calls are ordinary calls, which last until the task has ended.
     */
    registerToolTask<I extends SchemaOrShape | undefined = undefined, O extends SchemaOrShape | undefined = undefined>(
      name: string,
      options: CompatTaskOptions<I, O>,
      handler: CompatTaskHandler<I>,
    ): RegisteredTool;
  };
}

/**
 * `McpServer` of the official SDK, implemented by a Bowline server, for programs that migrate. Handlers stay unchanged.
 * Definitions in the form of Bowline can be added through `bowline`.
 */
export class CompatServer {
  /** Low-level server. */
  readonly server: CompatLowLevel;
  /** Bowline server, to pass to `serveHttp`, `toNodeListener` and other functions that serve one. */
  readonly bowline: BowlineServer;
  readonly #runner: HandlerRunner;

  /** @internal */
  constructor(parts: CompatParts) {
    this.bowline = parts.bowline;
    this.server = new CompatLowLevel(parts);
    this.#runner = this.server.runner;
  }

  /** Experiments of version 1 of the official SDK. */
  get experimental(): CompatExperiments {
    return {
      tasks: {
        registerToolTask: (name, { execution, ...options }, handler) => {
          const run = (...given: unknown[]) => runToolTask(name, handler, given);
          const taskSupport = execution?.taskSupport ?? "required";
          return this.#registerTool(name, { ...options, ...(this.#hasTasks() && { task: taskSupport }) }, run);
        },
      },
    };
  }

  /** True if the server was extended by `tasks()`. Without the extension, no call is a task. */
  #hasTasks(): boolean {
    return this.bowline.capabilities.extensions?.[TASKS_EXTENSION] !== undefined;
  }

  registerTool<I extends SchemaOrShape | undefined = undefined, O extends SchemaOrShape | undefined = undefined>(
    name: string,
    options: CompatToolOptions<I, O>,
    callback: CompatToolHandler<I>,
  ): RegisteredTool {
    return this.#registerTool(name, options, callback);
  }

  #registerTool(
    name: string,
    options: CompatToolOptions<SchemaOrShape | undefined, SchemaOrShape | undefined> & Pick<ToolParts, "task">,
    callback: unknown,
  ): RegisteredTool {
    const { inputSchema: paramsSchema, ...others } = options;
    const given: ToolParts = { ...others, name, paramsSchema, callback };
    const { name: _, handler, ...definition } = this.#toTool(given);
    this.bowline.tool(name, definition, handler);
    return toRegistration(this.bowline.edit.tool(name), given, (given) => this.#toTool(given)) as RegisteredTool;
  }

  registerPrompt<A extends SchemaOrShape | undefined = undefined>(
    name: string,
    options: CompatPromptOptions<A>,
    callback: CompatPromptHandler<A>,
  ): RegisteredPrompt {
    const given: PromptParts = { ...options, name, callback };
    const { name: _, handler, ...definition } = this.#toPrompt(given);
    this.bowline.prompt(name, definition, handler);
    return toRegistration(this.bowline.edit.prompt(name), given, (given) => this.#toPrompt(given)) as RegisteredPrompt;
  }

  registerResource(
    name: string,
    uri: string,
    options: CompatResourceOptions,
    callback: ReadCallback,
  ): RegisteredResource;
  registerResource(
    name: string,
    template: ResourceTemplate,
    options: CompatResourceOptions,
    callback: ReadTemplateCallback,
  ): RegisteredResourceTemplate;
  registerResource(
    name: string,
    where: string | ResourceTemplate,
    metadata: CompatResourceOptions,
    callback: unknown,
  ): RegisteredResource & RegisteredResourceTemplate {
    const place = typeof where === "string" ? { uri: where } : { template: where };
    const given: ResourceParts = { name, ...place, metadata, callback };
    const { uri, handler, ...definition } = this.#toResource(given);
    this.bowline.resource(uri, defined<ResourceOptions<undefined>>(definition), handler);
    return toRegistration(this.bowline.edit.resource(uri), given, (given) => this.#toResource(given) as never);
  }

  /** @deprecated in the official SDK: use `registerTool`. */
  tool(name: string, handler: CompatToolHandler<undefined>): RegisteredTool;
  tool(name: string, description: string, handler: CompatToolHandler<undefined>): RegisteredTool;
  tool<A extends Shape>(name: string, shape: A, handler: CompatToolHandler<A>): RegisteredTool;
  tool<A extends Shape>(name: string, description: string, shape: A, handler: CompatToolHandler<A>): RegisteredTool;
  tool<A extends Shape>(
    name: string,
    shape: A,
    annotations: ToolAnnotations,
    handler: CompatToolHandler<A>,
  ): RegisteredTool;
  tool<A extends Shape>(
    name: string,
    description: string,
    shape: A,
    annotations: ToolAnnotations,
    handler: CompatToolHandler<A>,
  ): RegisteredTool;
  tool(name: string, annotations: ToolAnnotations, handler: CompatToolHandler<undefined>): RegisteredTool;
  tool(
    name: string,
    description: string,
    annotations: ToolAnnotations,
    handler: CompatToolHandler<undefined>,
  ): RegisteredTool;
  tool(name: string, ...rest: readonly unknown[]): RegisteredTool {
    const { description, objects, handler } = readOverload(rest);
    const [first, second] = objects;
    const [inputSchema, annotations] = first !== undefined && isShape(first) ? [first, second] : [undefined, first];
    return this.registerTool<Shape | undefined>(name, defined({ description, inputSchema, annotations }), handler);
  }

  /** @deprecated in the official SDK: use `registerPrompt`. */
  prompt(name: string, handler: CompatPromptHandler<undefined>): RegisteredPrompt;
  prompt(name: string, description: string, handler: CompatPromptHandler<undefined>): RegisteredPrompt;
  prompt<A extends Shape>(name: string, shape: A, handler: CompatPromptHandler<A>): RegisteredPrompt;
  prompt<A extends Shape>(
    name: string,
    description: string,
    shape: A,
    handler: CompatPromptHandler<A>,
  ): RegisteredPrompt;
  prompt(name: string, ...rest: readonly unknown[]): RegisteredPrompt {
    const { description, objects, handler } = readOverload(rest);
    return this.registerPrompt(name, defined({ description, argsSchema: objects[0] as Shape | undefined }), handler);
  }

  /** @deprecated in the official SDK: use `registerResource`. */
  resource(name: string, uri: string, callback: ReadCallback): RegisteredResource;
  resource(name: string, uri: string, options: CompatResourceOptions, callback: ReadCallback): RegisteredResource;
  resource(name: string, template: ResourceTemplate, callback: ReadTemplateCallback): RegisteredResourceTemplate;
  resource(
    name: string,
    template: ResourceTemplate,
    options: CompatResourceOptions,
    callback: ReadTemplateCallback,
  ): RegisteredResourceTemplate;
  resource(name: string, where: string | ResourceTemplate, ...rest: readonly unknown[]): unknown {
    const { objects, handler } = readOverload(rest);
    return this.registerResource(name, where as string, objects[0] ?? {}, handler);
  }

  // The official SDK ignores members that it does not know, so only those that it knows are passed on.
  #toTool({ name, title, description, annotations, icons, task, ...parts }: ToolParts) {
    const { paramsSchema, outputSchema, _meta: meta, callback } = parts;
    // The handler of a tool without a schema gets no arguments. The tool accepts any, as with a schema without members.
    const input = toObjectSchema(paramsSchema ?? {});
    const output = outputSchema && toObjectSchema(outputSchema);
    const handler = async (args: unknown, ctx: Context) => {
      const given = paramsSchema === undefined ? [] : [args];
      const result = await this.#runner.runTool<CompatToolResult | InputRequiredResult | undefined>(
        ctx,
        callback,
        given,
      );
      return isInputRequired(result) ? result : toolResult(result ?? {});
    };
    const hints = annotations && knownHints(annotations);
    return defined({ name, title, description, annotations: hints, icons, task, input, output, meta, handler });
  }

  #toPrompt({ name, title, description, icons, argsSchema, _meta: meta, callback }: PromptParts) {
    const details = argsSchema && {
      arguments: toObjectSchema(argsSchema),
      complete: completersOf(argsSchema, this.#toCompleter),
    };
    const handler = (args: unknown, ctx: Context) =>
      this.#runner.run<GetPromptResult>(ctx, callback, argsSchema === undefined ? [] : [args]);
    return defined({ ...details, name, title, description, icons, meta, handler });
  }

  #toResource({ name, title, uri, template, metadata, callback }: ResourceParts) {
    const { description, mimeType, size, annotations, icons, _meta: meta } = metadata;
    const handler = (variables: unknown, ctx: Context, read: string) => {
      const place = new URL(read);
      return this.#runner.run<ReadResourceResult>(ctx, callback, template === undefined ? [place] : [place, variables]);
    };
    return {
      title: title ?? metadata.title,
      // An update of the metadata clears what the new metadata does not have.
      description,
      mimeType,
      size,
      annotations,
      icons,
      ...(template && this.#liveParts(template)),
      name,
      uri: template?.uriTemplate ?? (uri as string),
      meta,
      handler,
    };
  }

  #liveParts({ callbacks }: ResourceTemplate) {
    if (callbacks === undefined) unavailable("ResourceTemplate of the official SDK", "import it from bowline/compat");
    const { list, complete = {} } = callbacks;
    return {
      complete: Object.fromEntries(Object.entries(complete).map(([name, one]) => [name, this.#toCompleter(one)])),
      list:
        list &&
        (async (ctx: Context) => (await this.#runner.run<Awaited<ReturnType<typeof list>>>(ctx, list, [])).resources),
    };
  }

  readonly #toCompleter = (complete: Complete): Completers[string] => {
    return (value, ctx, others) => this.#runner.run(ctx, complete, [value, { arguments: others }]);
  };

  connect(transport: CompatTransport | StdioServerTransport): Promise<void> {
    return this.server.connect(transport);
  }

  isConnected(): boolean {
    return this.server.transport !== undefined;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  sendLoggingMessage(
    message: { readonly level: LoggingLevel; readonly data?: unknown; readonly logger?: string },
    _sessionId?: string,
  ): Promise<void> {
    return this.server.sendLoggingMessage(message);
  }

  sendToolListChanged(): void {
    this.bowline.changes.toolsChanged();
  }

  sendPromptListChanged(): void {
    this.bowline.changes.promptsChanged();
  }

  sendResourceListChanged(): void {
    this.bowline.changes.resourcesChanged();
  }
}

interface ToolParts
  extends Omit<CompatToolOptions<SchemaOrShape | undefined, SchemaOrShape | undefined>, "inputSchema"> {
  readonly name: string;
  readonly paramsSchema: SchemaOrShape | undefined;
  readonly task?: "required" | "optional";
  readonly callback: unknown;
}

interface PromptParts extends CompatPromptOptions<SchemaOrShape | undefined> {
  readonly name: string;
  readonly callback: unknown;
}

interface ResourceParts {
  readonly name: string;
  readonly title?: string;
  readonly uri?: string;
  readonly template?: ResourceTemplate;
  readonly metadata: CompatResourceOptions;
  readonly callback: unknown;
}

/** Parses the arguments of an overloaded method of version 1: a description, up to two objects, and the handler. */
function readOverload(rest: readonly unknown[]) {
  const handler = rest.at(-1) as (...args: unknown[]) => never;
  const description = typeof rest[0] === "string" ? rest[0] : undefined;
  const objects = rest.slice(description === undefined ? 0 : 1, -1) as readonly (object | undefined)[];
  return { description, objects, handler };
}

/** Returns the annotations that the protocol has. */
function knownHints({ title, ...hints }: ToolAnnotations): ToolAnnotations {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = hints;
  return defined<ToolAnnotations>({ title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint });
}

/** True for a schema, and for an object whose members are all schemas. An empty object is a shape without members. */
function isShape(given: object): given is Shape {
  return isSchema(given) || Object.values(given).every(isSchema);
}
