import { deepEqual, equal, match, ok } from "node:assert/strict";
import { RpcError } from "#src/protocol/errors.js";
import { gate } from "../../support/gate.js";
import { defineServer, eachHost, faultOf, readMessages, resultOf } from "../../support/modern-hosts.js";
import { modernRequest, type RequestInit, sseMessages } from "../../support/modern-request.js";
import { verifies } from "../../support/verifies.js";

const call = (name: string, init: RequestInit = {}) =>
  modernRequest("tools/call", { ...init, params: { name, arguments: {} } });
const PROGRESS = { meta: { progressToken: "p" } };
const SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId";

verifies(["hosting:http:modern:endpoint-post"], "one address answers every method", eachHost, async ({ serve }) => {
  const server = defineServer()
    .tool("echo", {}, () => "hi")
    .prompt("ask", {}, () => "please")
    .resource("note://1", { name: "note" }, () => "text");
  const send = await serve(server);
  for (const request of [
    modernRequest("server/discover"),
    modernRequest("tools/list"),
    modernRequest("prompts/list"),
    modernRequest("resources/list"),
    call("echo"),
    modernRequest("prompts/get", { params: { name: "ask" } }),
    modernRequest("resources/read", { params: { uri: "note://1" } }),
  ]) {
    const response = await send(request);
    equal(response.status, 200, request.body.method);
    equal((await resultOf(response)).resultType, "complete");
  }
  const stream = await send(
    modernRequest("subscriptions/listen", { params: { notifications: { toolsListChanged: true } } }),
  );
  equal(stream.status, 200);
  await stream.body?.cancel();
});

verifies(
  "hosting:http:modern:tools-call-stateless",
  "the first request ever is a call",
  eachHost,
  async ({ serve }) => {
    const send = await serve(defineServer().tool("echo", {}, () => "hi"));
    const response = await send(call("echo"));
    equal(response.status, 200);
    const result = await resultOf(response);
    equal(result.resultType, "complete");
    deepEqual(result.content, [{ type: "text", text: "hi" }]);
  },
);

verifies(
  [
    "typescript:hosting:entry:modern-lazy-sse-upgrade",
    "hosting:http:x-accel-buffering",
    "hosting:http:modern:no-resumability-bytes",
    "hosting:http:modern:no-session-id",
  ],
  "JSON for a silent call, a stream for one that speaks",
  eachHost,
  async ({ serve }) => {
    const server = defineServer({ http: { retryMs: 1000 } })
      .tool("silent", {}, () => "hi")
      .tool("talking", {}, (_, ctx) => {
        ctx.progress(1, 2);
        ctx.progress(2, 2);
        return "hi";
      });
    const send = await serve(server);
    const silent = await send(call("silent", PROGRESS));
    equal(silent.headers.get("content-type"), "application/json");
    equal(silent.headers.get("mcp-session-id"), null);
    await silent.text();

    const talking = await send(call("talking", PROGRESS));
    equal(talking.headers.get("content-type"), "text/event-stream");
    equal(talking.headers.get("x-accel-buffering"), "no");
    equal(talking.headers.get("mcp-session-id"), null);
    const text = await talking.text();
    deepEqual(
      sseMessages(text).map((message) => message.method ?? "answer"),
      ["notifications/progress", "notifications/progress", "answer"],
    );
    ok(!/^(id|retry):/m.test(text));
    const listening = await send(
      modernRequest("subscriptions/listen", { params: { notifications: { toolsListChanged: true } } }),
    );
    equal(listening.headers.get("x-accel-buffering"), "no");
    equal(listening.headers.get("mcp-session-id"), null);
    await listening.body?.cancel();
    const headers = { "mcp-session-id": "live" };
    for (const request of [
      call("silent", { headers }),
      call("talking", { ...PROGRESS, headers }),
      call("missing", { headers }),
      modernRequest("no/such", { headers }),
      call("silent", { headers: { ...headers, "mcp-name": "other" } }),
      call("silent", { headers: { ...headers, accept: "text/html" } }),
      { headers: { ...call("silent").headers, ...headers }, body: [] },
    ]) {
      const response = await send(request);
      equal(response.headers.get("mcp-session-id"), null);
      await response.text();
    }
  },
);

