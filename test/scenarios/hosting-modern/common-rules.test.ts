import { deepEqual, equal, match, ok } from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { connect } from "bowline/client";
import { legacyServer } from "#src/era/legacy/server/era.js";
import { modernServer } from "#src/era/modern/server/era.js";
import { gate } from "../../support/gate.js";
import { defineServer, eachHost, faultOf, readMessages } from "../../support/modern-hosts.js";
import { modernRequest, type RequestInit, sseMessages, VERSION } from "../../support/modern-request.js";
import { onEachHost } from "../../support/plain-http.js";
import { proves, verifies } from "../../support/verifies.js";

/** Rules of Streamable HTTP that hold in every version, shown with the messages of 2026-07-28. */
const http = { wire: "modern-http" };
const call = (name: string, init: RequestInit = {}) =>
  modernRequest("tools/call", { ...init, params: { name, arguments: {} } });
const PROGRESS = { meta: { progressToken: "p" } };
const versionHeader = (version: string) => ({ "mcp-protocol-version": version });

verifies("hosting:http:batch", "an array is refused whole", eachHost, async ({ serve }) => {
  const ran: string[] = [];
  const send = await serve(
    defineServer().tool("echo", {}, () => {
      ran.push("echo");
      return "hi";
    }),
  );
  const { headers, body } = call("echo");
  const note = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
  for (const batch of [[], [body], [body, { ...body, id: 2 }], [note]]) {
    deepEqual(await faultOf(await send({ headers, body: batch })), [400, -32600, undefined]);
  }
  deepEqual(ran, []);
  equal((await send({ headers, body })).status, 200);
  deepEqual(ran, ["echo"]);
});

proves("hosting:http:allow-header", http, "each endpoint lists the methods that it serves", async (t) => {
  for (const [eras, sessions, allowed] of [
    [[modernServer], undefined, "POST"],
    [[modernServer, legacyServer], undefined, "POST, GET, DELETE"],
    [[modernServer, legacyServer], false, "POST"],
    [[legacyServer], undefined, "POST, GET, DELETE"],
    [[legacyServer], false, "POST"],
  ] as const) {
    const version = eras[0] === modernServer ? VERSION : "2025-11-25";
    const options = sessions === undefined ? {} : { http: { sessions } };
    await onEachHost(
      t,
      () => defineServer(options, eras),
      async (ask) => {
        for (const method of ["GET", "DELETE", "PUT", "PATCH"]) {
          if (allowed.includes(method)) continue;
          const { status, headers } = await ask({ method, headers: versionHeader(version) });
          equal(status, 405, method);
          equal(headers.allow, allowed, `${method} of ${eras.length} eras`);
        }
      },
    );
  }
});

verifies(
  ["hosting:http:json-response-mode", "hosting:http:request-content-type"],
  "one object or one stream, labelled, whatever becomes of the call",
  eachHost,
  async ({ serve }) => {
    for (const http of [{ responseMode: "json" }, { responseMode: "prefer-json" }, {}] as const) {
      const server = defineServer({ http, onError: () => {} })
        .tool("quiet", {}, () => "hi")
        .tool("talking", {}, async (_, ctx) => {
          await ctx.progress(1);
          return "hi";
        })
        .tool("fails", {}, () => {
          throw new Error("a tool error");
        })
        .prompt("crash", {}, () => {
          throw new Error("a crash");
        });
      const send = await serve(server);
      for (const [request, status] of [
        [call("quiet"), 200],
        [call("talking", PROGRESS), 200],
        [call("fails"), 200],
        [call("none"), 200],
        [modernRequest("prompts/get", { params: { name: "crash" } }), 200],
        [modernRequest("x/none"), 404],
      ] as const) {
        const response = await send(request);
        equal(response.status, status, JSON.stringify(request.body));
        const streams = request.body.params.name === "talking" && http.responseMode !== "json";
        equal(response.headers.get("content-type"), streams ? "text/event-stream" : "application/json");
        const text = await response.text();
        const messages = streams ? sseMessages(text) : [JSON.parse(text)];
        equal(messages.filter(({ id }) => id === 1).length, 1);
      }
    }
  },
);

