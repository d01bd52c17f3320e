import type { Clock } from "../../call/clock.js";
import { andThen, isThenable, type MaybePromise } from "../../call/maybe-promise.js";
import { findParamHeaders, type ParamHeader } from "../../http/param-headers.js";
import { DefinitionError, HandlerSuspended, RpcError, ToolError } from "../../protocol/errors.js";
import { defined } from "../../protocol/json.js";
import { assertOpen, type Known } from "../../protocol/known-options.js";
import { describeIssues } from "../../protocol/text.js";
import type {
  CallToolResult,
  Icon,
  InputRequiredResult,
  JsonObject,
  Tool,
  ToolAnnotations,
  ToolExecution,
} from "../../protocol/types/index.js";
import {
  type AnySchema,
  compileSchema,
  type InputOf,
  type OutputOf,
  type ParseOutcome,
  type UsableSchema,
} from "../../schema/compile.js";
import type { JsonSchema, JsonSchemaValidator, SchemaCompiler, SchemaIssue } from "../../schema/json-schema/types.js";
import type { Admission } from "../admission.js";
import type { Context } from "../context.js";
import { type Access, type AccessOptions, toAccess } from "./access.js";
import { LISTED_OPTIONS } from "./listed.js";
import { createLimit, type Limit } from "./tool-limits.js";
import {
  contentProblem,
  drain,
  failed,
  isGenerator,
  isInputRequired,
  mirrored,
  nonconforming,
  type PlainToolResult,
  resultOf,
  schemaThrew,
  structured,
  type ToolResult,
  toContent,
  toldOf,
  unwritable,
} from "./tool-result.js";

/** Options of a tool. */
export interface ToolOptions<I extends AnySchema | undefined = undefined, O extends AnySchema | undefined = undefined>
  extends AccessOptions {
  /**
   * Name for people, in menus and dialogs of hosts.
   *
   * @example
   * ```ts
   * server.tool("forecast", { title: "Weather forecast" }, () => "Cold");
   * ```
   */
  readonly title?: string | undefined;
  /**
   * What the tool does and when to use it, for the model that chooses a tool.
   *
   * @example
   * ```ts
   * server.tool("forecast", { description: "Forecasts the weather at the server's place for today." }, () => "Cold");
   * ```
   */
  readonly description?: string | undefined;
  /**
   * Schema of the arguments: a Standard Schema, or a JSON Schema of an object. Without it the tool accepts no
   * arguments.
   */
  readonly input?: I | undefined;
  /** Schema of the structured result. The handler's return value must match it, in its type and at run time. */
  readonly output?: O | undefined;
  /**
   * Hints for hosts, for example which tools they may run without asking the user. They are not guarantees.
   *
   * @example
   * ```ts
   * server.tool("list", { annotations: { readOnlyHint: true } }, () => ["a", "b"]);
   * server.tool("wipe", { annotations: { destructiveHint: true, idempotentHint: true } }, () => "empty");
   * ```
   */
  readonly annotations?: ToolAnnotations | undefined;
  /** Icons for menus of hosts. */
  readonly icons?: readonly Icon[] | undefined;
  /** `_meta` of the tool in listings. */
  readonly meta?: JsonObject | undefined;
  /** Allows or requires that calls run as tasks. Has an effect with `tasks()` of `bowline/tasks/server`. */
  readonly task?: ToolTask | undefined;
  /**
   * Maximum time of a handler, including the time that it waits for the client. After that its signal aborts and the
   * call fails.
   */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of calls that run at a time. Further calls wait. */
  readonly concurrency?: number | undefined;
  /**
   * Maximum number of waiting calls. Further calls are refused.
   * @default twice `concurrency`
   */
  readonly maxWaiting?: number | undefined;
  /**
   * Compiles the JSON Schemas of this tool.
   * @default the validator of the server
   */
  readonly validator?: JsonSchemaValidator | undefined;
}

const TASK_SUPPORT: readonly TaskSupport[] = ["optional", "required"];