verifies(
  "hosting:http:modern:related-notifications-only",
  "a call's stream is its own",
  eachHost,
  async ({ serve }) => {
    const started = gate();
    const finish = gate();
    const server = defineServer()
      .tool("slow", {}, async (_, ctx) => {
        ctx.progress(1);
        started.open();
        await finish.opened;
        await ctx.log("info", "of slow");
        return "done";
      })
      .tool("other", {}, (_, ctx) => {
        ctx.progress(7);
        ctx.log("info", "of other");
        return "hi";
      });
    const send = await serve(server);
    const logs = { "io.modelcontextprotocol/logLevel": "info" };
    const slow = await send(call("slow", { meta: { progressToken: "slow", ...logs } }));
    await started.opened;
    server.tool("new", {}, () => "new");
    server.changes.toolsChanged();
    const other = sseMessages(await (await send(call("other", { meta: { progressToken: "other", ...logs } }))).text());
    deepEqual(
      other.map(({ params }) => (params as { data?: string } | undefined)?.data),
      [undefined, "of other", undefined],
    );
    finish.open();
    const messages = sseMessages(await slow.text());
    equal(messages.length, 3);
    deepEqual(messages[0]?.params, { progressToken: "slow", progress: 1 });
    equal((messages[1]?.params as { data?: string } | undefined)?.data, "of slow");
    ok("result" in (messages[2] ?? {}));
  },
);

verifies(
  ["hosting:http:modern:listen-always-sse", "hosting:http:modern:listen-stream-scope"],
  eachHost,
  async ({ serve }) => {
    for (const http of [{ responseMode: "json" }, { responseMode: "prefer-json" }, {}] as const) {
      const server = defineServer({ http }).tool("talking", {}, (_, ctx) => {
        ctx.progress(1);
        ctx.log("error", "noise");
        return "hi";
      });
      const send = await serve(server);
      const filter = { id: "s", params: { notifications: { toolsListChanged: true } } };
      const response = await send(modernRequest("subscriptions/listen", filter));
      equal(response.headers.get("content-type"), "text/event-stream");
      const stream = readMessages(response);
      equal((await stream.next())?.method, "notifications/subscriptions/acknowledged");
      const meta = { progressToken: 1, "io.modelcontextprotocol/logLevel": "debug" };
      const said = await (await send(call("talking", { meta }))).text();
      equal(said.includes("noise"), http.responseMode !== "json");
      server.tool("new", {}, () => "new");
      const change = await stream.next();
      equal(change?.method, "notifications/tools/list_changed");
      deepEqual(change?.params, { _meta: { [SUBSCRIPTION_KEY]: "s" } });
      await stream.leave();
      const refused = await send(
        modernRequest("subscriptions/listen", { ...filter, headers: { accept: "application/json" } }),
      );
      deepEqual(await faultOf(refused), [406, -32600, "s"]);
    }
  },
);

verifies(
  ["hosting:http:modern:last-event-id-ignored", "hosting:http:modern:session-id-ignored"],
  "leftovers of older versions change nothing",
  eachHost,
  async ({ serve }) => {
    const seen: (string | undefined)[] = [];
    const send = await serve(
      defineServer().tool("echo", {}, (_, ctx) => {
        seen.push(ctx.sessionId);
        return "hi";
      }),
    );
    for (const headers of [{ "last-event-id": "5" }, { "mcp-session-id": "live" }, { "mcp-session-id": "\u00ff%%" }]) {
      const response = await send(call("echo", { headers }));
      equal(response.status, 200);
      equal(response.headers.get("mcp-session-id"), null);
      await response.text();
    }
    deepEqual(seen, [undefined, undefined, undefined]);
  },
);

