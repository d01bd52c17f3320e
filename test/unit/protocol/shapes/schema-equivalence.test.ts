import { deepEqual, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import * as core from "@modelcontextprotocol/core";
import { legacyMethods, legacyNotifications } from "#src/era/legacy/methods.js";
import { legacyResults } from "#src/era/legacy/results.js";
import { modernMethods, modernNotifications } from "#src/era/modern/methods.js";
import { modernResults } from "#src/era/modern/results.js";
import { type Check, isObject } from "#src/protocol/json.js";
import { clientCapabilities, serverCapabilities } from "#src/protocol/shapes/common.js";
import * as content from "#src/protocol/shapes/content.js";
import {
  inputRequests,
  inputRequiredResult,
  inputShapes,
  root,
  samplingContent,
  samplingMessage,
} from "#src/protocol/shapes/input.js";
import * as kit from "#src/protocol/shapes/kit.js";
import { mutantsOf } from "../../../support/mutants.js";
import { protocolExamples } from "../../../support/protocol-examples.js";

type Judge = (value: unknown) => boolean;
type Zod = { safeParse(value: unknown): { success: boolean } };

/** Our check and the official schema for one thing of the protocol. */
interface Pair {
  readonly ours: Check;
  readonly theirs: Judge;
}

function pair(ours: Check | undefined, schema: Zod): Pair {
  ok(ours !== undefined, "there is a check of ours");
  return { ours, theirs: (value) => schema.safeParse(value).success };
}

const methodTables = [modernMethods, legacyMethods, inputShapes];

function request(method: string, schema: Zod): Pair {
  const shape = methodTables.find((table) => table.has(method))?.get(method);
  return pair(shape && kit.object({ method: kit.oneOf(method), params: shape.params }), schema);
}

function result(method: string, schema: Zod): Pair {
  const ours = modernResults.get(method) ?? legacyResults.get(method) ?? inputShapes.get(method)?.result;
  return pair(ours, schema);
}

function notification(method: string, schema: Zod): Pair {
  const params = modernNotifications.get(method) ?? legacyNotifications.get(method);
  return pair(params && kit.object({ method: kit.oneOf(method), params }), schema);
}

/** The same pair for a message that carries the thing in one of its members. */
function inMember(member: string, inner: Pair): Pair {
  const theirs: Judge = (value) => isObject(value) && inner.theirs(value[member]);
  return { ours: kit.object({ [member]: inner.ours }), theirs };
}

function kind(type: string, check: Check): Check {
  return kit.both(kit.object({ type: kit.oneOf(type) }), check);
}

const results: { [type: string]: Pair } = {
  CallToolResult: result("tools/call", core.CallToolResultSchema),
  CompleteResult: result("completion/complete", core.CompleteResultSchema),
  DiscoverResult: result("server/discover", core.DiscoverResultSchema),
  GetPromptResult: result("prompts/get", core.GetPromptResultSchema),
  InitializeResult: result("initialize", core.InitializeResultSchema),
  ListPromptsResult: result("prompts/list", core.ListPromptsResultSchema),
  ListResourceTemplatesResult: result("resources/templates/list", core.ListResourceTemplatesResultSchema),
  ListResourcesResult: result("resources/list", core.ListResourcesResultSchema),
  ListToolsResult: result("tools/list", core.ListToolsResultSchema),
  ReadResourceResult: result("resources/read", core.ReadResourceResultSchema),
  SubscriptionsListenResult: result("subscriptions/listen", core.SubscriptionsListenResultSchema),
};

const theirInputs: { [method: string]: Zod } = {
  "elicitation/create": core.ElicitRequestSchema,
  "sampling/createMessage": core.CreateMessageRequestSchema,
  "roots/list": core.ListRootsRequestSchema,
};

const theirInputRequests: Judge = (value) =>
  isObject(value) &&
  Object.values(value).every((one) => isObject(one) && theirInputs[String(one.method)]?.safeParse(one).success);

const theirInputRequired: Judge = (value) =>
  core.ResultSchema.safeParse(value).success &&
  isObject(value) &&
  (value.inputRequests === undefined || theirInputRequests(value.inputRequests)) &&
  (value.requestState === undefined || typeof value.requestState === "string");

const pairs: { [type: string]: Pair } = {
  ...results,
  ...Object.fromEntries(Object.entries(results).map(([type, inner]) => [`${type}Response`, inMember("result", inner)])),
  InputRequiredResult: { ours: inputRequiredResult, theirs: theirInputRequired },
  InputRequests: { ours: inputRequests, theirs: theirInputRequests },

  CallToolRequest: request("tools/call", core.CallToolRequestSchema),
  CompleteRequest: request("completion/complete", core.CompleteRequestSchema),
  DiscoverRequest: request("server/discover", core.DiscoverRequestSchema),
  GetPromptRequest: request("prompts/get", core.GetPromptRequestSchema),
  InitializeRequest: request("initialize", core.InitializeRequestSchema),
  ListPromptsRequest: request("prompts/list", core.ListPromptsRequestSchema),
  ListResourceTemplatesRequest: request("resources/templates/list", core.ListResourceTemplatesRequestSchema),
  ListResourcesRequest: request("resources/list", core.ListResourcesRequestSchema),
  ListToolsRequest: request("tools/list", core.ListToolsRequestSchema),
  PingRequest: request("ping", core.PingRequestSchema),
  ReadResourceRequest: request("resources/read", core.ReadResourceRequestSchema),
  SetLevelRequest: request("logging/setLevel", core.SetLevelRequestSchema),
  SubscribeRequest: request("resources/subscribe", core.SubscribeRequestSchema),
  SubscriptionsListenRequest: request("subscriptions/listen", core.SubscriptionsListenRequestSchema),
  UnsubscribeRequest: request("resources/unsubscribe", core.UnsubscribeRequestSchema),
  CallToolRequestParams: pair(modernMethods.get("tools/call")?.params, core.CallToolRequestParamsSchema),
  CompleteRequestParams: pair(modernMethods.get("completion/complete")?.params, core.CompleteRequestParamsSchema),
  GetPromptRequestParams: pair(modernMethods.get("prompts/get")?.params, core.GetPromptRequestParamsSchema),
  PaginatedRequestParams: pair(modernMethods.get("tools/list")?.params, core.PaginatedRequestParamsSchema),

  ElicitRequest: request("elicitation/create", core.ElicitRequestSchema),
  ElicitRequestFormParams: pair(inputShapes.get("elicitation/create")?.params, core.ElicitRequestParamsSchema),
  ElicitRequestURLParams: pair(
    inputShapes.get("elicitation/create")?.params,
    core.ElicitRequestURLParamsSchema.partial({ elicitationId: true }).or(core.ElicitRequestFormParamsSchema),
  ),
  ElicitResult: result("elicitation/create", core.ElicitResultSchema),
  CreateMessageRequest: request("sampling/createMessage", core.CreateMessageRequestSchema),
  CreateMessageRequestParams: pair(
    inputShapes.get("sampling/createMessage")?.params,
    core.CreateMessageRequestParamsSchema,
  ),
  CreateMessageResult: result("sampling/createMessage", core.CreateMessageResultWithToolsSchema),
  ListRootsRequest: request("roots/list", core.ListRootsRequestSchema),
  ListRootsResult: result("roots/list", core.ListRootsResultSchema),

  CancelledNotification: notification("notifications/cancelled", core.CancelledNotificationSchema),
  ElicitationCompleteNotification: notification(
    "notifications/elicitation/complete",
    core.ElicitationCompleteNotificationSchema,
  ),
  InitializedNotification: notification("notifications/initialized", core.InitializedNotificationSchema),
  LoggingMessageNotification: notification("notifications/message", core.LoggingMessageNotificationSchema),
  ProgressNotification: notification("notifications/progress", core.ProgressNotificationSchema),
  PromptListChangedNotification: notification(
    "notifications/prompts/list_changed",
    core.PromptListChangedNotificationSchema,
  ),
  ResourceListChangedNotification: notification(
    "notifications/resources/list_changed",
    core.ResourceListChangedNotificationSchema,
  ),
  ResourceUpdatedNotification: notification("notifications/resources/updated", core.ResourceUpdatedNotificationSchema),
  RootsListChangedNotification: notification(
    "notifications/roots/list_changed",
    core.RootsListChangedNotificationSchema,
  ),
  SubscriptionsAcknowledgedNotification: notification(
    "notifications/subscriptions/acknowledged",
    core.SubscriptionsAcknowledgedNotificationSchema,
  ),
  ToolListChangedNotification: notification("notifications/tools/list_changed", core.ToolListChangedNotificationSchema),
  CancelledNotificationParams: pair(
    modernNotifications.get("notifications/cancelled"),
    core.CancelledNotificationParamsSchema,
  ),
  LoggingMessageNotificationParams: pair(
    modernNotifications.get("notifications/message"),
    core.LoggingMessageNotificationParamsSchema,
  ),
  ProgressNotificationParams: pair(
    modernNotifications.get("notifications/progress"),
    core.ProgressNotificationParamsSchema,
  ),
  ResourceUpdatedNotificationParams: pair(
    modernNotifications.get("notifications/resources/updated"),
    core.ResourceUpdatedNotificationParamsSchema,
  ),

  LegacyCallToolResult: pair(legacyResults.get("tools/call"), core.CallToolResultSchema),
  LegacyCallToolRequestParams: pair(legacyMethods.get("tools/call")?.params, core.CallToolRequestParamsSchema),
  LegacyCancelledNotificationParams: pair(
    legacyNotifications.get("notifications/cancelled"),
    core.CancelledNotificationParamsSchema,
  ),

  AudioContent: pair(kind("audio", content.contentBlock), core.AudioContentSchema),
  BlobResourceContents: pair(content.blobResourceContents, core.BlobResourceContentsSchema),
  ClientCapabilities: pair(clientCapabilities, core.ClientCapabilitiesSchema),
  EmbeddedResource: pair(kind("resource", content.contentBlock), core.EmbeddedResourceSchema),
  ImageContent: pair(kind("image", content.contentBlock), core.ImageContentSchema),
  Resource: pair(content.resource, core.ResourceSchema),
  ResourceLink: pair(kind("resource_link", content.contentBlock), core.ResourceLinkSchema),
  Root: pair(root, core.RootSchema),
  SamplingMessage: pair(samplingMessage, core.SamplingMessageSchema),
  ServerCapabilities: pair(serverCapabilities, core.ServerCapabilitiesSchema),
  TextContent: pair(kind("text", content.contentBlock), core.TextContentSchema),
  TextResourceContents: pair(content.textResourceContents, core.TextResourceContentsSchema),
  Tool: pair(content.tool, core.ToolSchema),
  ToolResultContent: pair(kind("tool_result", samplingContent), core.ToolResultContentSchema),
  ToolUseContent: pair(kind("tool_use", samplingContent), core.ToolUseContentSchema),
};

/** Examples of whole messages whose checks live elsewhere. */
const notOurs = /Error$|^InputResponses$|^ModelPreferences$|Schema$/;

interface Difference {
  /** Which of the two takes what the other refuses. */
  readonly wider: "ours" | "theirs";
  readonly type: RegExp;
  readonly change: RegExp;
  readonly why: string;
}

const differences: readonly Difference[] = [
  {
    wider: "ours",
    type: /./,
    change: /\/extensions\b|^(replace|add) \/extensions/,
    why: "an extension that is announced in a way that makes no sense counts as not announced",
  },
  {
    wider: "ours",
    type: /./,
    change: /\/icons\b/,
    why: "icons are decoration: what is wrong with them never fails what they decorate",
  },
  {
    wider: "ours",
    type: /Result(Response)?$|Content$|^(Prompt|Sampling)Message|^CreateMessage/,
    change: /content(\/\d+)?(\/content\/\d+)?\/type by "mutant"$/,
    why: "a content block of an unknown kind reaches the caller as it came",
  },
  {
    wider: "ours",
    type: /^List.*Result(Response)?$/,
    change: /^replace (\/result)?\/nextCursor by null$/,
    why: "a null cursor ends a list",
  },
  {
    wider: "ours",
    type: /^InputReq/,
    change: /\/method by "mutant"$/,
    why: "an input request of an unknown kind is refused by name, by whoever was asked",
  },
  {
    wider: "ours",
    type: /^Elicit|^InputReq/,
    change: /drop .*\/elicitationId$/,
    why: "only one version has an elicitationId",
  },
  {
    wider: "theirs",
    type: /^CallToolResult/,
    change: /^drop (\/result)?\/content$|^replace (\/result)? by \{/,
    why: "a tool result without content is complete only where the version has no resultType to tell",
  },
  {
    wider: "theirs",
    type: /^Cancelled/,
    change: /^drop (\/params)?\/requestId$|^replace (\/params)? by \{/,
    why: "a cancellation that names no request is malformed",
  },
  {
    wider: "theirs",
    type: /^(ReadResource|Subscribe|Unsubscribe|Subscriptions|SubscriptionFilter)/,
    change: /\/uri by|\/resourceSubscriptions(\/\d+)? by/,
    why: "a resource is named by an absolute URI",
  },
  {
    wider: "ours",
    type: /^Elicit|^InputReq/,
    change: /\/requestedSchema\b/,
    why: "a form of any shape reaches the handler that is to fill it in",
  },
];

/** Whether a pointer leads to a member, or to where a missing member would be. */
function leadsToMember(value: unknown, path: string): boolean {
  const parents = path.split("/").slice(1, -1);
  const parent = parents.reduce<unknown>(
    (at, name) => (at as { [name: string]: unknown })[unescapeSegment(name)],
    value,
  );
  return path === "" || (typeof parent === "object" && parent !== null);
}

function unescapeSegment(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

describe("our checks agree with the official schemas", () => {
  const used = new Set<Difference>();
  for (const { type, name, value } of protocolExamples().filter(({ type }) => !notOurs.test(type))) {
    test(`${type}: ${name}`, () => {
      const judged = pairs[type];
      ok(judged !== undefined, `no check is compared for ${type}`);
      deepEqual(judged.ours(value), undefined);
      const surprises = new Set<string>();
      for (const mutant of mutantsOf(value)) {
        const ours = judged.ours(mutant.value) === undefined;
        if (ours === judged.theirs(mutant.value)) continue;
        const wider = ours ? "ours" : "theirs";
        const known = differences.find((d) => d.wider === wider && d.type.test(type) && d.change.test(mutant.change));
        if (known === undefined) surprises.add(`${wider} takes: ${mutant.change}`);
        else used.add(known);
      }
      deepEqual([...surprises], []);
    });

    test(`${type}: ${name}: a problem has a place and no value`, () => {
      for (const { value: mutated } of mutantsOf(value)) {
        const problem = pairs[type]?.ours(mutated);
        if (problem === undefined) continue;
        ok(!problem.expected.includes("mutant"), problem.expected);
        ok(leadsToMember(mutated, problem.path), `${problem.path} is not in the value`);
      }
    });
  }

  test("every difference in the table is met", () => {
    deepEqual(
      differences.filter((difference) => !used.has(difference)).map(({ why }) => why),
      [],
    );
  });
});
