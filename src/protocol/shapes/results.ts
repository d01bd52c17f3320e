/** The shapes that only results have: what a server checks nothing by. */
import type { Check } from "../json.js";
import { annotations, flags, listChanged, result } from "./common.js";
import { described } from "./content.js";
import { anyObject, array, boolean, integer, nullish, object, string } from "./kit.js";

/** One page of a list; null ends the list just as an absent cursor does. */
export function page(member: string, of: Check): Check {
  return result({ [member]: array(of) }, { nextCursor: nullish(string) });
}

export const serverCapabilities: Check = object(
  {},
  {
    experimental: flags,
    logging: anyObject,
    completions: anyObject,
    prompts: listChanged,
    resources: object({}, { subscribe: boolean, listChanged: boolean }),
    tools: listChanged,
    tasks: anyObject,
    extensions: anyObject,
  },
);

export const resourceTemplate: Check = object(
  { name: string, uriTemplate: string },
  { ...described, mimeType: string, annotations },
);

export const prompt: Check = object(
  { name: string },
  {
    ...described,
    arguments: array(object({ name: string }, { title: string, description: string, required: boolean })),
  },
);

export const completion: Check = object({ values: array(string, 100) }, { total: integer, hasMore: boolean });
