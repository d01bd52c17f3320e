import type { CallLifetime } from "../call/lifetime.js";
import type { Connection } from "../era/client-era.js";
import type { ClientLimits } from "../era/client-limits.js";
import { findParamHeaders, type ParamHeader } from "../http/param-headers.js";
import { OutputError } from "../protocol/errors.js";
import type { CallToolResult, Tool } from "../protocol/types/index.js";
import type { CompiledSchema, JsonSchema, JsonSchemaValidator } from "../schema/json-schema/types.js";
import { Pages } from "./pages.js";

interface KnownOutput {
  readonly text: string;
  readonly schema: JsonSchema;
  check: CompiledSchema | undefined;
}

/**
 * The tools that a client has listed: their output schemas, compiled when first needed and only then, and which of their
 * arguments travel in headers. Nothing is ever fetched to find out.
 */
export class KnownTools {
  readonly #limits: ClientLimits;
  readonly #outputs = new Map<string, KnownOutput>();
  readonly #headers = new Map<string, readonly ParamHeader[]>();
  /** The size of all output schemas. */
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

  /** Takes in a listed tool; `withHeaders`, also its headers. Tells whether those make sense. */
  learn(tool: Tool, withHeaders: boolean): boolean {
    this.#learnOutput(tool);
    return !withHeaders || this.#learnHeaders(tool);
  }

  /** All tools are about to be learnt: the headers of others are gone. */
  forgetHeaders(): void {
    this.#headers.clear();
  }

  /** Lists all tools anew, for their headers. */
  async relearnHeaders(connection: Connection, lifetime: CallLifetime): Promise<void> {
    const tools = new Pages<Tool>(
      "tools",
      (params) => connection.call({ method: "tools/list", params }, lifetime),
      this.#limits,
    );
    for await (const tool of tools) this.#learnHeaders(tool);
  }

  /** Which arguments of a tool travel in headers, where it was listed and any do. */
  readonly paramHeaders = (tool: string): readonly ParamHeader[] | undefined => this.#headers.get(tool);

  /**
   * Throws an `OutputError` when a result does not fit the listed schema of its tool. A failed call is left alone. A promise
   * only where there is a schema.
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
      this.#warn(`tool ${tool}: its output is checked without ${problem}`),
    );
    const issues = known.check(result.structuredContent);
    if (issues.length > 0) throw new OutputError(tool, issues, result);
  }

  /** An unchanged schema keeps its compiled form. */
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

  /** Most tools have no headers, and are not worth remembering. */
  #learnHeaders({ name, inputSchema }: Tool): boolean {
    const found = findParamHeaders(inputSchema);
    this.#headers.delete(name);
    if (!found.ok) this.#warn(`tool ${name} is left out: ${found.reason}`);
    else if (found.headers.length > 0) this.#headers.set(name, found.headers);
    const [oldest] = this.#headers.keys();
    if (this.#headers.size > this.#limits.maxTools && oldest !== undefined) this.#headers.delete(oldest);
    return found.ok;
  }
}

/** Nothing for a schema that is nested too deeply to be written; compiling it will say so. */
function textOf(schema: JsonSchema): string {
  try {
    return JSON.stringify(schema);
  } catch {
    return "";
  }
}

/** A schema that cannot be used fits nothing: accepting everything instead would be a promise not kept. */
function compile(
  validator: JsonSchemaValidator,
  schema: JsonSchema,
  onSkip: (problem: string) => void,
): CompiledSchema {
  try {
    return validator.compile(schema, onSkip);
  } catch (error) {
    const message = `cannot be checked: ${error instanceof Error ? error.message : String(error)}`;
    return () => [{ path: "", message }];
  }
}
