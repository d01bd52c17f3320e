import type { Deprecation } from "../../schema/deprecated.js";

export const sseDeprecation: Deprecation = {
  code: "deprecated_http_sse",
  message: "the HTTP+SSE transport is deprecated by SEP-2596: use Streamable HTTP",
};
