import type { ClientCapabilities } from "../protocol/types/index.js";
import type { ClientOptions } from "./options.js";

/** What the handlers of a client amount to. */
export function capabilitiesOf(options: ClientOptions): ClientCapabilities {
  const { onElicit, onElicitUrl, onSample, samplingTools, samplingContext, roots, capabilities } = options;
  const elicitation = {
    ...(onElicit === undefined ? undefined : { form: {} }),
    ...(onElicitUrl === undefined ? undefined : { url: {} }),
  };
  const sampling = {
    ...(samplingTools === true ? { tools: {} } : undefined),
    ...(samplingContext === true ? { context: {} } : undefined),
  };
  const enabled = Object.entries(options.extensions ?? {}).map(([id, { settings = {} }]) => [id, settings] as const);
  const extensions = { ...capabilities?.extensions, ...Object.fromEntries(enabled) };
  return {
    ...(capabilities?.experimental === undefined ? undefined : { experimental: { ...capabilities.experimental } }),
    ...(roots === undefined ? undefined : { roots: options.rootsListChanged === false ? {} : { listChanged: true } }),
    ...(onSample === undefined ? undefined : { sampling }),
    ...(onElicit === undefined && onElicitUrl === undefined ? undefined : { elicitation }),
    ...(capabilities?.extensions === undefined && enabled.length === 0 ? undefined : { extensions }),
  };
}