const TOOL_TASK: Known<ToolTaskOptions> = {
  support: [{ string: TASK_SUPPORT }],
  promoteAfterMs: "ms",
  restartable: "boolean",
  attempts: "positive",
  ttlMs: [{ number: "positive limit", null: "any" }],
};

export const TOOL_OPTIONS: Known<AnyToolOptions> = {
  ...LISTED_OPTIONS,
  input: "any",
  output: "any",
  annotations: [{ object: "any" }],
  task: [{ string: TASK_SUPPORT, object: TOOL_TASK }],
  timeoutMs: "period",
  concurrency: "positive",
  maxWaiting: "limit",
  validator: "object",
};

/** A proxy passes annotations of other servers on, which may have members of later versions. */
const ANNOTATIONS: Known<ToolAnnotations> = {
  title: "string",
  readOnlyHint: "boolean",
  destructiveHint: "boolean",
  idempotentHint: "boolean",
  openWorldHint: "boolean",
};

/** Way in which a tool runs as a task. A word means `{ support: word }`. */
export type ToolTask = TaskSupport | ToolTaskOptions;

type TaskSupport = Exclude<NonNullable<ToolExecution["taskSupport"]>, "forbidden">;

export interface ToolTaskOptions {
  /**
   * `required` refuses clients without support for tasks. `optional` gives them the ordinary result.
   * @default "optional"
   */
  readonly support?: TaskSupport | undefined;
  /**
   * Time after which a call becomes a task. A call that ends earlier has the ordinary result, and its questions are asked
   * in the ordinary way.
   * @default no time: a task is created at once
   */
  readonly promoteAfterMs?: number | undefined;
  /**
   * True if the handler may run again after its process was lost. Steps that were completed are not repeated.
   * @default false
   */
  readonly restartable?: boolean | undefined;
  /**
   * Maximum number of processes that a task may lose. Then it fails.
   * @default 3
   */
  readonly attempts?: number | undefined;
  /**
   * Life of a task from its creation. Null means no end.
   * @default `ttlMs` of `tasks()`
   */
  readonly ttlMs?: number | null | undefined;
}

type OneReturn<O> =
  | ToolResult
  | InputRequiredResult
  | (O extends AnySchema ? InputOf<O> | PlainToolResult<InputOf<O>> : unknown);

/**
 * Return value of a tool handler: with an output schema a value that matches it, otherwise any JSON value or content.
 * Values that an async generator yields are sent as progress.
 */
// Not distributive: while `O` is being inferred it is `never`, and the handler must then be free to return anything.
export type ToolReturn<O> = [O] extends [undefined]
  ? unknown
  : OneReturn<O> | AsyncGenerator<unknown, OneReturn<O>, void>;

export type ToolArguments<I> = I extends AnySchema ? OutputOf<I> : Record<string, never>;

export type ToolHandler<I, O> = (args: ToolArguments<I>, ctx: Context) => ToolReturn<O> | Promise<ToolReturn<O>>;

export type AnyToolOptions = ToolOptions<AnySchema, AnySchema>;
export type AnyToolHandler = ToolHandler<AnySchema, AnySchema>;

/** Parts of the server that a tool uses. */
export interface RunningToolOptions {
  readonly validator: SchemaCompiler | undefined;
  readonly maskErrors: boolean;
  readonly clock: Clock;
  readonly admission: Admission;
  readonly report: (error: unknown, tool: string) => void;
  readonly warn: (message: string) => void;
  /** Called for a tool whose arguments are mirrored into HTTP headers. */
  readonly onParamHeaders: () => void;
}

type ToolAnswer = CallToolResult | InputRequiredResult;

/** Input schema of a tool without arguments. */
const NO_INPUT = { type: "object", properties: {}, additionalProperties: false } as const;
const NO_ARGUMENTS: Readonly<Record<string, never>> = Object.freeze({});

/** Compiled definition of a tool. */
export class RegisteredTool {
  readonly listing: Tool;
  readonly access: Access | undefined;
  readonly paramHeaders: readonly ParamHeader[];
  readonly #input: UsableSchema | undefined;
  readonly #output: UsableSchema | undefined;
  readonly #limit: Limit | undefined;
  readonly #running: RunningToolOptions;

