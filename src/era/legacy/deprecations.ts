// The modern era has no such file: it has no deprecated transport.

import type { Deprecation } from "../../protocol/deprecations.js";

export const sseDeprecation: Deprecation = {
  code: "deprecated_http_sse",
  message: "the HTTP+SSE transport is deprecated by MCP (SEP-2596): use Streamable HTTP",
};
