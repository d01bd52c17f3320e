import { type Check, isObject } from "../json.js";
import {
  anyObject,
  anything,
  array,
  boolean,
  dateTime,
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
export const meta: Check = object({}, { progressToken: stringOrInteger });

/** A params object: `_meta` and the members of the method itself. */
export function params(required: { [member: string]: Check }, optionals: { [member: string]: Check } = {}): Check {
  return object(required, { _meta: meta, ...optionals });
}

/** A result object. `resultType` and the cache hints are judged where they are used, never here. */
export function result(required: { [member: string]: Check }, optionals: { [member: string]: Check } = {}): Check {
  return object(required, { _meta: anyObject, ...optionals });
}

export const role: Check = oneOf("user", "assistant");

export const annotations: Check = object({}, { audience: array(role), priority: range(0, 1), lastModified: dateTime });

/** Mere decoration: what a peer gets wrong about it never fails a listing (icons:old-peers). */
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

/** What a retried request carries. Which answer belongs to which question is known only to whoever asked. */
export const inputParams: { readonly [member: string]: Check } = {
  inputResponses: record(anyObject),
  requestState: nullish(string),
};

/** What the two sides say of themselves. */

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
