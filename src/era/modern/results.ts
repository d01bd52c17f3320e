/** The results of 2026-07-28. A question in the place of a result is `inputRequiredResult`. */
import { getPromptResult, readResourceResult } from "../../schema/content-shapes.js";
import { serverCapabilities } from "../../schema/result-shapes.js";
import { array, object, string, stringOrInteger } from "../../schema/shape.js";
import { result } from "../../schema/shapes.js";
import * as features from "../feature-results.js";
import type { ResultTable } from "../method-table.js";

export const modernResults: ResultTable = new Map([
  ...features.results,
  [
    "server/discover",
    result({ supportedVersions: array(string), capabilities: serverCapabilities }, { instructions: string }),
  ],
  ["tools/call", features.callToolResult],
  ["prompts/get", getPromptResult],
  ["resources/read", readResourceResult],
  ["subscriptions/listen", object({ _meta: object({ "io.modelcontextprotocol/subscriptionId": stringOrInteger }) })],
]);
