/** Results of 2026-07-28. The shape of an `input_required` result is `inputRequiredResult`. */

import { result, serverCapabilities } from "../../protocol/shapes/common.js";
import { getPromptResult, readResourceResult } from "../../protocol/shapes/content.js";
import { array, object, string, stringOrInteger } from "../../protocol/shapes/kit.js";
import * as features from "../result-shapes.js";
import type { ResultTable } from "../server-era.js";

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