for (const era of ["modern", "legacy"] as const) {
  proves("hosting:http:json-response-mode", { wire: `${era}-http` }, "a client completes its calls", async (t) => {
    const server = defineServer({ http: { responseMode: "json" } }, [modernServer, legacyServer]);
    server.tool("echo", {}, () => "hi");
    t.after(() => server.close());
    const types: (string | null)[] = [];
    const client = await connect("http://localhost/mcp", {
      era,
      fetch: async (url, init) => {
        const response = await server.fetch(new Request(url, init));
        if (String(init.body).includes("tools/call")) types.push(response.headers.get("content-type"));
        return response;
      },
    });
    t.after(() => client.close());
    for (let count = 0; count < 3; count++) equal((await client.callTool("echo", {})).text, "hi");
    deepEqual(types, ["application/json", "application/json", "application/json"]);
  });
}

verifies(
  ["hosting:http:response-same-connection", "transport:streamable-http:notifications"],
  "each message on the stream of its own call, in order, before the answer",
  eachHost,
  async ({ serve }) => {
    const both = gate();
    let running = 0;
    const send = await serve(
      defineServer().tool("talk", {}, async (_, ctx) => {
        if (++running === 2) both.open();
        await both.opened;
        await ctx.progress(1);
        await ctx.log("info", "said");
        await ctx.progress(2);
        return "done";
      }),
    );
    const filter = { id: "listen", params: { notifications: { toolsListChanged: true } } };
    const listening = await send(modernRequest("subscriptions/listen", filter));
    const listener = readMessages(listening);
    equal((await listener.next())?.method, "notifications/subscriptions/acknowledged");
    const answers = await Promise.all(
      [1, 2].map(async (id) => {
        const meta = { progressToken: `p${id}`, "io.modelcontextprotocol/logLevel": "info" };
        return sseMessages(await (await send(call("talk", { id, meta }))).text());
      }),
    );
    for (const [at, messages] of answers.entries()) {
      deepEqual(
        messages.map(({ method, id }) => method ?? id),
        ["notifications/progress", "notifications/message", "notifications/progress", at + 1],
      );
      const tokens = messages.map(({ params }) => (params as { progressToken?: string } | undefined)?.progressToken);
      deepEqual(tokens, [`p${at + 1}`, undefined, `p${at + 1}`, undefined]);
    }
    const next = listener.next();
    equal(await Promise.race([next, setImmediate("nothing")]), "nothing");
    await listener.leave();
    equal(await next, undefined);
  },
);

proves(
  ["hosting:http:protocol-version-400", "hosting:http:protocol-version-rejection-literal"],
  http,
  "a version that is not served, on each kind of endpoint",
  async (t) => {
    for (const eras of [[modernServer], [modernServer, legacyServer]]) {
      await onEachHost(
        t,
        () => defineServer({}, eras).tool("echo", {}, () => "hi"),
        async (ask) => {
          for (const version of ["1999-01-01", "2099-01-01", "garbage"]) {
            const request = call("echo", {
              meta: { "io.modelcontextprotocol/protocolVersion": version },
              headers: versionHeader(version),
            });
            const { status, text } = await ask(request);
            equal(status, 400, version);
            match(text, /Unsupported protocol version/);
            ok(text.includes(VERSION), text);
          }
          for (const version of ["", "garbage", "1999-01-01"]) {
            equal((await ask(call("echo", { headers: versionHeader(version) }))).status, 400, version);
          }
          equal((await ask(call("echo"))).status, 200);
        },
      );
    }
  },
);

