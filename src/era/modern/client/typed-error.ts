import {
  isVersionList,
  MissingCapabilityError,
  type RpcError,
  UnsupportedVersionError,
} from "../../../protocol/errors.js";
import { fromErrorObject } from "../../../protocol/jsonrpc/from-error-object.js";
import type { RpcErrorObject } from "../../../protocol/jsonrpc/message.js";
import { clientCapabilities } from "../../../protocol/shapes/peer-shapes.js";
import type { ClientCapabilities } from "../../../protocol/types/index.js";
import { UNSUPPORTED_VERSION } from "../../unsupported-version.js";
import { MISSING_CAPABILITY } from "../envelope.js";

/** An error answer as the class that its code stands for, if its data is what the code promises; else as it is. */
export function toTypedError(error: RpcErrorObject, method: string): RpcError {
  const data = error.data as { supported?: unknown; requested?: unknown; requiredCapabilities?: unknown } | null;
  if (error.code === UNSUPPORTED_VERSION && isVersionList(data?.supported)) {
    const requested = typeof data?.requested === "string" ? data.requested : undefined;
    return new UnsupportedVersionError(error.code, error.message, error.data, {
      method,
      supported: data.supported,
      requested,
    });
  }
  const required = data?.requiredCapabilities;
  if (error.code === MISSING_CAPABILITY && required !== undefined && clientCapabilities(required) === undefined) {
    const requiredCapabilities = required as ClientCapabilities;
    return new MissingCapabilityError(error.code, error.message, error.data, { method, requiredCapabilities });
  }
  return fromErrorObject(error, method);
}
