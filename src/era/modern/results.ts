/** The results of 2026-07-28. */
import type { Check } from "../../schema/check.js";
import { getPromptResult, readResourceResult } from "../../schema/content-shapes.js";
import { inputRequiredResult } from "../../schema/input-shapes.js";
import { serverCapabilities } from "../../schema/result-shapes.js";
import { array, choose, object, string, stringOrInteger } from "../../schema/shape.js";
import { result } from "../../schema/shapes.js";
import * as features from "../feature-results.js";
import type { ResultTable } from "../method-table.js";

/** A result in whose place there may be a question for input. */
function orQuestion(complete: Check): Check {
  return choose((value) => (value.resultType === "input_required" ? inputRequiredResult : complete));
}

export const modernResults: ResultTable = new Map([
  ...features.results,
  [
    "server/discover",
    result({ supportedVersions: array(string), capabilities: serverCapabilities }, { instructions: string }),
  ],
  ["tools/call", orQuestion(features.callToolResult)],
  ["prompts/get", orQuestion(getPromptResult)],
  ["resources/read", orQuestion(readResourceResult)],
  ["subscriptions/listen", object({ _meta: object({ "io.modelcontextprotocol/subscriptionId": stringOrInteger }) })],
]);
