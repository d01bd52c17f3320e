import type { AbortSwitch } from "../call/abort-switch.js";
import type { ClientResult } from "../era/client-era.js";
import { invalidParams, methodNotFound } from "../jsonrpc/error-codes.js";
import type { Params } from "../jsonrpc/message.js";
import { applyDefaults } from "../schema/form-defaults.js";
import { inputShapes } from "../schema/input-shapes.js";
import type {
  ClientCapabilities,
  CreateMessageParams,
  ElicitFormParams,
  ElicitParams,
  ElicitResult,
  ElicitUrlParams,
} from "../schema/types.js";
import type { AnswerContext, ClientOptions } from "./options.js";

/** What the handlers of a client amount to. */
export function capabilitiesOf(options: ClientOptions): ClientCapabilities {
  const { onElicit, onElicitUrl, onSample, samplingTools, roots, capabilities } = options;
  const elicitation = {
    ...(onElicit === undefined ? undefined : { form: {} }),
    ...(onElicitUrl === undefined ? undefined : { url: {} }),
  };
  return {
    ...(capabilities?.experimental === undefined ? undefined : { experimental: { ...capabilities.experimental } }),
    ...(roots === undefined ? undefined : { roots: { listChanged: true } }),
    ...(onSample === undefined ? undefined : { sampling: samplingTools === true ? { tools: {} } : {} }),
    ...(onElicit === undefined && onElicitUrl === undefined ? undefined : { elicitation }),
    ...(capabilities?.extensions === undefined ? undefined : { extensions: { ...capabilities.extensions } }),
  };
}

/** Answers one question of the server with the client's handlers, whichever way the question came. */
export async function answer(
  options: ClientOptions,
  method: string,
  params: Params | undefined,
  end: AbortSwitch,
): Promise<ClientResult> {
  const problem = inputShapes.get(method)?.params(params);
  if (problem !== undefined) throw invalidParams(method, problem);
  const ctx: AnswerContext = {
    get signal() {
      return end.signal;
    },
  };
  switch (method) {
    case "elicitation/create":
      return elicit(options, params as unknown as ElicitParams, ctx);
    case "sampling/createMessage":
      if (options.onSample === undefined) throw methodNotFound(method);
      return (await options.onSample(params as unknown as CreateMessageParams, ctx)) as unknown as ClientResult;
    case "roots/list":
      if (options.roots === undefined) throw methodNotFound(method);
      return { roots: typeof options.roots === "function" ? await options.roots() : options.roots };
    default: {
      const own =
        options.methods !== undefined && Object.hasOwn(options.methods, method) ? options.methods[method] : undefined;
      if (own === undefined) throw methodNotFound(method);
      return own(params, ctx);
    }
  }
}

async function elicit(options: ClientOptions, params: ElicitParams, ctx: AnswerContext): Promise<ClientResult> {
  if (params.mode === "url") {
    if (options.onElicitUrl === undefined) throw methodNotFound("elicitation/create");
    return (await options.onElicitUrl(params as ElicitUrlParams, ctx)) as unknown as ClientResult;
  }
  if (options.onElicit === undefined) throw methodNotFound("elicitation/create");
  const result = await options.onElicit(params as ElicitFormParams, ctx);
  return (result.action === "accept"
    ? withDefaults(params as ElicitFormParams, result)
    : result) as unknown as ClientResult;
}

/** What the user left open takes the default of the form. */
function withDefaults(params: ElicitFormParams, result: ElicitResult): ElicitResult {
  const content = applyDefaults(params.requestedSchema as never, (result.content ?? {}) as never);
  return { ...result, content: content as NonNullable<ElicitResult["content"]> };
}
