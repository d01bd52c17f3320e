/** Shapes of the results that are equal in every protocol version. Each era adds its own. */
import type { Check } from "../protocol/json.js";
import { completion, page, result } from "../protocol/shapes/common.js";
import { contentBlock, prompt, resource, resourceTemplate, tool } from "../protocol/shapes/content.js";
import { anything, array, boolean } from "../protocol/shapes/kit.js";
import type { ResultTable } from "./server-era.js";

const toolContent = array(contentBlock);
const toolExtras = { structuredContent: anything, isError: boolean };

export const callToolResult: Check = result({ content: toolContent }, toolExtras);
/** Result whose `content` may be absent, since some servers send structured content alone. */
export const callToolResultWithoutContent: Check = result({}, { content: toolContent, ...toolExtras });

/** Results that are the same in every era. */
export const results: ResultTable = new Map([
  ["tools/list", page("tools", tool)],
  ["prompts/list", page("prompts", prompt)],
  ["resources/list", page("resources", resource)],
  ["resources/templates/list", page("resourceTemplates", resourceTemplate)],
  ["completion/complete", result({ completion })],
]);