verifies("hosting:http:notification-error-status", "never 2xx, and no id", eachHost, async ({ serve }) => {
  const send = await serve(defineServer());
  const { headers } = modernRequest("x/custom");
  const note = { jsonrpc: "2.0", method: "x/custom" };
  const unserved = { params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2099-01-01" } } };
  for (const [body, more] of [
    [{ ...note, ...unserved }, versionHeader("2099-01-01")],
    [note, { "mcp-method": "x/other" }],
    [{ jsonrpc: "2.0", method: 7 }, {}],
    [{ jsonrpc: "2.0", id: 3, result: {} }, {}],
  ] as const) {
    const [status, , id] = await faultOf(await send({ headers: { ...headers, ...more }, body }));
    deepEqual([status, id], [400, undefined], JSON.stringify(body));
  }
  equal((await send({ headers, body: note })).status, 202);
});

verifies("hosting:http:handler-crash-isolated", "beside a call that goes on", eachHost, async ({ serve }) => {
  const reports: string[] = [];
  const started = gate();
  const finish = gate();
  const server = defineServer({ onError: (error) => reports.push(String(error)) })
    .tool("slow", {}, async () => {
      started.open();
      await finish.opened;
      return "done";
    })
    .prompt("sync", {}, () => {
      throw new Error("sync");
    })
    .prompt("async", {}, async () => {
      await setImmediate();
      throw new Error("async");
    });
  const send = await serve(server);
  const running = send(call("slow", { id: 9 }));
  await started.opened;
  for (const name of ["sync", "async"]) {
    deepEqual(await faultOf(await send(modernRequest("prompts/get", { params: { name } }))), [200, -32603, 1]);
  }
  finish.open();
  const { id, result } = (await (await running).json()) as { id: number; result: { content: unknown } };
  deepEqual([id, result.content], [9, [{ type: "text", text: "done" }]]);
  deepEqual(reports, ["Error: sync", "Error: async"]);
});

verifies("hosting:http:id-types-distinct", "1 and its spelling as a string", eachHost, async ({ serve }) => {
  const aborted = gate<unknown>();
  const finish = gate();
  const both = gate();
  let running = 0;
  const send = await serve(
    defineServer().tool("wait", {}, async (_, ctx) => {
      if (++running === 2) both.open();
      ctx.signal.addEventListener("abort", () => aborted.open(ctx.requestId));
      await finish.opened;
      return "done";
    }),
  );
  const leave = new AbortController();
  const number = send(call("wait", { id: 1 }));
  const text = send(call("wait", { id: "1" }), leave.signal).then(() => {}, Boolean);
  await both.opened;
  leave.abort();
  equal(await aborted.opened, "1");
  await text;
  finish.open();
  equal(((await (await number).json()) as { id: unknown }).id, 1);
  equal(((await (await send(call("wait", { id: "1" }))).json()) as { id: unknown }).id, "1");
});

verifies(
  ["hosting:http:sse-close-after-response", "hosting:http:sse-headers-flushed"],
  "headers before the first event, and nothing after the answer",
  eachHost,
  async ({ serve }) => {
    const reports: unknown[] = [];
    const late = gate<() => unknown>();
    const send = await serve(
      defineServer({ onError: (error) => reports.push(error) }).tool("talk", {}, async (_, ctx) => {
        await ctx.progress(1);
        late.open(() => ctx.progress(2));
        return "done";
      }),
    );
    const listening = await send(
      modernRequest("subscriptions/listen", { params: { notifications: { toolsListChanged: true } } }),
    );
    deepEqual([listening.status, listening.headers.get("content-type")], [200, "text/event-stream"]);
    await listening.body?.cancel();
    const response = await send(call("talk", PROGRESS));
    const text = await response.text();
    deepEqual(
      sseMessages(text).map(({ method }) => method ?? "answer"),
      ["notifications/progress", "answer"],
    );
    await (await late.opened)();
    await setImmediate();
    deepEqual(reports, []);
  },
);

verifies("hosting:http:sse-eventual-response", "however the handler ends", eachHost, async ({ serve }) => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  const send = await serve(
    defineServer({ onError: () => {} })
      .method("x/returns", {}, () => ({ fine: true }))
      .method("x/throws", {}, () => {
        throw new Error("no");
      })
      .method("x/null", {}, () => {
        throw null;
      })
      .method("x/late", {}, () => setImmediate().then(() => Promise.reject(new Error("late"))))
      .method("x/cycle", {}, () => cycle)
      .method("x/big", {}, () => ({ big: 1n })),
  );
  for (const method of ["x/returns", "x/throws", "x/null", "x/late", "x/cycle", "x/big"]) {
    const body = (await (await send(modernRequest(method, { id: method }))).json()) as {
      id: unknown;
      result?: object;
      error?: { code: number };
    };
    equal(body.id, method);
    deepEqual(
      [body.result !== undefined, body.error?.code],
      method === "x/returns" ? [true, undefined] : [false, -32603],
    );
  }
});
