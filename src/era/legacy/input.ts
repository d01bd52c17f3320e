import { McpError } from "../../protocol/errors.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import type { CreateMessageParams, ElicitParams, InputRequest, SamplingMessage } from "../../protocol/types/index.js";

/** First version with elicitation modes, multiple choices, and several content blocks in a sampling message. */
const RICH_VERSION = "2025-11-25";

type Field = { readonly [keyword: string]: unknown };

/**
 * Returns the params of a question in the form that `version` defines.
 * @throws if `version` cannot express the question
 */
export function paramsAt(version: string, request: InputRequest, elicitationId: string | undefined): Params {
  switch (request.method) {
    case "elicitation/create":
      return elicitAt(version, request.params, elicitationId);
    case "sampling/createMessage":
      return (version < RICH_VERSION ? plainMessages(request.params) : request.params) as unknown as Params;
    case "roots/list":
      return (request.params ?? {}) as Params;
  }
}

/**
 * Returns the answer to a question in the form that `version` defines.
 * @throws if `version` cannot express the answer
 */
export function answerAt(version: string, method: string, result: Params): Params {
  if (version >= RICH_VERSION || method !== "sampling/createMessage") return result;
  return plainMessage(result as unknown as SamplingMessage) as unknown as Params;
}

/** Converts the params of an elicitation. A URL elicitation needs an id in this era. */
function elicitAt(version: string, params: ElicitParams, elicitationId: string | undefined): Params {
  if (params.mode === "url") {
    return { elicitationId: elicitationId ?? crypto.randomUUID(), ...params } as unknown as Params;
  }
  if (version >= RICH_VERSION) return { ...params, mode: "form" } as unknown as Params;
  const { mode: _, requestedSchema, ...rest } = params;
  const fields = Object.entries(requestedSchema.properties as unknown as { [name: string]: Field });
  const properties = Object.fromEntries(fields.map(([name, field]) => [name, plainField(name, field, version)]));
  return { ...rest, requestedSchema: { ...requestedSchema, properties } } as unknown as Params;
}

function plainField(name: string, field: Field, version: string): Field {
  if (field.type === "array") throw tooNew(`the field ${JSON.stringify(name)} allows several choices`, version);
  const { oneOf, ...rest } = field;
  if (!Array.isArray(oneOf)) return field;
  const options = oneOf as readonly { readonly const: string; readonly title: string }[];
  return { ...rest, enum: options.map((one) => one.const), enumNames: options.map(({ title }) => title) };
}

function plainMessages(params: CreateMessageParams): CreateMessageParams {
  return { ...params, messages: params.messages.map(plainMessage) };
}

function plainMessage(message: SamplingMessage): SamplingMessage {
  if (!Array.isArray(message.content)) return message;
  const [only, ...more] = message.content;
  if (only === undefined || more.length > 0) throw tooNew("a message has several content blocks", "before 2025-11-25");
  return { ...message, content: only };
}

function tooNew(what: string, version: string): McpError {
  return new McpError(
    "not_in_version",
    `Not sent: ${what}, which the protocol version of the peer (${version}) does not support`,
  );
}
