import { type Check, isObject } from "../json.js";
import {
  anyObject,
  anything,
  array,
  boolean,
  dateTime,
  integer,
  nullish,
  object,
  oneOf,
  range,
  record,
  string,
  stringOrInteger,
  uri,
} from "./kit.js";

/** Shapes that requests, results and notifications share. Members that a shape does not list are not checked. */

/** `_meta` of a request or a notification. */
const meta = object({}, { progressToken: stringOrInteger });

/** Checks a params object: `_meta` and the members of the method. */
export function params(required: { [member: string]: Check }, optionals: { [member: string]: Check } = {}): Check {
  return object(required, { _meta: meta, ...optionals });
}

/**
 * Members of a call that is sent again with input responses. Each response is checked later, against the input request
 * that it answers.
 */
export const inputParams: { readonly [member: string]: Check } = {
  inputResponses: record(anyObject),
  requestState: nullish(string),
};

/** Checks a result object. `resultType` and the cache hints are checked where they are used. */
export function result(required: { [member: string]: Check }, optionals: { [member: string]: Check } = {}): Check {
  return object(required, { _meta: anyObject, ...optionals });
}

/** Checks a page of a list. A `nextCursor` of null ends the list, like an absent one. */
export function page(member: string, of: Check): Check {
  return result({ [member]: array(of) }, { nextCursor: nullish(string) });
}

export const role: Check = oneOf("user", "assistant");

export const annotations: Check = object({}, { audience: array(role), priority: range(0, 1), lastModified: dateTime });

/** Icons are not checked: a peer's mistake in them must not fail a listing (icons:old-peers). */
export const icons: Check = anything;

export const subscriptionFilter: Check = object(
  {},
  {
    toolsListChanged: boolean,
    promptsListChanged: boolean,
    resourcesListChanged: boolean,
    resourceSubscriptions: array(uri),
  },
);

/* Completion */

const promptReference = object({ type: oneOf("ref/prompt", "ref/resource"), name: string }, { title: string });
const resourceReference = object({ uri: string });

export const completionReference: Check = (value) =>
  isObject(value) && value.type === "ref/resource" ? resourceReference(value) : promptReference(value);

export const completion: Check = object({ values: array(string, 100) }, { total: integer, hasMore: boolean });

/* Implementations and capabilities */

export const implementation: Check = object(
  { name: string, version: string },
  { title: string, description: string, websiteUrl: string, icons },
);

const listChanged = object({}, { listChanged: boolean });
const flags = record(anyObject);

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