  constructor(
    name: string,
    readonly options: AnyToolOptions,
    readonly handler: AnyToolHandler,
    running: RunningToolOptions,
  ) {
    const where = `tool "${name}"`;
    const { input, output, timeoutMs, concurrency, maxWaiting, validator = running.validator } = options;
    adviseOnName(name, running.warn);
    if (options.annotations !== undefined) assertOpen(where, "annotations", options.annotations, ANNOTATIONS);
    if (maxWaiting !== undefined && concurrency === undefined)
      throw new DefinitionError(`${where}: maxWaiting requires concurrency`);
    this.#input = input === undefined ? undefined : compileSchema(input, `${where} input`, "input", validator);
    this.#output = output === undefined ? undefined : compileSchema(output, `${where} output`, "output", validator);
    if ((timeoutMs ?? concurrency) !== undefined)
      this.#limit = createLimit(name, options, running.clock, running.admission);
    this.#running = running;
    this.access = toAccess(options);
    this.listing = toListing(name, options, this.#input, this.#output);
    this.paramHeaders = assertParamHeaders(where, this.listing);
    if (this.paramHeaders.length > 0) running.onParamHeaders();
  }

  /**
   * Checks the arguments, runs the handler and creates the result. Invalid arguments and errors of the handler become
   * results with `isError`. Throws an `RpcError`, a suspension, each error after the call was aborted, and an error for
   * a value that JSON cannot represent.
   */
  call(args: unknown, ctx: Context): MaybePromise<ToolAnswer> {
    let value: unknown;
    try {
      const parsed = this.#parse(this.#input, args ?? NO_ARGUMENTS, "input");
      if (parsed instanceof Promise) return this.#callAsync(parsed, ctx);
      if (!parsed.ok) return this.#invalid(parsed.issues);
      value = this.#run(parsed.value, ctx);
    } catch (error) {
      return this.#toFailure(error, ctx);
    }
    if (typeof value !== "object" || !isThenable(value)) return this.#finish(value, ctx);
    return Promise.resolve(value).then(
      (value) => this.#finish(value, ctx),
      (error: unknown) => this.#toFailure(error, ctx),
    );
  }

  /** Same as `call` for an asynchronous input schema. Does not run the handler if the call ends during validation. */
  async #callAsync(parsing: Promise<ParseOutcome>, ctx: Context): Promise<ToolAnswer> {
    let value: unknown;
    try {
      const parsed = await parsing;
      if (ctx.aborted) throw ctx.signal.reason;
      if (!parsed.ok) return this.#invalid(parsed.issues);
      value = await this.#run(parsed.value, ctx);
    } catch (error) {
      return this.#toFailure(error, ctx);
    }
    return this.#finish(value, ctx);
  }

