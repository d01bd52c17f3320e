/** What the two sides say of themselves. */
import type { Check } from "../check.js";
import { icons } from "./common.js";
import { anyObject, boolean, object, record, string } from "./kit.js";

export const implementation: Check = object(
  { name: string, version: string },
  { title: string, description: string, websiteUrl: string, icons },
);

/* Capabilities */

export const listChanged: Check = object({}, { listChanged: boolean });
export const flags: Check = record(anyObject);

export const clientCapabilities: Check = object(
  {},
  {
    experimental: flags,
    roots: listChanged,
    sampling: object({}, { context: anyObject, tools: anyObject }),
    elicitation: object({}, { form: object({}, { applyDefaults: boolean }), url: anyObject }),
    tasks: anyObject,
    extensions: anyObject,
  },
);
