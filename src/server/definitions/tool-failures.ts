import { DefinitionError, ToolError, toError } from "../../protocol/errors.js";
import type { CallToolResult } from "../../protocol/types/index.js";
import { failed } from "./tool-result.js";

/** Who hears of failures, and whether the model does. */
interface FailureOptions {
  readonly report: (error: unknown, tool: string) => void;
  readonly maskErrors: boolean;
}

/** A library's schema may throw instead of saying what is wrong: that is nothing to tell a caller. */
export function schemaThrew(name: string, what: string, cause: unknown, { report }: FailureOptions): never {
  report(new DefinitionError(`tool "${name}" ${what}: its schema threw`, { cause }), name);
  throw new ToolError(`Tool ${name} could not check its ${what}`);
}

/** A tool did not keep to its output schema. */
export function nonconforming(name: string, problem: string, { report, maskErrors }: FailureOptions): CallToolResult {
  const message = `Tool ${name} has an output schema and returned ${problem}`;
  report(new DefinitionError(message), name);
  return failed(maskErrors ? "The tool failed" : message);
}

/** What cannot be written is a defect of the server that a model cannot mend. */
export function unwritable(name: string, error: unknown): CallToolResult {
  if (error instanceof ToolError) return failed(error.message);
  throw new TypeError(`tool "${name}" returned what JSON cannot hold: ${toError(error).message}`, { cause: error });
}
