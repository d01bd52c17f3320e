import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import {
  acceptedContent,
  createRequestStateCodec,
  fromJsonSchema,
  InMemoryTransport,
  inputRequired,
  isCompletable,
  legacyStatelessFallback,
  ResourceTemplate as OfficialTemplate,
  PerRequestHTTPServerTransport,
  ProtocolError,
  ResourceNotFoundError,
  UriTemplate,
} from "@modelcontextprotocol/server";
import { connect, type RpcError } from "bowline/client";
import * as compat from "bowline/compat";
import { completable, getCompleter, McpServer, ResourceTemplate, unwrapCompletable } from "bowline/compat";
import * as z from "zod";

const INFO = { name: "moving", version: "1.0.0" };
const ERAS = ["legacy", "modern"] as const;
const form = { type: "object", properties: { city: { type: "string" } } } as const;

/** Modules with servers, their transports and their definitions. `bowline/compat` takes their place. */
const REPLACED = [
  "@modelcontextprotocol/sdk/server/mcp.js",
  "@modelcontextprotocol/sdk/server/index.js",
  "@modelcontextprotocol/sdk/server/stdio.js",
  "@modelcontextprotocol/sdk/server/completable.js",
  "@modelcontextprotocol/sdk/server/streamableHttp.js",
  "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js",
  "@modelcontextprotocol/server/stdio",
];

/** Names of version 2 that a program continues to import from the official SDK, by what they are. */
const OFFICIAL = {
  "constants and schemas": [
    ["BAGGAGE_META_KEY", "CLIENT_CAPABILITIES_META_KEY", "CLIENT_INFO_META_KEY", "DEFAULT_MAX_REQUEST_BODY_SIZE"],
    ["DEFAULT_NEGOTIATED_PROTOCOL_VERSION", "DEFAULT_REQUEST_TIMEOUT_MSEC", "INTERNAL_ERROR", "INVALID_PARAMS"],
    ["INVALID_REQUEST", "JSONRPC_VERSION", "LATEST_PROTOCOL_VERSION", "LOG_LEVEL_META_KEY", "METHOD_NOT_FOUND"],
    ["OAuthErrorCode", "PARSE_ERROR", "PROTOCOL_VERSION_META_KEY", "ProtocolErrorCode", "RELATED_TASK_META_KEY"],
    [
      "SERVER_INFO_META_KEY",
      "STDIO_DEFAULT_MAX_BUFFER_SIZE",
      "SUBSCRIPTION_ID_META_KEY",
      "SUPPORTED_PROTOCOL_VERSIONS",
    ],
    ["SdkErrorCode", "TRACEPARENT_META_KEY", "TRACESTATE_META_KEY", "specTypeSchemas", "preloadSchemas", "isSpecType"],
  ],
  errors: [
    ["MissingRequiredClientCapabilityError", "OAuthError", "ProtocolError", "ResourceNotFoundError", "SdkError"],
    ["SdkHttpError", "UnsupportedProtocolVersionError", "UrlElicitationRequiredError"],
  ],
  "questions to the client": [["acceptedContent", "createRequestStateCodec", "inputRequired", "inputResponse"]],
  "transports and messages": [
    ["InMemoryTransport", "Protocol", "ReadBuffer", "deserializeMessage", "serializeMessage", "parseJSONRPCMessage"],
    ["isCallToolResult", "isInitializeRequest", "isInitializedNotification", "isInputRequiredResult"],
    ["isJSONRPCErrorResponse", "isJSONRPCNotification", "isJSONRPCRequest", "isJSONRPCResponse"],
    ["isJSONRPCResultResponse", "isJsonContentType", "isTaskAugmentedRequestParams", "mergeCapabilities"],
    ["assertCompleteRequestPrompt", "assertCompleteRequestResourceTemplate", "getDisplayName", "createFetchWithInit"],
    ["UriTemplate", "fromJsonSchema"],
  ],
  "checks of HTTP requests": [
    ["bearerAuthChallengeResponse", "buildOAuthProtectedResourceMetadata", "checkResourceAllowed", "requireScopes"],
    ["getOAuthProtectedResourceMetadataUrl", "hostHeaderValidationResponse", "localhostAllowedHostnames"],
    ["localhostAllowedOrigins", "oauthMetadataResponse", "originValidationResponse", "readRequestBody"],
    ["requireBearerAuth", "resourceUrlFromServerUrl", "validateHostHeader", "validateOriginHeader"],
    ["verifyBearerToken", "classifyInboundRequest", "isLegacyRequest"],
  ],
  // The first takes effect in createMcpHandler only. The second connects a transport. Both are refused.
  "parts of what is refused": [["InMemoryServerEventBus", "legacyStatelessFallback"]],
};

const namesOf = async (specifier: string) => Object.keys(await import(specifier));

test("compat has each name of the modules that it replaces", async () => {
  for (const specifier of REPLACED)
    for (const name of await namesOf(specifier)) equal(name in compat, true, `${name} of ${specifier}`);
});

test("each name of version 2 is in compat, or comes from the official SDK", async () => {
  const missing = (await namesOf("@modelcontextprotocol/server")).filter((name) => !(name in compat));
  deepEqual(missing.sort(), Object.values(OFFICIAL).flat(2).sort());
});

