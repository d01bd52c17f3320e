import type { CallLifetime } from "../call/lifetime.js";
import type { Connection } from "../era/client-era.js";
import type { ClientLimits } from "../era/client-limits.js";
import { findParamHeaders, type ParamHeader } from "../http/param-headers.js";
import { OutputError, toError } from "../protocol/errors.js";
import { dropOldest } from "../protocol/oldest.js";
import type { CallToolResult, Tool } from "../protocol/types/index.js";
import type { CompiledSchema, JsonSchema, JsonSchemaValidator } from "../schema/json-schema/types.js";
import { Pages } from "./pages.js";

interface KnownOutput {
  readonly text: string;
  readonly schema: JsonSchema;
  /** Compiled schema, or the reason why it cannot be compiled. */
  check: CompiledSchema | string | undefined;
}

/**
 * Tools that a client has listed: their output schemas, compiled on first use, and the arguments that are mirrored into
 * headers. Sends no request, except in `relearnHeaders`.
 */
export class KnownTools {
  readonly #limits: ClientLimits;
  readonly #outputs = new Map<string, KnownOutput>();
  readonly #headers = new Map<string, readonly ParamHeader[]>();
  /** Total length of all output schemas. */
  #chars = 0;
  readonly #loadValidator: () => JsonSchemaValidator | Promise<JsonSchemaValidator>;
  readonly #warn: (message: string) => void;

  constructor(
    limits: ClientLimits,
    loadValidator: () => JsonSchemaValidator | Promise<JsonSchemaValidator>,
    warn: (message: string) => void,
  ) {
    this.#limits = limits;
    this.#loadValidator = loadValidator;
    this.#warn = warn;
  }

  /** Stores a listed tool, with `withHeaders` also its header annotations. Returns false if those are invalid. */
  learn(tool: Tool, withHeaders: boolean): boolean {
    this.#learnOutput(tool);
    return !withHeaders || this.#learnHeaders(tool);
  }

  /** Clears the header annotations, before those of a complete list are stored. */
  forgetHeaders(): void {
    this.#headers.clear();
  }

  /** Lists all tools again for their header annotations. */
  async relearnHeaders(connection: Connection, lifetime: CallLifetime): Promise<void> {
    const tools = new Pages<Tool>(
      "tools",
      (params) => connection.call({ method: "tools/list", params }, lifetime),
      this.#limits,
    );
    for await (const tool of tools) this.#learnHeaders(tool);
  }

  /** Returns the arguments of a tool that are mirrored into headers, if it was listed and has any. */
  readonly paramHeaders = (tool: string): readonly ParamHeader[] | undefined => this.#headers.get(tool);

  /**
   * Rejects with an `OutputError` if a result does not match the output schema of its tool. Returns undefined if there
   * is no schema or the call failed.
   */
  assertFits(tool: string, result: CallToolResult): void | Promise<void> {
    const known = this.#outputs.get(tool);
    if (known !== undefined && result.isError !== true) return this.#assertFits(known, tool, result);
  }

  async #assertFits(known: KnownOutput, tool: string, result: CallToolResult): Promise<void> {
    if (result.structuredContent === undefined) {
      throw new OutputError(tool, [{ path: "", message: "is missing" }], result);
    }
    known.check ??= compile(await this.#loadValidator(), known.schema, (problem) =>
      this.#warn(`tool ${tool}: its output is not checked against ${problem}`),
    );
    if (typeof known.check === "string") {
      const problem = `cannot be checked: its output schema is invalid: ${known.check}`;
      throw new OutputError(tool, [{ path: "", message: problem }], result, problem);
    }
    const issues = known.check(result.structuredContent);
    if (issues.length > 0) throw new OutputError(tool, issues, result);
  }

  /** Stores the output schema of a tool. An unchanged schema stays compiled. */
  #learnOutput(tool: Tool): void {
    const before = this.#outputs.get(tool.name);
    this.#forgetOutput(tool.name);
    if (tool.outputSchema === undefined) return;
    const text = textOf(tool.outputSchema);
    const same = before?.text === text ? before : undefined;
    this.#outputs.set(tool.name, same ?? { text, schema: tool.outputSchema, check: undefined });
    this.#chars += text.length;
    for (const oldest of this.#outputs.keys()) {
      if (this.#outputs.size <= this.#limits.maxTools && this.#chars <= this.#limits.maxSchemaChars) break;
      this.#forgetOutput(oldest);
    }
  }

  #forgetOutput(tool: string): void {
    this.#chars -= this.#outputs.get(tool)?.text.length ?? 0;
    this.#outputs.delete(tool);
  }

  /** Stores the header annotations of a tool, if it has any. Returns false if they are invalid. */
  #learnHeaders({ name, inputSchema }: Tool): boolean {
    const found = findParamHeaders(inputSchema);
    this.#headers.delete(name);
    if (!found.ok) this.#warn(`tool ${name} is omitted: ${found.reason}`);
    else if (found.headers.length > 0) this.#headers.set(name, found.headers);
    dropOldest(this.#headers, this.#limits.maxTools);
    return found.ok;
  }
}

/** Returns the JSON of a schema, or "" if it is nested too deeply. Compiling it fails then. */
function textOf(schema: JsonSchema): string {
  try {
    return JSON.stringify(schema);
  } catch {
    return "";
  }
}

/** Compiles a schema. Returns the reason if that fails: no result matches then, since accepting all would hide it. */
function compile(
  validator: JsonSchemaValidator,
  schema: JsonSchema,
  onSkip: (problem: string) => void,
): CompiledSchema | string {
  try {
    return validator.compile(schema, onSkip);
  } catch (error) {
    return toError(error).message;
  }
}
