/** The results of 2024-11-05 to 2025-11-25: the union of what those versions allow. */
import { getPromptResult, readResourceResult } from "../../schema/content-shapes.js";
import { implementation } from "../../schema/peer-shapes.js";
import { serverCapabilities } from "../../schema/result-shapes.js";
import { string } from "../../schema/shape.js";
import { result } from "../../schema/shapes.js";
import * as features from "../feature-results.js";
import type { ResultTable } from "../method-table.js";

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
