import { type Check, isTextList } from "../json.js";
import { params, result, role } from "./common.js";
import { contentBlock, media, text, tool } from "./content.js";
import {
  anyObject,
  anything,
  array,
  boolean,
  choose,
  integer,
  nullish,
  number,
  object,
  oneOf,
  oneOrMany,
  optional,
  pattern,
  range,
  record,
  satisfying,
  string,
  tagged,
  url,
} from "./kit.js";

/** Shapes of an input request, which a server sends while it handles a call, and of its response. */
export interface InputShape {
  readonly params: Check;
  readonly result: Check;
}

/* Forms */

/** Accepts forms that the protocol does not allow. The client's handler decides how to treat them. */
const elicitForm = params({ message: string, requestedSchema: anyObject }, { mode: oneOf("form") });
const elicitUrl = params({ mode: oneOf("url"), message: string, url }, { elicitationId: string });

const fieldValue = satisfying(
  "a string, a number, a boolean or an array of strings",
  (value) => typeof value === "string" || Number.isFinite(value) || typeof value === "boolean" || isTextList(value),
);

const elicitation: InputShape = {
  params: choose((value) => (value.mode === "url" ? elicitUrl : elicitForm)),
  result: result({ action: oneOf("accept", "decline", "cancel") }, { content: nullish(record(fieldValue)) }),
};

/* Sampling */

const toolUse = object({ id: string, name: string, input: anyObject }, { _meta: anyObject });
const toolResult = object(
  { toolUseId: string, content: array(contentBlock) },
  { structuredContent: anything, isError: boolean, _meta: anyObject },
);

export const samplingContent: Check = oneOrMany(
  tagged("type", { text, image: media, audio: media, tool_use: toolUse, tool_result: toolResult }),
);

export const samplingMessage: Check = object({ role, content: samplingContent }, { _meta: anyObject });

const modelPreferences = object(
  {},
  {
    hints: array(object({}, { name: string })),
    costPriority: range(0, 1),
    speedPriority: range(0, 1),
    intelligencePriority: range(0, 1),
  },
);

const sampling: InputShape = {
  params: params(
    { messages: array(samplingMessage), maxTokens: integer },
    {
      modelPreferences,
      systemPrompt: string,
      includeContext: oneOf("none", "thisServer", "allServers"),
      temperature: number,
      stopSequences: array(string),
      metadata: anyObject,
      tools: array(tool),
      toolChoice: object({}, { mode: oneOf("auto", "required", "none") }),
    },
  ),
  result: result({ role, content: samplingContent, model: string }, { stopReason: string }),
};

/* Roots */

export const root: Check = object({ uri: pattern("a file:// URI", /^file:\/\//) }, { name: string, _meta: anyObject });

const roots: InputShape = { params: optional(params({})), result: result({ roots: array(root) }) };

/** Shapes of input requests, by method. */
export const inputShapes: ReadonlyMap<string, InputShape> = new Map([
  ["elicitation/create", elicitation],
  ["sampling/createMessage", sampling],
  ["roots/list", roots],
]);

/** Accepts unknown methods, so that the caller can name the method in its error (mrtr:client:unknown-kind). */
const inputRequest = tagged(
  "method",
  Object.fromEntries([...inputShapes].map(([method, shape]) => [method, object({ params: shape.params })])),
  { open: true },
);

export const inputRequests: Check = record(inputRequest);

/** Checks a result that asks for input. The code that handles the result checks that it asks for anything. */
export const inputRequiredResult: Check = result({}, { inputRequests, requestState: string });
