import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { RpcError } from "bowline/client";
import { McpServer, RpcError as ServerRpcError } from "bowline/server";
import * as z from "zod";
import { channelWires, eachWire, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { RawClient } from "../../support/raw-peer.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

async function failure(call: Promise<unknown>): Promise<RpcError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  ok(outcome instanceof RpcError, `expected an answer with an error, got ${outcome}`);
  return outcome;
}

/** A server on which every built-in way to fail can be tried. */
function failingServer() {
  const reported: unknown[] = [];
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const throwing = {
    get value(): never {
      throw new Error("secret getter");
    },
  };
  const server = new McpServer(me, { onError: (error) => reported.push(error) })
    .tool("strict", { input: z.object({ a: z.number() }) }, () => "x")
    .resource("note://1", { name: "n" }, () => "x")
    .resource("broken://1", { name: "b" }, () => {
      throw new Error("secret");
    })
    .resource("odd://{x}", { name: "o" }, () => {
      throw "secret";
    })
    .prompt("broken", {}, () => {
      throw new Error("secret");
    })
    .prompt("odd", {}, () => {
      throw "secret";
    })
    .method("vendor/string", {}, () => {
      throw "secret";
    })
    .method("vendor/error", {}, () => {
      throw new Error("secret\nof two lines", { cause: new Error("secret cause") });
    })
    .method("vendor/odd-code", {}, (params) => {
      const { code, bare } = params as { code?: unknown; bare?: boolean };
      throw bare === true ? { code, message: "secret" } : Object.assign(new Error("secret"), { code });
    })
    .method("vendor/cyclic", {}, () => cyclic)
    .method("vendor/bigint", {}, () => ({ value: 10n }))
    .method("vendor/getter", {}, () => throwing)
    .method("vendor/list", {}, () => [])
    .method("vendor/strict", { params: z.object({ a: z.number(), kind: z.enum(["x", "y"]) }) }, () => ({}));
  return { server, reported };
}

/** The error answers to all of them. */
async function allFailures({ connect }: World): Promise<{ errors: RpcError[]; texts: string[]; odd: unknown[] }> {
  const { server } = failingServer();
  const client = await connect(server);
  const tries: [string, object?][] = [
    ["no/such/method"],
    ["completion/complete", { ref: { type: "ref/prompt", name: "broken" }, argument: { name: "a", value: "" } }],
    ["tools/call", {}],
    ["tools/call", { name: "none" }],
    ["tools/call", { name: "strict", arguments: [1] }],
    ["tools/list", { cursor: 5 }],
    ["tools/list", { cursor: "no such page" }],
    ["prompts/get", { name: "none" }],
    ["prompts/get", { name: "broken" }],
    ["resources/read", { uri: "note://none" }],
    ["resources/read", { uri: "broken://1" }],
    ["vendor/string"],
    ["vendor/error"],
    ["vendor/odd-code", { code: 1.5 }],
    ["vendor/odd-code", { code: "x" }],
    ["vendor/odd-code", {}],
    ["vendor/odd-code", { bare: true, code: "x" }],
    ["vendor/cyclic"],
    ["vendor/bigint"],
    ["vendor/getter"],
    ["vendor/list"],
    ["vendor/strict", { a: "no" }],
  ];
  const errors: RpcError[] = [];
  for (const [method, params] of tries) errors.push(await failure(client.request(method, params as never)));
  const odd = errors.flatMap(({ rpcCode }, at) => (tries[at]?.[0] === "vendor/odd-code" ? rpcCode : []));
  const texts = client.wire.frames.flatMap(({ from, text }) => (from === "server" ? [text] : []));
  return { errors, texts, odd };
}

verifies(["protocol:error:shape", "protocol:error:message-concise"], eachWire, async (world) => {
  const { errors, texts, odd } = await allFailures(world);
  deepEqual(odd, [-32603, -32603, -32603, -32603]);
  for (const text of texts.filter((candidate) => candidate.includes('"error":'))) {
    const { error } = JSON.parse(text) as { error: { code: unknown; message: unknown } };
    ok(Number.isInteger(error.code) && typeof error.message === "string", text);
  }
  for (const { message } of errors) {
    ok(!/[\n\r]/.test(message) && !/\bat .*:\d+:\d+/.test(message), message);
    ok(message.length > 0 && message.length < 200, message);
  }
});

verifies(["protocol:error:internal-error", "protocol:error:encode-failure"], eachWire, async (world) => {
  const { server, reported } = failingServer();
  const client = await world.connect(server);
  for (const method of ["string", "error", "odd-code", "cyclic", "bigint", "getter"]) {
    const error = await failure(client.request(`vendor/${method}`));
    deepEqual([error.rpcCode, error.message, error.data], [-32603, "Internal error", undefined], method);
    equal(reported.splice(0).length, 1, method);
  }
  for (const call of [
    () => client.readResource("broken://1"),
    () => client.readResource("odd://1"),
    () => client.getPrompt("broken"),
    () => client.getPrompt("odd"),
  ]) {
    const error = await failure(call());
    deepEqual([error.rpcCode, error.message, error.data], [-32603, "Internal error", undefined]);
  }
  for (const { from, text } of client.wire.frames) if (from === "server") ok(!text.includes("secret"), text);
  ok((await client.listTools()).tools.length > 0);
});

