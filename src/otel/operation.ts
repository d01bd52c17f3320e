import {
  type Attributes,
  type Context,
  context,
  type Link,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { McpError, RpcError } from "../protocol/errors.js";
import { INTERNAL_ERROR, METHOD_NOT_FOUND } from "../protocol/jsonrpc/errors.js";
import type { Telemetry } from "./telemetry.js";

type Params = { readonly [key: string]: unknown };

/** Request, as a client sends it or a server receives it. */
export interface Operation {
  readonly method: string;
  readonly params: Params | undefined;
  /** Attributes of the span only. As metric attributes they would create one time series per request. */
  readonly details: Attributes;
  /** Attributes of both the span and the metric. They have few distinct values. */
  readonly facts: Attributes;
  /** Parent context of the span. */
  readonly parent: Context;
  readonly links?: Link[];
  /** True if the request was cancelled. */
  cancelled(): boolean;
}

const KINDS = { client: SpanKind.CLIENT, server: SpanKind.SERVER } as const;

interface Failure {
  readonly attributes: Attributes;
  readonly description?: string;
  /** Exception to record on the span. Present if the failure is a defect, not an error response. */
  readonly thrown?: Error;
}

/** Has no description: the text of the result is meant for the model and may repeat the arguments. */
const TOOL_FAILURE: Failure = { attributes: { "error.type": "tool_error" } };

const CANCELLED: Failure = { attributes: { "error.type": "cancelled" } };

/** Runs a request within a span and records its duration. Follows the OpenTelemetry semantic conventions for MCP. */
export async function observe<Outcome extends object>(
  telemetry: Telemetry,
  side: keyof typeof KINDS,
  operation: Operation,
  run: (within: Context) => Promise<Outcome>,
): Promise<Outcome> {
  const { method, details, facts, parent, links = [] } = operation;
  const target = targetOf(operation);
  const common: Attributes = { "mcp.method.name": method, ...facts };
  const attributes = { ...common, ...target?.attributes, ...details };
  const name = target === undefined ? method : `${method} ${target.name}`;
  const span = telemetry.tracer.startSpan(name, { kind: KINDS[side], attributes, links }, parent);
  const within = trace.setSpan(parent, span);
  const start = performance.now();
  let failure: Failure | undefined;
  try {
    const outcome = await context.with(within, run, undefined, within);
    if (method === "tools/call" && (outcome as { isError?: unknown }).isError === true) failure = TOOL_FAILURE;
    return outcome;
  } catch (error) {
    failure = operation.cancelled() ? CANCELLED : toFailure(error, side);
    throw error;
  } finally {
    const measured = { ...common, ...nameable(target?.attributes, failure), ...failure?.attributes };
    if (failure?.attributes["rpc.response.status_code"] === String(METHOD_NOT_FOUND)) {
      measured["mcp.method.name"] = "_OTHER";
    }
    telemetry.duration?.record((performance.now() - start) / 1000, measured, within);
    if (failure !== undefined) describe(span, failure);
    span.end();
  }
}

/** Returns the tool or prompt that a request names. Other targets, such as URIs, have unbounded values. */
function targetOf({
  method,
  params,
}: Operation): { readonly name: string; readonly attributes: Attributes } | undefined {
  const name = params?.name;
  if (typeof name !== "string") return undefined;
  if (method === "tools/call")
    return { name, attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name } };
  if (method === "prompts/get") return { name, attributes: { "gen_ai.prompt.name": name } };
  return undefined;
}

/**
 * Returns the target's attributes for the metric. Returns undefined after an error response, because a peer can invent
 * any number of names that do not exist.
 */
function nameable(target: Attributes | undefined, failure: Failure | undefined): Attributes | undefined {
  return failure?.attributes["rpc.response.status_code"] === undefined ? target : undefined;
}

function toFailure(error: unknown, side: keyof typeof KINDS): Failure {
  if (error instanceof RpcError) {
    const code = String(error.rpcCode);
    const answered = error.local ? undefined : { "rpc.response.status_code": code };
    return { attributes: { "error.type": code, ...answered }, description: error.message };
  }
  if (!(error instanceof Error)) return { attributes: { "error.type": "_OTHER" } };
  const type = error instanceof McpError ? error.code : error.name;
  if (side === "client") return { attributes: { "error.type": type }, description: error.message };
  // The peer receives an internal error. The span keeps the exception for the operator of the server.
  const attributes = { "error.type": type, "rpc.response.status_code": String(INTERNAL_ERROR) };
  return { attributes, description: error.message, thrown: error };
}

function describe(span: Span, { attributes, description, thrown }: Failure): void {
  span.setAttributes(attributes);
  span.setStatus({
    code: SpanStatusCode.ERROR,
    ...(description === undefined ? undefined : { message: description }),
  });
  if (thrown !== undefined) span.recordException(thrown);
}
