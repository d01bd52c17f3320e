import { isVersionList } from "../protocol/errors.js";

export const UNSUPPORTED_VERSION = -32022;

/** The versions that a refusal of the present one names, if it is such a refusal. */
export function supportedIn(error: { readonly code: number; readonly data?: unknown }): readonly string[] | undefined {
  if (error.code !== UNSUPPORTED_VERSION) return undefined;
  const supported = (error.data as { supported?: unknown } | null | undefined)?.supported;
  return isVersionList(supported) ? supported : undefined;
}