test("what compat refuses says what to use", async () => {
  const sentence = /^Error: \S+ is not available in bowline\/compat: serve the server with serveHttp/;
  throws(() => new compat.PerRequestHTTPServerTransport({}), sentence);
  const errors: unknown[] = [];
  const fallback = legacyStatelessFallback(
    () => new McpServer(INFO) as never,
    (error) => void errors.push(error),
  );
  const ping = {
    method: "POST",
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    headers: { "content-type": "application/json" },
  };
  equal((await fallback(new Request("http://localhost/mcp", ping))).status, 500);
  match(String(errors[0]), sentence);
  const theirs = new OfficialTemplate("x://{id}", { list: undefined });
  throws(
    () => new McpServer(INFO).registerResource("r", theirs as never, {}, () => ({ contents: [] })),
    /^Error: ResourceTemplate of the official SDK is not available in bowline\/compat: import it from bowline\/compat/,
  );
  const transport = new PerRequestHTTPServerTransport({} as never);
  await rejects(new McpServer(INFO).connect(transport), /PerRequest\S+ is not available in bowline\/compat: serve the/);
});

test("helpers of completable know the schemas of compat and of the official SDK", () => {
  const complete = () => ["Oslo"];
  const [own, plain] = [completable(z.string(), complete), z.string()];
  deepEqual([isCompletable(own), compat.isCompletable(own), compat.isCompletable(plain)], [true, true, false]);
  deepEqual([compat.isCompletable(undefined), compat.isCompletable("x")], [false, false]);
  equal(getCompleter(own), complete);
  equal(getCompleter(plain), undefined);
  equal(unwrapCompletable(own), own);
  equal(Object.getOwnPropertyDescriptor(own, compat.COMPLETABLE_SYMBOL)?.value.complete, complete);
});

for (const era of ERAS)
  test(`helpers of version 2 work in handlers (${era})`, async () => {
    const codec = createRequestStateCodec<{ n: number }>({ key: "k".repeat(32) });
    const errors: unknown[] = [];
    const server = new McpServer(INFO, {
      requestState: { verify: codec.verify },
      bowline: { onError: (error) => void errors.push(error) },
    });
    server.registerTool("ask", { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
      const state = mcpReq.requestState<{ n: number }>();
      const content = acceptedContent<{ city: string }>(mcpReq.inputResponses as never, "q");
      if (content !== undefined) return { content: [{ type: "text", text: `${content.city} ${state?.n}` }] };
      const q = inputRequired.elicit({ message: "Where?", requestedSchema: form } as never);
      return inputRequired({ inputRequests: { q }, requestState: await codec.mint({ n: 5 }, {} as never) }) as never;
    });
    const schema = fromJsonSchema<{ a: number }>({ type: "object", properties: { a: { type: "number" } } });
    server.registerTool("double", { inputSchema: schema }, ({ a }) => ({
      content: [{ type: "text", text: String(2 * a) }],
    }));
    server.registerResource("r", new ResourceTemplate(new UriTemplate("x://{id}")), {}, (uri) => {
      throw new ResourceNotFoundError(String(uri));
    });
    server.registerPrompt("p", {}, () => {
      throw new ProtocolError(-32001, "mine", { x: 1 });
    });
    const client = await connect(server.bowline, {
      era,
      onElicit: () => ({ action: "accept", content: { city: "Rome" } }),
    });
    equal((await client.callTool("ask")).text, "Rome 5");
    equal((await client.callTool("double", { a: 2 })).text, "4");
    const codeOf = ({ rpcCode, data }: RpcError) => [rpcCode, data];
    deepEqual(await client.readResource("x://1").catch(codeOf), [-32602, { uri: "x://1" }]);
    deepEqual(await client.getPrompt("p").catch(codeOf), [-32001, { x: 1 }]);
    deepEqual(errors, []);
    await client.close();
  });

for (const era of ERAS)
  test(`a state that a program does not accept ends the call (${era})`, async () => {
    let runs = 0;
    const verify = (state: string) => {
      if (state === "second") throw new Error("my reason");
    };
    const errors: unknown[] = [];
    const server = new McpServer(INFO, {
      requestState: { verify },
    });
    server.server.onerror = (error) => void errors.push(error);
    server.registerTool("ask", {}, (({ mcpReq }: compat.HandlerExtra) => {
      runs++;
      const state = mcpReq.requestState<string>();
      const q = inputRequired.elicit({ message: "Where?", requestedSchema: form } as never);
      return inputRequired({ inputRequests: { q }, requestState: state === "first" ? "second" : "first" });
    }) as never);
    const client = await connect(server.bowline, { era, onElicit: () => ({ action: "decline" }) });
    await rejects(client.callTool("ask"), ({ rpcCode, message, data }: RpcError) => {
      deepEqual(
        [rpcCode, message, data],
        [-32602, "Invalid or expired requestState", { reason: "invalid_request_state" }],
      );
      return true;
    });
    equal(runs, 2);
    match(String(errors[0]), /my reason/);
    await client.close();
  });

test("transports of the official SDK that carry one client are accepted", async (t) => {
  const server = new McpServer(INFO);
  server.registerTool("who", {}, () => ({ content: [{ type: "text", text: "me" }] }));
  const transports = new Map<string, SSEServerTransport>();
  const http = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    if (request.method === "GET") {
      const transport = new SSEServerTransport("/messages", response);
      transports.set(transport.sessionId, transport);
      void server.connect(transport as never);
    } else if (url.pathname === "/messages")
      void transports.get(url.searchParams.get("sessionId") ?? "")?.handlePostMessage(request, response);
    else response.writeHead(405).end();
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  const client = await connect(`http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`, { era: "legacy" });
  t.after(() => client.close());
  equal((await client.callTool("who")).text, "me");
  const [theirs, ours] = InMemoryTransport.createLinkedPair();
  await new McpServer(INFO).connect(theirs as never);
  await ours.start();
  await ours.close();
});
