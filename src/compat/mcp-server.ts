import { runInCall } from "../node/current-call.js";
import { defined } from "../protocol/json.js";
import type {
  Annotations,
  CallToolResult,
  GetPromptResult,
  Icon,
  JsonObject,
  LoggingLevel,
  ReadResourceResult,
  ToolAnnotations,
} from "../protocol/types/index.js";
import { isStandardSchema } from "../schema/standard-schema.js";
import type { Context } from "../server/context.js";
import type { Completers } from "../server/definitions/completion.js";
import { toolResult } from "../server/definitions/tool-result.js";
import type { Server as BowlineServer } from "../server/server.js";
import { type HandlerExtra, toExtra, withErrors } from "./extra.js";
import { CompatLowLevel, type CompatTransport, type StdioServerTransport } from "./low-level.js";
import { type SchemaOrShape, type Shape, toObjectSchema, type ValuesOf } from "./shape.js";

type Handler<S, R> = S extends SchemaOrShape
  ? (args: ValuesOf<S>, extra: HandlerExtra) => R | Promise<R>
  : (extra: HandlerExtra) => R | Promise<R>;

/** Options of `registerTool`. */
export interface CompatToolOptions<I extends SchemaOrShape | undefined, O extends SchemaOrShape | undefined> {
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema?: I;
  readonly outputSchema?: O;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly _meta?: JsonObject;
}

/** Options of `registerPrompt`. */
export interface CompatPromptOptions<A extends SchemaOrShape | undefined> {
  readonly title?: string;
  readonly description?: string;
  readonly argsSchema?: A;
  readonly icons?: readonly Icon[];
  readonly _meta?: JsonObject;
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

/** Handle of a registered tool, prompt or resource. */
export interface CompatRegistration {
  readonly enabled: boolean;
  enable(): void;
  disable(): void;
  remove(): void;
}

type Complete = (
  value: string,
  context?: { readonly arguments?: Readonly<Record<string, string>> },
) => readonly string[] | Promise<readonly string[]>;

/** URI template with its list and its completions. */
export class ResourceTemplate {
  readonly uriTemplate: string;
  readonly callbacks: {
    readonly list?:
      | ((
          extra: HandlerExtra,
        ) => { resources: readonly { uri: string }[] } | Promise<{ resources: readonly { uri: string }[] }>)
      | undefined;
    readonly complete?: { readonly [variable: string]: Complete };
  };

  constructor(uriTemplate: string | { toString(): string }, callbacks: ResourceTemplate["callbacks"] = {}) {
    this.uriTemplate = String(uriTemplate);
    this.callbacks = callbacks;
  }
}

const COMPLETABLE = Symbol.for("mcp.completable");

/** Adds completions to the schema of a prompt's argument. */
export function completable<S extends object>(schema: S, complete: Complete): S {
  Object.defineProperty(schema, COMPLETABLE, { value: { complete } });
  return schema;
}

/**
 * `McpServer` of the official SDK on a Bowline server, for programs that migrate: `registerTool`, `registerPrompt` and
 * `registerResource` with unchanged handlers. Bowline's own definitions can be added through `bowline`.
 */
export class CompatServer {
  /** Low-level server. */
  readonly server: CompatLowLevel;
  /** Bowline server, for `serveHttp`, `toNodeListener` and other hosts. */
  readonly bowline: BowlineServer;

  constructor(bowline: BowlineServer) {
    this.bowline = bowline;
    this.server = new CompatLowLevel(bowline);
  }

  registerTool<I extends SchemaOrShape | undefined = undefined, O extends SchemaOrShape | undefined = undefined>(
    name: string,
    options: CompatToolOptions<I, O>,
    handler: Handler<I, Omit<CallToolResult, "content"> & { content?: CallToolResult["content"] }>,
  ): CompatRegistration {
    const { inputSchema, outputSchema, _meta: meta, ...shown } = options;
    const input = inputSchema && toObjectSchema(inputSchema);
    const output = outputSchema && toObjectSchema(outputSchema);
    this.bowline.tool(name, defined({ ...shown, input, output, meta }), async (args: unknown, ctx: Context) =>
      toolResult(await withErrors(() => run<CallToolResult>(handler, inputSchema && [args], ctx), true)),
    );
    return this.bowline.edit.tool(name);
  }

  registerPrompt<A extends SchemaOrShape | undefined = undefined>(
    name: string,
    options: CompatPromptOptions<A>,
    handler: Handler<A, GetPromptResult>,
  ): CompatRegistration {
    const { argsSchema, _meta: meta, ...shown } = options;
    const details = argsSchema && { arguments: toObjectSchema(argsSchema), complete: completersOf(argsSchema) };
    this.bowline.prompt(name, defined({ ...shown, ...details, meta }), (args: unknown, ctx: Context) =>
      withErrors(() => run<GetPromptResult>(handler, argsSchema && [args], ctx)),
    );
    return this.bowline.edit.prompt(name);
  }

