/** Results of 2024-11-05 to 2025-11-25: the union of these versions. */

import { implementation, result, serverCapabilities } from "../../protocol/shapes/common.js";
import { getPromptResult, readResourceResult } from "../../protocol/shapes/content.js";
import { string } from "../../protocol/shapes/kit.js";
import * as features from "../result-shapes.js";
import type { ResultTable } from "../server-era.js";

const empty = result({});

export const legacyResults: ResultTable = new Map([
  ...features.results,
  [
    "initialize",
    result(
      { protocolVersion: string, capabilities: serverCapabilities, serverInfo: implementation },
      { instructions: string },
    ),
  ],
  ["ping", empty],
  ["logging/setLevel", empty],
  ["tools/call", features.callToolResultWithoutContent],
  ["prompts/get", getPromptResult],
  ["resources/read", readResourceResult],
  ["resources/subscribe", empty],
  ["resources/unsubscribe", empty],
]);
