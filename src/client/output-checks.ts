import { OutputError } from "../protocol/errors.js";
import type { CallToolResult, Tool } from "../protocol/types/index.js";
import type { CompiledSchema, JsonSchema, JsonSchemaValidator } from "../schema/json-schema/types.js";
import { parseStandard, type StandardSchema } from "../schema/standard-schema.js";

interface Known {
  readonly text: string;
  readonly schema: JsonSchema;
  check: CompiledSchema | undefined;
}

/** How many tools are remembered; the one that was listed longest ago goes first. */
const MOST = 1000;

/**
 * What a client knows about the results of tools: the output schemas of those that it listed, compiled when first needed
 * and only then. Nothing is ever fetched to find out.
 */
export class OutputChecks {
  readonly #known = new Map<string, Known>();
  readonly #load: () => JsonSchemaValidator | Promise<JsonSchemaValidator>;

  constructor(load: () => JsonSchemaValidator | Promise<JsonSchemaValidator>) {
    this.#load = load;
  }

  /** Takes in a listed tool. An unchanged schema keeps what was compiled. */
  learn(tool: Tool): void {
    const before = this.#known.get(tool.name);
    this.#known.delete(tool.name);
    if (tool.outputSchema === undefined) return;
    const text = textOf(tool.outputSchema);
    const same = before?.text === text ? before : undefined;
    this.#known.set(tool.name, same ?? { text, schema: tool.outputSchema, check: undefined });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MOST) break;
      this.#known.delete(oldest);
    }
  }

  /**
   * Throws an `OutputError` when a result does not fit what is known of its tool. A failed call is left alone. A promise
   * only where something is known.
   */
  assertFits(tool: string, result: CallToolResult): void | Promise<void> {
    const known = this.#known.get(tool);
    if (known !== undefined && result.isError !== true) return this.#assertFits(known, tool, result);
  }

  async #assertFits(known: Known, tool: string, result: CallToolResult): Promise<void> {
    if (result.structuredContent === undefined) {
      throw new OutputError(tool, [{ path: "", message: "is missing" }], result);
    }
    known.check ??= compile(await this.#load(), known.schema);
    const issues = known.check(result.structuredContent);
    if (issues.length > 0) throw new OutputError(tool, issues, result);
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

/** A result whose structured content is what the caller's schema makes of it; throws an `OutputError` where it cannot. */
export async function parseOutput(
  tool: string,
  result: CallToolResult,
  schema: StandardSchema,
): Promise<CallToolResult> {
  if (result.isError === true) return result;
  const parsed = await parseStandard(schema, result.structuredContent);
  if (parsed.ok) return { ...result, structuredContent: parsed.value };
  throw new OutputError(tool, parsed.issues, result);
}

/** A schema that cannot be used fits nothing: accepting everything instead would be a promise not kept. */
function compile(validator: JsonSchemaValidator, schema: JsonSchema): CompiledSchema {
  try {
    return validator.compile(schema);
  } catch (error) {
    const message = `cannot be checked: ${error instanceof Error ? error.message : String(error)}`;
    return () => [{ path: "", message }];
  }
}
