import { isBase64 } from "../base64.js";
import type { Check } from "../json.js";
import { annotations, icons, result, role } from "./common.js";
import { anyObject, array, boolean, choose, number, object, oneOf, satisfying, string, tagged } from "./kit.js";

/** Shapes of content, resources, tools and prompts. */

const strings = array(string);
export const base64: Check = satisfying("base64", (value) => typeof value === "string" && isBase64(value));

/* Resources */

/** Optional members of resources, tools and prompts. */
export const described = { title: string, description: string, icons, _meta: anyObject };

export const resource: Check = object(
  { name: string, uri: string },
  { ...described, mimeType: string, size: number, annotations },
);

export const resourceTemplate: Check = object(
  { name: string, uriTemplate: string },
  { ...described, mimeType: string, annotations },
);

const contentsExtras = { mimeType: string, _meta: anyObject };
export const textResourceContents: Check = object({ uri: string, text: string }, contentsExtras);
export const blobResourceContents: Check = object({ uri: string, blob: base64 }, contentsExtras);

export const resourceContents: Check = choose(({ text, blob }) =>
  typeof text === "string" || blob === undefined ? textResourceContents : blobResourceContents,
);

/* Content */

const blockExtras = { annotations, _meta: anyObject };
export const text: Check = object({ text: string }, blockExtras);
export const media: Check = object({ data: base64, mimeType: string }, blockExtras);
const embedded = object({ resource: resourceContents }, blockExtras);

/** Accepts blocks of unknown types, which reach the caller unchanged (tools:call:content:unknown-type-tolerated). */
export const contentBlock: Check = tagged(
  "type",
  { text, image: media, audio: media, resource_link: resource, resource: embedded },
  { open: true },
);

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

export const prompt: Check = object(
  { name: string },
  {
    ...described,
    arguments: array(object({ name: string }, { title: string, description: string, required: boolean })),
  },
);

export const promptMessage: Check = object({ role, content: contentBlock });

/* Results that servers check before sending and clients check on receipt */

export const getPromptResult: Check = result({ messages: array(promptMessage) }, { description: string });
export const readResourceResult: Check = result({ contents: array(resourceContents) });