verifies("protocol:error:encode-failure", "of a tool", eachWire, async ({ connect }) => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  const server = new McpServer(me, { onError: () => {} })
    .tool("cyclic", {}, () => cyclic)
    .tool("bigint", {}, () => ({ value: 10n }))
    .tool("fine", {}, () => "fine");
  const client = await connect(server);
  for (const name of ["cyclic", "bigint"]) equal((await failure(client.callTool(name))).rpcCode, -32603);
  equal((await client.callTool("fine")).text, "fine");
});

verifies("protocol:error:data-roundtrip", eachWire, async ({ connect }) => {
  const values: unknown[] = [{ deep: [1, { a: null }] }, [1, "2"], "text", 0, false, null, undefined];
  const server = new McpServer(me).method("vendor/fail", {}, (params) => {
    throw new ServerRpcError(4001, "no", values[(params as { n: number }).n]);
  });
  const client = await connect(server);
  for (const [n, value] of values.entries()) {
    const error = await failure(client.request("vendor/fail", { n }));
    deepEqual(error.data, value);
  }
});

const UNREADABLE = [
  ["{ not json", -32700],
  ['{"jsonrpc":"2.0","id":null,"method":"tools/list"}', -32600],
  ['{"jsonrpc":"2.0","id":{},"method":"tools/list"}', -32600],
  ['{"jsonrpc":"1.0","method":"tools/list"}', -32600],
  ["5", -32600],
  ["null", -32600],
  ['"text"', -32600],
] as const;

verifies("protocol:error:unreadable-id", channelWires, async (world) => {
  const client = await RawClient.open(world, new McpServer(me, { onError: () => {} }));
  const { peer } = client;
  // Noise on a pipe gets no answer; if it did, the answer would have no id.
  for (const [text] of UNREADABLE) peer.send(text);
  await client.barrier();
  for (const answer of peer.messages.filter(({ error }) => error !== undefined)) {
    ok(!("id" in answer) || String(answer.id).startsWith("barrier"), JSON.stringify(answer));
  }
  peer.send("[]");
  ok(!("id" in (await peer.answerTo(undefined))));
  peer.send('{"jsonrpc":"1.0","id":"mine","method":"ping"}');
  equal((await peer.answerTo("mine")).error?.code, -32600);
  peer.send('{"jsonrpc":"2.0","id":8,"method":"ping","params":[1]}');
  equal((await peer.answerTo(8)).error?.code, -32600);
  for (const [id, more] of [
    ["number", '"method":5'],
    ["null", '"method":null'],
    ["both", '"method":5,"result":{}'],
  ]) {
    peer.send(`{"jsonrpc":"2.0","id":"${id}",${more}}`);
    equal((await peer.answerTo(id)).error?.code, -32600, id);
  }
});

for (const [era, version] of [
  ["modern", "2026-07-28"],
  ["legacy", "2025-11-25"],
] as const) {
  proves("protocol:error:unreadable-id", { wire: `${era}-http` }, "answered without one", async (t) => {
    const server = new McpServer(me, { onError: () => {} });
    t.after(() => server.close());
    const headers = {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": version,
    };
    const post = async (body: string) => {
      const response = await server.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }));
      return (await response.json()) as { id?: unknown; error: { code: number } };
    };
    for (const [body, code] of UNREADABLE) {
      const answer = await post(body);
      ok(!("id" in answer), JSON.stringify(answer));
      equal(answer.error.code, code);
    }
    for (const body of [
      '{"jsonrpc":"1.0","id":"mine","method":"tools/list"}',
      '{"jsonrpc":"2.0","id":"mine","method":5}',
    ]) {
      const answer = await post(body);
      deepEqual([answer.id, answer.error.code], ["mine", -32600], body);
    }
  });
}

verifies("protocol:error:method-not-found", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("one", {}, () => "1"));
  const ref = { type: "ref/prompt", name: "p" };
  for (const [method, params] of [
    ["no/such/method", {}],
    ["prompts/list", {}],
    ["prompts/get", { name: "p" }],
    ["resources/list", {}],
    ["resources/read", { uri: "a:b" }],
    ["completion/complete", { ref, argument: { name: "a", value: "" } }],
  ] as const) {
    equal((await failure(client.request(method as string, params))).rpcCode, -32601, method);
    const [request] = client.wire.requests(method);
    deepEqual(
      client.wire.responsesTo(method).map(({ id }) => id),
      [request?.id],
    );
  }
});

