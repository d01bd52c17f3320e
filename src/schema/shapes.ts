/** The shapes that requests, results and notifications share. What a shape leaves out is not checked. */
import type { Check } from "./check.js";
import { LOGGING_LEVELS } from "./logging-levels.js";
import {
  anyObject,
  anything,
  array,
  base64,
  boolean,
  choose,
  dateTime,
  number,
  object,
  oneOf,
  oneOrMany,
  range,
  record,
  string,
  stringOrInteger,
  tagged,
  uri,
} from "./shape.js";

const strings = array(string);

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

export const loggingLevel: Check = oneOf(...LOGGING_LEVELS);

export const annotations: Check = object({}, { audience: array(role), priority: range(0, 1), lastModified: dateTime });

/** Mere decoration: what a peer gets wrong about it never fails a listing (icons:old-peers). */
const icons = anything;

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

export const subscriptionFilter: Check = object(
  {},
  {
    toolsListChanged: boolean,
    promptsListChanged: boolean,
    resourcesListChanged: boolean,
    resourceSubscriptions: array(uri),
  },
);

/* Resources */

export const described = { title: string, description: string, icons, _meta: anyObject };

export const resource: Check = object(
  { name: string, uri: string },
  { ...described, mimeType: string, size: number, annotations },
);

const contentsExtras = { mimeType: string, _meta: anyObject };
export const textResourceContents: Check = object({ uri: string, text: string }, contentsExtras);
export const blobResourceContents: Check = object({ uri: string, blob: base64 }, contentsExtras);

export const resourceContents: Check = choose(({ text, blob }) =>
  typeof text === "string" || blob === undefined ? textResourceContents : blobResourceContents,
);

/* Content */

const blockExtras = { annotations, _meta: anyObject };
const text = object({ text: string }, blockExtras);
const media = object({ data: base64, mimeType: string }, blockExtras);
const embedded = object({ resource: resourceContents }, blockExtras);

/** A block of a kind not listed here passes: it reaches the caller as it came (tools:call:content:unknown-type-tolerated). */
export const contentBlock: Check = tagged(
  "type",
  { text, image: media, audio: media, resource_link: resource, resource: embedded },
  { open: true },
);

const toolUse = object({ id: string, name: string, input: anyObject }, { _meta: anyObject });
const toolResult = object(
  { toolUseId: string, content: array(contentBlock) },
  { structuredContent: anything, isError: boolean, _meta: anyObject },
);

export const samplingContent: Check = oneOrMany(
  tagged("type", { text, image: media, audio: media, tool_use: toolUse, tool_result: toolResult }),
);

export const samplingMessage: Check = object({ role, content: samplingContent }, { _meta: anyObject });

/* Tools and prompts */

const toolAnnotations = object(
  {},
  { title: string, readOnlyHint: boolean, destructiveHint: boolean, idempotentHint: boolean, openWorldHint: boolean },
);

export const tool: Check = object(
  { name: string, inputSchema: object({ type: oneOf("object") }, { properties: anyObject, required: strings }) },
  {
    ...described,
    outputSchema: object({}, { $schema: string }),
    annotations: toolAnnotations,
    execution: object({}, { taskSupport: oneOf("required", "optional", "forbidden") }),
  },
);

export const promptMessage: Check = object({ role, content: contentBlock });

/* Completion */

export const completionReference: Check = tagged("type", {
  "ref/prompt": object({ name: string }, { title: string }),
  "ref/resource": object({ uri: string }),
});
