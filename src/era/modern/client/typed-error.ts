import { HTTP_ANSWER } from "../../../protocol/delivery.js";
import {
  isVersionList,
  MissingCapabilityError,
  type RpcError,
  UnsupportedVersionError,
} from "../../../protocol/errors.js";
import { fromErrorObject } from "../../../protocol/jsonrpc/errors.js";
import type { RpcErrorObject } from "../../../protocol/jsonrpc/message.js";
import { clientCapabilities } from "../../../protocol/shapes/common.js";
import type { ClientCapabilities } from "../../../protocol/types/index.js";
import { UNSUPPORTED_VERSION } from "../../versions.js";
import { MISSING_CAPABILITY } from "../envelope.js";

/** Converts an error response to the class of its code, if its data is valid, otherwise to an `RpcError`. */
export function toTypedError(error: RpcErrorObject, method: string): RpcError {
  const http = error[HTTP_ANSWER];
  const data = error.data as { supported?: unknown; requested?: unknown; requiredCapabilities?: unknown } | null;
  if (error.code === UNSUPPORTED_VERSION && isVersionList(data?.supported)) {
    const requested = typeof data?.requested === "string" ? data.requested : undefined;
    return new UnsupportedVersionError(error.code, error.message, error.data, {
      method,
      http,
      supported: data.supported,
      requested,
    });
  }
  const required = data?.requiredCapabilities;
  if (error.code === MISSING_CAPABILITY && required !== undefined && clientCapabilities(required) === undefined) {
    const requiredCapabilities = required as ClientCapabilities;
    const message = `${error.message}${remedyFor(requiredCapabilities)}`;
    return new MissingCapabilityError(error.code, message, error.data, { method, http, requiredCapabilities });
  }
  return fromErrorObject(error, method);
}

/** Names the options of `connect` that declare the capabilities, to follow the message of the server. */
function remedyFor({ elicitation, sampling, roots }: ClientCapabilities): string {
  const options = [
    elicitation && (elicitation.url ? "onElicitUrl" : "onElicit"),
    sampling && (sampling.tools ? "sampling.tools" : sampling.context ? "sampling.context" : "onSample"),
    roots && "roots",
  ].filter(Boolean);
  return options.length === 0 ? "" : `; pass ${options.join(" and ")} to connect`;
}