verifies("protocol:error:invalid-params", eachWire, async ({ connect }) => {
  let entered = 0;
  const enter = () => {
    entered++;
    return {};
  };
  const server = new McpServer(me)
    .tool("one", {}, () => {
      entered++;
    })
    .prompt("p", {}, () => {
      entered++;
      return "x";
    })
    .method("vendor/strict", { params: z.object({ list: z.array(z.number()) }) }, enter);
  const client = await connect(server);
  for (const [method, params] of [
    ["tools/call", {}],
    ["tools/call", { name: 5 }],
    ["tools/call", { name: "one", arguments: [1] }],
    ["prompts/get", { name: "p", arguments: { a: 1 } }],
    ["tools/list", { cursor: 5 }],
    ["vendor/strict", { list: [1, "x"] }],
  ] as const) {
    equal((await failure(client.request(method as string, params as never))).rpcCode, -32602, method);
  }
  equal(entered, 0);
});

verifies("protocol:error:invalid-params-opaque", eachWire, async ({ connect }) => {
  const echoing = {
    "~standard": {
      version: 1,
      vendor: "echo",
      validate: (value: unknown) => ({
        issues: [{ message: `bad value: ${JSON.stringify(value)}`, path: ["password"] }],
      }),
      jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
    },
  } as const;
  const server = new McpServer(me)
    .tool("one", {}, () => "1")
    .method("vendor/zod", { params: z.object({ password: z.number() }) }, () => ({}))
    .method("vendor/echo", { params: echoing }, () => ({}))
    .method("vendor/json", { params: { type: "object", properties: { password: { enum: ["x"] } } } }, () => ({}));
  const client = await connect(server);
  for (const [method, params, place] of [
    ["vendor/zod", { password: "hunter2" }, "/password"],
    ["vendor/echo", { password: "hunter2" }, "/password"],
    ["vendor/json", { password: "hunter2" }, "/password"],
    ["tools/call", { name: "one", arguments: "hunter2" }, "/arguments"],
    ["tools/list", { cursor: { key: "hunter2" } }, "/cursor"],
  ] as const) {
    const error = await failure(client.request(method as string, params as never));
    equal(error.rpcCode, -32602);
    ok(error.message.includes(place), error.message);
    ok(!`${error.message} ${JSON.stringify(error.data)}`.includes("hunter2"), error.message);
  }
});

verifies("protocol:error:unexpected-reported", eachWire, async ({ connect }) => {
  const reported: unknown[] = [];
  const bug = new TypeError("a bug");
  const release = gate();
  const entered = gate();
  const ended = gate();
  const server = new McpServer(me, { onError: (error) => reported.push(error) })
    .method("vendor/bug", {}, () => {
      throw bug;
    })
    .method("vendor/late-bug", {}, async () => {
      entered.open();
      await release.opened;
      setImmediate(() => ended.open());
      throw bug;
    });
  const client = await connect(server);
  equal((await failure(client.request("vendor/bug"))).rpcCode, -32603);
  deepEqual(reported.splice(0), [bug]);
  const abort = new AbortController();
  const call = client.request("vendor/late-bug", {}, { signal: abort.signal });
  await entered.opened;
  abort.abort("meanwhile");
  await rejects(call, /^meanwhile$/);
  release.open();
  await ended.opened;
  equal(reported.length, 1);
  equal(reported[0], bug);
});

verifies("protocol:error:deliberate-passthrough", eachWire, async ({ connect }) => {
  const reported: unknown[] = [];
  const fail = (params: unknown): never => {
    const { code } = params as { code: number };
    throw new ServerRpcError(code, `deliberate ${code}`, { code });
  };
  const server = new McpServer(me, { onError: (error) => reported.push(error) })
    .method("vendor/fail", {}, fail)
    .tool("fail", { input: { type: "object" } }, fail);
  const client = await connect(server);
  for (const code of [-32602, -32603, 4001]) {
    for (const call of [() => client.request("vendor/fail", { code }), () => client.callTool("fail", { code })]) {
      const error = await failure(call());
      deepEqual([error.rpcCode, error.message, error.data], [code, `deliberate ${code}`, { code }]);
    }
  }
  deepEqual(reported, []);
});

verifies("protocol:error:subclass-flattened", eachWire, async ({ connect }) => {
  class Insolvent extends ServerRpcError {
    override readonly name = "Insolvent";
    readonly extra = "not on the wire";
    constructor() {
      super(4002, "Insufficient funds", { balance: 3 });
    }
  }
  const thrown = new Insolvent();
  const server = new McpServer(me)
    .method("vendor/pay", {}, () => {
      throw thrown;
    })
    .resource("pay://1", { name: "p" }, () => {
      throw thrown;
    });
  const client = await connect(server);
  for (const call of [() => client.request("vendor/pay"), () => client.readResource("pay://1")]) {
    const error = await failure(call());
    notEqual(error, thrown);
    equal(Object.getPrototypeOf(error), RpcError.prototype);
    deepEqual([error.rpcCode, error.message, error.data], [4002, "Insufficient funds", { balance: 3 }]);
    ok(!("extra" in error));
  }
});