verifies("hosting:http:modern:notification-post-202", eachHost, async ({ serve }) => {
  const started = gate();
  const finish = gate();
  let ended = false;
  const send = await serve(
    defineServer().tool("slow", {}, async (_, ctx) => {
      started.open();
      await finish.opened;
      ended = ctx.signal.aborted;
      return "done";
    }),
  );
  const running = send(call("slow", { id: 1 }));
  await started.opened;
  const { headers } = modernRequest("x");
  for (const method of ["notifications/cancelled", "x/custom"]) {
    const response = await send({
      headers: { ...headers, "mcp-method": method },
      body: { jsonrpc: "2.0", method, params: { requestId: 1 } },
    });
    equal(response.status, 202);
    equal(await response.text(), "");
  }
  const meta = { "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
  const unserved = await send({
    headers: { ...headers, "mcp-method": undefined, "mcp-protocol-version": "2099-01-01" },
    body: { jsonrpc: "2.0", method: "x/custom", params: { _meta: meta } },
  });
  deepEqual(await faultOf(unserved), [400, -32022, undefined]);
  finish.open();
  equal((await running).status, 200);
  equal(ended, false);
});

verifies("hosting:http:modern:response-post-rejected", eachHost, async ({ serve }) => {
  const started = gate();
  const finish = gate();
  const send = await serve(
    defineServer().tool("slow", {}, async (_, ctx) => {
      started.open();
      await finish.opened;
      return `aborted: ${ctx.signal.aborted}`;
    }),
  );
  const running = send(call("slow", { id: 1 }));
  await started.opened;
  const { headers } = modernRequest("x");
  for (const body of [
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: 1, error: { code: -32000, message: "no" } },
  ]) {
    deepEqual(await faultOf(await send({ headers, body })), [400, -32600, undefined]);
  }
  finish.open();
  deepEqual((await resultOf(await running)).content, [{ type: "text", text: "aborted: false" }]);
});

verifies(
  ["hosting:http:modern:method-not-found-404", "hosting:http:modern:initialize-removed"],
  "a method that is not there is 404",
  eachHost,
  async ({ serve }) => {
    const send = await serve(defineServer().tool("echo", {}, () => "hi"));
    for (const method of [
      "made/up",
      "prompts/list",
      "toString",
      "__proto__",
      "initialize",
      "ping",
      "logging/setLevel",
    ]) {
      const response = await send(
        modernRequest(method, { id: "x", params: method === "initialize" ? { protocolVersion: "2026-07-28" } : {} }),
      );
      equal(response.headers.get("mcp-session-id"), null);
      deepEqual(await faultOf(response), [404, -32601, "x"], method);
    }
  },
);

verifies("hosting:http:modern:unsupported-version-400", eachHost, async ({ serve }) => {
  const send = await serve(defineServer());
  for (const version of ["2099-01-01", "2025-11-25"]) {
    const response = await send(
      modernRequest("server/discover", {
        id: 5,
        meta: { "io.modelcontextprotocol/protocolVersion": version },
        headers: { "mcp-protocol-version": version },
      }),
    );
    equal(response.status, 400);
    const body = (await response.json()) as { id: number; error: { code: number; data: unknown } };
    equal(body.id, 5);
    equal(body.error.code, -32022);
    deepEqual(body.error.data, { supported: ["2026-07-28"], requested: version });
  }
});

verifies("hosting:http:modern:envelope-missing-key-status-400", eachHost, async ({ serve }) => {
  const send = await serve(defineServer().tool("echo", {}, () => "hi"));
  for (const [key, value] of [
    ["protocolVersion", undefined],
    ["protocolVersion", 1],
    ["clientCapabilities", undefined],
    ["clientCapabilities", []],
  ] as const) {
    const response = await send(call("echo", { meta: { [`io.modelcontextprotocol/${key}`]: value } }));
    equal(response.status, 400);
    const body = (await response.json()) as { error: { code: number; message: string } };
    equal(body.error.code, -32602);
    match(body.error.message, new RegExp(key));
  }
  const anonymous = await send(call("echo", { meta: { "io.modelcontextprotocol/clientInfo": undefined } }));
  equal(anonymous.status, 200);
  await anonymous.text();
});

verifies("hosting:http:modern:missing-capability-400", eachHost, async ({ serve }) => {
  const server = defineServer()
    .tool("elicits", {}, async (_, ctx) => JSON.stringify(await ctx.elicit("?", { type: "object", properties: {} })))
    .tool("asks", {}, async (_, ctx) => ctx.sample({ messages: [], maxTokens: 1 }))
    .tool("speaks", {}, async (_, ctx) => {
      await ctx.progress(1);
      return ctx.sample({ messages: [], maxTokens: 1 });
    });
  const send = await serve(server);
  for (const [name, requiredCapabilities] of [
    ["elicits", { elicitation: {} }],
    ["asks", { sampling: {} }],
  ] as const) {
    const refused = await send(call(name));
    equal(refused.status, 400);
    const { error } = (await refused.json()) as { error: { code: number; data: unknown } };
    equal(error.code, -32021);
    deepEqual(error.data, { requiredCapabilities });
  }

  const streamed = await send(call("speaks", PROGRESS));
  equal(streamed.status, 200);
  const last = sseMessages(await streamed.text()).at(-1) as { error: { code: number } };
  equal(last.error.code, -32021);
});

