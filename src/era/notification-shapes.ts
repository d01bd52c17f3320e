import type { Check } from "../protocol/check.js";
import { LOGGING_LEVELS } from "../protocol/logging.js";
import { params } from "../protocol/shapes/common.js";
import { oneOf, string, stringOrInteger } from "../protocol/shapes/kit.js";
import { number, present } from "../protocol/shapes/more-shape.js";
import { noParams } from "./request-shapes.js";

export const loggingLevel: Check = oneOf(...LOGGING_LEVELS);

/** The notifications that every version has, but for the cancellation. */
export const notifications: ReadonlyMap<string, Check> = new Map([
  [
    "notifications/progress",
    params({ progressToken: stringOrInteger, progress: number }, { total: number, message: string }),
  ],
  ["notifications/message", params({ level: loggingLevel, data: present }, { logger: string })],
  ["notifications/resources/updated", params({ uri: string })],
  ["notifications/resources/list_changed", noParams],
  ["notifications/tools/list_changed", noParams],
  ["notifications/prompts/list_changed", noParams],
]);
