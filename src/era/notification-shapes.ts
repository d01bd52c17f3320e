import type { Check } from "../schema/check.js";
import { LOGGING_LEVELS } from "../schema/logging-levels.js";
import { number, present } from "../schema/more-shape.js";
import { oneOf, string, stringOrInteger } from "../schema/shape.js";
import { params } from "../schema/shapes.js";
import { noParams } from "./feature-shapes.js";

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