  registerResource(
    name: string,
    uri: string,
    options: CompatResourceOptions,
    handler: (uri: URL, extra: HandlerExtra) => ReadResourceResult | Promise<ReadResourceResult>,
  ): CompatRegistration;
  registerResource(
    name: string,
    template: ResourceTemplate,
    options: CompatResourceOptions,
    handler: (
      uri: URL,
      variables: Record<string, string | string[]>,
      extra: HandlerExtra,
    ) => ReadResourceResult | Promise<ReadResourceResult>,
  ): CompatRegistration;
  registerResource(
    name: string,
    where: string | ResourceTemplate,
    options: CompatResourceOptions,
    handler: unknown,
  ): CompatRegistration {
    const { _meta: meta, ...shown } = options;
    const isTemplate = where instanceof ResourceTemplate;
    const uri = isTemplate ? where.uriTemplate : where;
    const live = isTemplate ? liveParts(where) : {};
    this.bowline.resource(
      uri,
      defined({ name, ...shown, meta, ...live }),
      (variables: unknown, ctx: Context, read: string) =>
        withErrors(() =>
          run<ReadResourceResult>(handler, isTemplate ? [new URL(read), variables] : [new URL(read)], ctx),
        ),
    );
    return this.bowline.edit.resource(uri);
  }

  /** @deprecated in the official SDK: use `registerTool`. Takes `name, description?, shape?, annotations?, handler`. */
  tool(name: string, ...rest: readonly unknown[]): CompatRegistration {
    const { description, objects, handler } = readOverload(rest);
    const [first, second] = objects;
    const [inputSchema, annotations] = first !== undefined && isShape(first) ? [first, second] : [undefined, first];
    return this.registerTool<Shape | undefined>(name, defined({ description, inputSchema, annotations }), handler);
  }

  /** @deprecated in the official SDK: use `registerPrompt`. Takes `name, description?, shape?, handler`. */
  prompt(name: string, ...rest: readonly unknown[]): CompatRegistration {
    const { description, objects, handler } = readOverload(rest);
    return this.registerPrompt(name, defined({ description, argsSchema: objects[0] as Shape | undefined }), handler);
  }

  /** @deprecated in the official SDK: use `registerResource`. Takes `name, uri or template, options?, handler`. */
  resource(name: string, where: string | ResourceTemplate, ...rest: readonly unknown[]): CompatRegistration {
    const { objects, handler } = readOverload(rest);
    return this.registerResource(name, where as string, objects[0] ?? {}, handler);
  }

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

/** Runs a handler with its arguments followed by `extra`. A handler without a schema gets `extra` only. */
function run<R>(handler: unknown, args: readonly unknown[] | undefined, ctx: Context): Promise<R> {
  const call = handler as (...args: unknown[]) => Promise<R>;
  return runInCall(ctx, () => call(...(args ?? []), toExtra(ctx)));
}

/** Reads the arguments of an overloaded method of version 1: a description, up to two objects, the handler. */
function readOverload(rest: readonly unknown[]) {
  const handler = rest.at(-1) as (...args: unknown[]) => never;
  const description = typeof rest[0] === "string" ? rest[0] : undefined;
  const objects = rest.slice(description === undefined ? 0 : 1, -1) as readonly (object | undefined)[];
  return { description, objects, handler };
}

/** True if an object holds schemas. An empty object is a shape without members. */
function isShape(given: object): given is Shape {
  return isStandardSchema(given) || Object.values(given).every(isStandardSchema);
}

function liveParts({ callbacks }: ResourceTemplate) {
  const { list, complete = {} } = callbacks;
  return {
    complete: Object.fromEntries(Object.entries(complete).map(([name, one]) => [name, toCompleter(one)])),
    ...(list && { list: async (ctx: Context) => (await runInCall(ctx, () => list(toExtra(ctx)))).resources }),
  };
}

/** Collects the completions that {@link completable} added to the members of a shape, or of a zod object. */
function completersOf(schema: SchemaOrShape): Completers {
  const members = Object.entries(("shape" in schema ? schema.shape : schema) as Record<string, object>);
  const found = members.flatMap(([name, member]) => {
    const added = (member as { [COMPLETABLE]?: { complete: Complete } } | undefined)?.[COMPLETABLE as never] as
      | { complete: Complete }
      | undefined;
    return added === undefined ? [] : [[name, toCompleter(added.complete)] as const];
  });
  return Object.fromEntries(found);
}

const toCompleter =
  (complete: Complete): Completers[string] =>
  (value, _ctx, others) =>
    complete(value, { arguments: others });
