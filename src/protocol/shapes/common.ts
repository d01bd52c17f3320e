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

/** The shapes that requests, results and notifications share. What a shape leaves out is not checked. */

/** `_meta` of a request or a notification. */
const meta = object({}, { progressToken: stringOrInteger });

/** A params object: `_meta` and the members of the method itself. */
export function params(required: { [member: string]: Check }, optionals: { [member: string]: Check } = {}): Check {
  return object(required, { _meta: meta, ...optionals });
}

/** A retried request carries these. Which answer belongs to which question is known only to whoever asked. */
export const inputParams: { readonly [member: string]: Check } = {
  inputResponses: record(anyObject),
  requestState: nullish(string),
};

/** A result object. `resultType` and the cache hints are judged where they are used, never here. */
export function result(required: { [member: string]: Check }, optionals: { [member: string]: Check } = {}): Check {
  return object(required, { _meta: anyObject, ...optionals });
}

/** One page of a list; null ends the list just as an absent cursor does. */
export function page(member: string, of: Check): Check {
  return result({ [member]: array(of) }, { nextCursor: nullish(string) });
}

export const role: Check = oneOf("user", "assistant");

export const annotations: Check = object({}, { audience: array(role), priority: range(0, 1), lastModified: dateTime });

/** Mere decoration: a peer's mistakes in it never fail a listing (icons:old-peers). */
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

/* The two sides and their capabilities */

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