verifies("hosting:http:modern:handler-error-in-band-200", eachHost, async ({ serve }) => {
  const server = defineServer();
  for (const code of [-32601, -32602, -32603, 4711]) {
    server.tool(`fails${code}`, {}, () => {
      throw new RpcError(code, "mine", { why: "because" });
    });
  }
  const send = await serve(server);
  for (const code of [-32601, -32602, -32603, 4711]) {
    const response = await send(call(`fails${code}`));
    equal(response.status, 200);
    const { error } = (await response.json()) as { error: unknown };
    deepEqual(error, { code, message: "mine", data: { why: "because" } });
  }
  deepEqual(await faultOf(await send(modernRequest("made/up"))), [404, -32601, 1]);
});

verifies("hosting:http:modern:handler-exception-internal-error", eachHost, async ({ serve }) => {
  const errors: unknown[] = [];
  const server = defineServer({ onError: (error) => errors.push(error) }).prompt("crash", {}, () => {
    throw new Error("the password is hunter2");
  });
  const send = await serve(server);
  const response = await send(modernRequest("prompts/get", { params: { name: "crash" } }));
  const text = await response.text();
  ok(!text.includes("hunter2"));
  equal((JSON.parse(text) as { error: { code: number } }).error.code, -32603);
  deepEqual(errors.map(String), ["Error: the password is hunter2"]);
});

verifies("hosting:http:modern:error-after-stream-open", eachHost, async ({ serve }) => {
  const send = await serve(
    defineServer().tool("breaks", {}, async (_, ctx) => {
      await ctx.progress(1);
      throw new RpcError(4711, "broken");
    }),
  );
  const response = await send(call("breaks", PROGRESS));
  equal(response.status, 200);
  const messages = sseMessages(await response.text());
  equal(messages.length, 2);
  deepEqual(messages[1]?.error, { code: 4711, message: "broken" });
});

verifies("hosting:http:modern:error-id-echo", eachHost, async ({ serve }) => {
  const send = await serve(defineServer().tool("echo", {}, () => "hi"));
  for (const id of [7, "7"]) {
    for (const request of [
      call("echo", { id, headers: { "mcp-name": "other" } }),
      call("echo", { id, headers: { accept: "image/png" } }),
      call("echo", { id, meta: { "io.modelcontextprotocol/clientCapabilities": undefined } }),
      call("echo", {
        id,
        meta: { "io.modelcontextprotocol/protocolVersion": "x" },
        headers: { "mcp-protocol-version": "x" },
      }),
      modernRequest("made/up", { id }),
      modernRequest("tools/call", { id }),
    ]) {
      const [status, , echoed] = await faultOf(await send(request));
      ok(status >= 400);
      equal(echoed, id);
    }
  }
});

verifies("hosting:http:modern:validation-order", eachHost, async ({ serve }) => {
  const send = await serve(defineServer().tool("echo", {}, () => "hi"));
  const future = { "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
  const bare = { "io.modelcontextprotocol/clientCapabilities": undefined };
  for (const [request, status, code] of [
    [call("echo", { meta: bare, headers: { "content-type": "text/plain" } }), 415, -32600],
    [call("echo", { meta: bare, headers: { "mcp-method": "x" } }), 400, -32602],
    [call("echo", { meta: future }), 400, -32020],
    [modernRequest("made/up", { headers: { "mcp-method": undefined } }), 400, -32020],
    [modernRequest("made/up", { meta: future, headers: { "mcp-protocol-version": "2099-01-01" } }), 400, -32022],
    [modernRequest("made/up", { params: { name: 5 } }), 404, -32601],
    [modernRequest("tools/call", { meta: bare }), 400, -32602],
    [modernRequest("tools/call", { params: { arguments: 5 } }), 400, -32602],
  ] as const) {
    // A body of the wrong type is not read, so that its id stays unknown.
    deepEqual(await faultOf(await send(request)), [status, code, status === 415 ? undefined : 1]);
  }
});