  #run(args: unknown, ctx: Context): unknown {
    return this.#limit === undefined
      ? this.#handle(args, ctx)
      : this.#limit(ctx, (limited) => this.#handle(args, limited));
  }

  #handle(args: unknown, ctx: Context): unknown {
    const value: unknown = this.handler(args as never, ctx);
    return typeof value === "object" && isGenerator(value) ? drain(value, ctx) : value;
  }

  /** Converts a return value to a result. Asynchronous only if the output schema is. */
  #finish(value: unknown, ctx: Context): MaybePromise<ToolAnswer> {
    // A string without an output schema needs no check.
    if (typeof value === "string" && this.#output === undefined) return { content: [{ type: "text", text: value }] };
    let result: MaybePromise<ToolAnswer>;
    try {
      result = this.#toResult(value);
    } catch (error) {
      return unwritable(this.listing.name, error);
    }
    if (!(result instanceof Promise)) return this.#checked(result, ctx);
    return result.then(
      (result) => this.#checked(result, ctx),
      (error: unknown) => unwritable(this.listing.name, error),
    );
  }

  #checked(result: ToolAnswer, ctx: Context): ToolAnswer {
    const problem = isInputRequired(result) ? undefined : contentProblem(result.content);
    if (problem === undefined) return result;
    return this.#toFailure(new TypeError(`tool ${this.listing.name}: ${problem}`), ctx);
  }

  #toResult(value: unknown): MaybePromise<ToolAnswer> {
    if (isInputRequired(value)) return value;
    const own = resultOf(value, this.#output?.jsonSchema);
    if (own?.isError === true) return own;
    if (this.#output === undefined) return own === undefined ? toContent(value) : mirrored(own);
    return this.#toStructured(value, own);
  }

  #toStructured(value: unknown, own: CallToolResult | undefined): MaybePromise<CallToolResult> {
    const given = own === undefined ? value : own.structuredContent;
    if (given === undefined) return this.#nonconforming("no structuredContent, but has an output schema");
    return andThen(this.#parse(this.#output, given, "output"), (parsed) => this.#conform(parsed, own));
  }

  #conform(parsed: ParseOutcome, own: CallToolResult | undefined): CallToolResult {
    if (!parsed.ok)
      return this.#nonconforming(`a value that does not match its output schema: ${describeIssues(parsed.issues)}`);
    return own === undefined ? structured(parsed.value) : mirrored({ ...own, structuredContent: parsed.value });
  }

  /** Returns a promise only if the schema is asynchronous. */
  #parse(schema: UsableSchema | undefined, value: unknown, what: string): MaybePromise<ParseOutcome> {
    if (schema === undefined) return parseNothing(value as object);
    try {
      const outcome = schema.parse(value);
      return outcome instanceof Promise ? outcome.catch((cause) => this.#schemaThrew(what, cause)) : outcome;
    } catch (cause) {
      return this.#schemaThrew(what, cause);
    }
  }

  #schemaThrew(what: string, cause: unknown): never {
    return schemaThrew(this.listing.name, what, cause, this.#running);
  }

  #nonconforming(problem: string): CallToolResult {
    return nonconforming(this.listing.name, problem, this.#running);
  }

  #invalid(issues: readonly SchemaIssue[]): CallToolResult {
    return failed(`Invalid arguments for tool ${this.listing.name}: ${describeIssues(issues)}`);
  }

  #toFailure(error: unknown, ctx: Context): CallToolResult {
    const deliberate = error instanceof RpcError || error instanceof HandlerSuspended;
    if (deliberate || ctx.aborted) throw error;
    if (error instanceof ToolError) return failed(error.message);
    this.#running.report(error, this.listing.name);
    if (this.#running.maskErrors) return failed("The tool failed");
    return failed(toldOf(error));
  }
}

function parseNothing(args: object): ParseOutcome {
  const issues = Object.keys(args).map((key) => ({
    path: `/${key}`,
    message: "is not allowed: the tool takes no arguments",
  }));
  return issues.length === 0 ? { ok: true, value: args } : { ok: false, issues };
}

function adviseOnName(name: string, warn: (message: string) => void): void {
  if (/^[A-Za-z0-9_.-]{1,128}$/.test(name)) return;
  warn(`tool "${name}": some hosts refuse this name; use 1 to 128 of A-Z a-z 0-9 _ - .`);
}

function toListing(
  name: string,
  options: AnyToolOptions,
  input: UsableSchema | undefined,
  output: UsableSchema | undefined,
): Tool {
  const { title, description, annotations, icons, meta, task } = options;
  const taskSupport = typeof task === "object" ? (task.support ?? "optional") : task;
  return defined<Tool>({
    name,
    title,
    description,
    inputSchema: input === undefined ? NO_INPUT : toInputSchema(input.jsonSchema),
    outputSchema: output?.jsonSchema,
    annotations,
    icons: icons && [...icons],
    execution: taskSupport && { taskSupport },
    _meta: meta,
  });
}

/** Adds `properties` to a schema without them. Some hosts read this member without looking whether it is there. */
function toInputSchema(schema: JsonSchema): Tool["inputSchema"] {
  return { ...(schema as Tool["inputSchema"]), properties: schema.properties ?? {} };
}

function assertParamHeaders(where: string, listing: Tool): readonly ParamHeader[] {
  const found = findParamHeaders(listing.inputSchema);
  if (!found.ok) throw new DefinitionError(`${where} input: ${found.reason}`);
  return found.headers;
}
