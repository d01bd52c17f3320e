import type { Deprecation } from "../../../protocol/deprecations.js";

export const sseDeprecation: Deprecation = {
  code: "deprecated_http_sse",
  message: "the HTTP+SSE transport is deprecated by SEP-2596: use Streamable HTTP",
};
