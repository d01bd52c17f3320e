import { findParamHeaders, type ParamHeader } from "../http/param-headers.js";
import { INTERNAL_ERROR } from "../jsonrpc/error-codes.js";
import { DefinitionError, RpcError, ToolError } from "../schema/errors.js";
import type { JsonSchemaValidator, SchemaIssue } from "../schema/json-schema/validator.js";
import { type AnySchema, compileSchema, type InputOf, type OutputOf, type UsableSchema } from "../schema/standard.js";
import type {
  CallToolResult,
  ContentBlock,
  Icon,
  InputRequiredResult,
  JsonObject,
  Tool,
  ToolAnnotations,
} from "../schema/types.js";
import { isContentBlock, text } from "./content.js";
import type { Context } from "./context.js";

export interface ToolOptions<I extends AnySchema | undefined = undefined, O extends AnySchema | undefined = undefined> {
  readonly title?: string;
  readonly description?: string;
  /** The arguments: a Standard Schema or a JSON Schema of an object. */
  readonly input?: I;
  /** The structured result; the handler's return type is checked against it. */
  readonly output?: O;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  readonly meta?: JsonObject;
}

/** What a tool may return: with an output schema its value, otherwise anything that can be shown. */
export type ToolReturn<O> = ToolResult | InputRequiredResult | (O extends AnySchema ? InputOf<O> : unknown);

export type ToolArguments<I> = I extends AnySchema ? OutputOf<I> : Record<string, unknown>;

export type ToolHandler<I, O> = (args: ToolArguments<I>, ctx: Context) => ToolReturn<O> | Promise<ToolReturn<O>>;

/** A result that an author put together by hand. Made by `toolResult`. */
export class ToolResult {
  constructor(readonly result: CallToolResult) {}
}

/** A result with content of the author's own beside, or instead of, a structured value. */
export function toolResult(result: Omit<CallToolResult, "content"> & { content?: ContentBlock[] }): ToolResult {
  return new ToolResult({ ...result, content: result.content ?? [] } as CallToolResult);
}

export interface RunningToolOptions {
  readonly validator: JsonSchemaValidator | undefined;
  readonly maskErrors: boolean;
  readonly report: (error: unknown, tool: string) => void;
}

/** A tool, compiled: schemas converted, headers found, listing made. */
export class RegisteredTool {
  readonly listing: Tool;
  readonly paramHeaders: readonly ParamHeader[];
  readonly #input: UsableSchema | undefined;
  readonly #output: UsableSchema | undefined;
  readonly #handler: ToolHandler<AnySchema, AnySchema>;
  readonly #running: RunningToolOptions;

  constructor(
    name: string,
    options: ToolOptions<AnySchema, AnySchema>,
    handler: ToolHandler<AnySchema, AnySchema>,
    running: RunningToolOptions,
  ) {
    const where = `tool "${name}"`;
    if (!/^[A-Za-z0-9_.-]{1,128}$/.test(name)) {
      throw new DefinitionError(`${where}: a name has 1-128 of the characters A-Z a-z 0-9 _ - .`);
    }
    const { input, output } = options;
    this.#input = input === undefined ? undefined : compileSchema(input, `${where} input`, "input", running.validator);
    this.#output =
      output === undefined ? undefined : compileSchema(output, `${where} output`, "output", running.validator);
    this.#handler = handler;
    this.#running = running;
    this.listing = toListing(name, options, this.#input, this.#output);
    this.paramHeaders = paramHeadersOf(where, this.listing);
  }

  /** Runs the tool. What the model can mend comes back as a result with `isError`. */
  async call(args: unknown, ctx: Context): Promise<CallToolResult | InputRequiredResult> {
    let value: unknown;
    try {
      const parsed = this.#input === undefined ? undefined : await this.#input.parse(args ?? {});
      if (parsed?.ok === false)
        return failed(`Invalid arguments for tool ${this.listing.name}: ${describe(parsed.issues)}`);
      value = await this.#handler((parsed === undefined ? (args ?? {}) : parsed.value) as never, ctx);
    } catch (error) {
      return this.#toFailure(error, ctx);
    }
    // What cannot be written is a defect of the server that a model cannot mend.
    return this.#toResult(value);
  }

  async #toResult(value: unknown): Promise<CallToolResult | InputRequiredResult> {
    if (value instanceof ToolResult) return value.result;
    if (isInputRequired(value)) return value;
    if (this.#output === undefined) return toContent(value);
    const parsed = await this.#output.parse(value);
    if (parsed.ok) return structured(parsed.value);
    const problem = `Tool ${this.listing.name} returned a value that does not match its output schema: ${describe(parsed.issues)}`;
    this.#running.report(new DefinitionError(problem), this.listing.name);
    return failed(this.#running.maskErrors ? "The tool failed" : problem);
  }

  #toFailure(error: unknown, ctx: Context): CallToolResult {
    const deliberate = error instanceof RpcError || (error instanceof Error && error.name === "Suspended");
    if (deliberate || ctx.signal.aborted) throw error;
    if (error instanceof ToolError) return failed(error.message);
    this.#running.report(error, this.listing.name);
    if (this.#running.maskErrors) return failed("The tool failed");
    return failed(error instanceof Error ? error.message : String(error));
  }
}

function toListing(
  name: string,
  options: ToolOptions<AnySchema, AnySchema>,
  input: UsableSchema | undefined,
  output: UsableSchema | undefined,
): Tool {
  const { title, description, annotations, icons, meta } = options;
  return {
    name,
    ...(title === undefined ? undefined : { title }),
    ...(description === undefined ? undefined : { description }),
    inputSchema: (input?.jsonSchema ?? { type: "object" }) as Tool["inputSchema"],
    ...(output === undefined ? undefined : { outputSchema: output.jsonSchema as NonNullable<Tool["outputSchema"]> }),
    ...(annotations === undefined ? undefined : { annotations }),
    ...(icons === undefined ? undefined : { icons: [...icons] }),
    ...(meta === undefined ? undefined : { _meta: meta }),
  };
}

function paramHeadersOf(where: string, listing: Tool): readonly ParamHeader[] {
  const found = findParamHeaders(listing.inputSchema);
  if (!found.ok) throw new DefinitionError(`${where} input: ${found.reason}`);
  return found.headers;
}

function isInputRequired(value: unknown): value is InputRequiredResult {
  return (
    typeof value === "object" && value !== null && (value as { resultType?: unknown }).resultType === "input_required"
  );
}

/** Derives what a client shows from what a handler returned. */
function toContent(value: unknown): CallToolResult {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string") return { content: [text(value)] };
  if (isContentBlock(value)) return { content: [value] };
  if (Array.isArray(value) && value.length > 0 && value.every(isContentBlock)) return { content: value };
  const { content } = value as { content?: unknown };
  if (Array.isArray(content) && content.every(isContentBlock)) return value as CallToolResult;
  return structured(value);
}

function structured(value: unknown): CallToolResult {
  const written = JSON.stringify(value);
  if (written === undefined) throw new RpcError(INTERNAL_ERROR, "Internal error");
  return { content: [text(typeof value === "string" ? value : written)], structuredContent: value as JsonObject };
}

function failed(message: string): CallToolResult {
  return { content: [text(message)], isError: true };
}

function describe(issues: readonly SchemaIssue[]): string {
  return issues.map(({ path, message }) => `${path || "/"} ${message}`).join("; ");
}
