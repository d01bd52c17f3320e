import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import {
  ConnectionError,
  isResourceNotFound,
  McpError,
  MissingCapabilityError,
  RpcError,
  TimeoutError,
  UnsupportedVersionError,
} from "bowline/client";
import { McpServer, RpcError as ServerRpcError } from "bowline/server";
import { FakeClock } from "bowline/testing";
import * as z from "zod";
import { eachWire, legacyWires, modernWires } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { answerAll, scripted } from "../../support/http-script.js";
import { RawClient, scriptedModern, scriptedServers, toolText } from "../../support/raw-peer.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const question = { messages: [], maxTokens: 1 };

/** A server whose method fails with the code that it is told. */
function codes() {
  const reported: Error[] = [];
  const server = new McpServer(me, { onError: (error) => reported.push(error as Error) })
    .tool("fail", { input: { type: "object" } }, (args) => {
      throw new ServerRpcError((args as { code: number }).code, "by hand", { some: "data" });
    })
    .resource("gone://1", { name: "g" }, () => {
      throw new ServerRpcError(-32002, "Resource not found", { uri: "gone://1" });
    });
  return { server, reported };
}

verifies("protocol:error:spec-range", modernWires, async ({ connect }) => {
  const { server, reported } = codes();
  const client = await connect(server);
  for (const code of [-32050, -32023, -32099]) {
    await rejects(client.callTool("fail", { code }), { rpcCode: -32603, data: undefined });
    const [report] = reported.splice(0);
    ok(report?.message.includes(String(code)), report?.message);
  }
  for (const code of [-32020, -32021, -32022, -32100, 4001]) {
    await rejects(client.callTool("fail", { code }), { rpcCode: code });
    deepEqual(reported, []);
  }
});

verifies("protocol:error:no-32042-modern", modernWires, async ({ connect }) => {
  const { server, reported } = codes();
  const client = await connect(server);
  await rejects(client.callTool("fail", { code: -32042 }), { rpcCode: -32603 });
  ok(client.wire.frames.every(({ from, text }) => from === "client" || !text.includes("-32042")));
  const [report] = reported;
  ok(report?.message.includes("elicitUrl") && report.message.includes("inputRequired"), report?.message);
});

verifies("protocol:error:no-32042-modern", "earlier versions still have it", legacyWires, async ({ connect }) => {
  const { server, reported } = codes();
  const client = await connect(server);
  await rejects(client.callTool("fail", { code: -32042 }), { rpcCode: -32042, data: { some: "data" } });
  deepEqual(reported, []);
});

verifies(["protocol:error:no-32002-modern", "protocol:error:accept-32002"], modernWires, async ({ connect }) => {
  const { server } = codes();
  const client = await connect(server);
  for (const uri of ["none://1", "gone://1"]) {
    await rejects(client.readResource(uri), (error) => {
      equal((error as RpcError).rpcCode, -32602);
      deepEqual((error as RpcError).data, { uri });
      return isResourceNotFound(error);
    });
  }
  ok(client.wire.frames.every(({ from, text }) => from === "client" || !text.includes("-32002")));
});

verifies("protocol:error:accept-32002", legacyWires, async ({ connect }) => {
  const { server } = codes();
  const client = await connect(server);
  for (const uri of ["none://1", "gone://1"]) {
    await rejects(client.readResource(uri), (error) => {
      return (error as RpcError).rpcCode === -32002 && isResourceNotFound(error);
    });
  }
  await rejects(client.callTool("fail", { code: -32002 }), (error) => {
    return (error as RpcError).rpcCode === -32002 && !isResourceNotFound(error);
  });
  ok(!isResourceNotFound(new Error("anything")));
});

verifies("protocol:error:missing-client-capability", modernWires, async ({ connect }) => {
  let effects = 0;
  const server = new McpServer(me)
    .tool("samples", {}, async (_, ctx) => {
      await ctx.sample(question);
      effects++;
    })
    .tool("uses-tools", {}, async (_, ctx) => {
      await ctx.sample({ ...question, tools: [] });
      effects++;
    })
    .tool("lists", {}, (_, ctx) => ctx.listRoots())
    .tool("elicits", {}, (_, ctx) => ctx.elicit("?", z.object({})));
  const bare = await connect(server);
  for (const [tool, required] of [
    ["samples", { sampling: {} }],
    ["lists", { roots: {} }],
    ["elicits", { elicitation: {} }],
  ] as const) {
    await rejects(bare.callTool(tool), (error) => {
      ok(error instanceof MissingCapabilityError);
      equal(error.rpcCode, -32021);
      deepEqual(error.data, { requiredCapabilities: required });
      return true;
    });
  }
  const sampler = await connect(server, { onSample: () => ({ role: "assistant", model: "m", content: [] }) });
  await rejects(sampler.callTool("uses-tools"), (error) => {
    deepEqual((error as RpcError).data, { requiredCapabilities: { sampling: { tools: {} } } });
    return (error as RpcError).rpcCode === -32021;
  });
  equal(effects, 0);
});

verifies("protocol:error:typed-rehydration", scriptedModern, async ({ peer, connect }) => {
  const client = await connect();
  const answer = async (code: number, data: unknown): Promise<unknown> => {
    const call = client.callTool("x").catch((error: unknown) => error);
    const { id } = await peer.asked("tools/call");
    peer.send({ id, error: { code, message: "no", data } });
    return call;
  };
  const version = await answer(-32022, { supported: ["2030-01-01"], requested: "2026-07-28" });
  ok(version instanceof UnsupportedVersionError && version instanceof RpcError);
  deepEqual([version.supported, version.requested], [["2030-01-01"], "2026-07-28"]);
  const capability = await answer(-32021, { requiredCapabilities: { sampling: {} } });
  ok(capability instanceof MissingCapabilityError);
  deepEqual(capability.requiredCapabilities, { sampling: {} });
  for (const [requiredCapabilities, message] of [
    [{ sampling: {} }, "no; pass onSample to connect"],
    [{ sampling: { tools: {} } }, "no; pass sampling.tools to connect"],
    [{ sampling: { context: {} } }, "no; pass sampling.context to connect"],
    [{ elicitation: {} }, "no; pass onElicit to connect"],
    [{ elicitation: { url: {} } }, "no; pass onElicitUrl to connect"],
    [{ elicitation: { form: {} }, roots: {} }, "no; pass onElicit and roots to connect"],
    [{ extensions: { "com.example/a": {} } }, "no"],
    [{ experimental: { a: {} } }, "no"],
  ] as const)
    equal(((await answer(-32021, { requiredCapabilities })) as RpcError).message, message);
  for (const [code, data] of [
    [-32022, undefined],
    [-32022, null],
    [-32022, { supported: "2026-07-28" }],
    [-32022, { supported: [1] }],
    [-32021, "x"],
    [-32021, { requiredCapabilities: ["sampling"] }],
    [-32021, { requiredCapabilities: null }],
  ] as const) {
    const error = await answer(code, data);
    equal(Object.getPrototypeOf(error), RpcError.prototype, JSON.stringify(data));
    deepEqual([(error as RpcError).rpcCode, (error as RpcError).data], [code, data]);
  }
});

verifies("protocol:error:legacy-range-opaque", scriptedServers, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  const client = await connect({ onError: (error) => problems.push(error) });
  const before = client.wire.frames.filter(({ from }) => from === "client").length;
  const tried = [-32000, -32001, -32003, -32019];
  for (const code of tried) {
    const call = client.callTool("x");
    const { id } = await peer.asked("tools/call");
    peer.send({ id, error: { code, message: "Session not found" } });
    await rejects(
      call,
      (error) => Object.getPrototypeOf(error) === RpcError.prototype && (error as RpcError).rpcCode === code,
    );
  }
  const call = client.callTool("next");
  const { id } = await peer.asked("tools/call");
  peer.send({ id, result: toolText("same connection") });
  equal((await call).text, "same connection");
  equal(client.wire.frames.filter(({ from }) => from === "client").length, before + tried.length + 1);
  deepEqual(problems, []);
});

for (const era of ["modern", "legacy"] as const) {
  const wire = { wire: `${era}-http` };
  proves("protocol:error:legacy-range-opaque", wire, "over HTTP, with a status or without", async (t) => {
    const tried = [-32000, -32001, -32003, -32019];
    const { script, connectTo } = await scripted(
      t,
      answerAll((received) => {
        const { name, arguments: args } = received.message.params as { name: string; arguments: { status?: number } };
        if (name === "next") return received.result(toolText("same connection"));
        const error = { code: Number(name), message: "Session not found" };
        received.json({ jsonrpc: "2.0", id: received.message.id, error }, args.status);
      }),
    );
    const problems: unknown[] = [];
    const client = await connectTo({ era, onError: (error) => problems.push(error) });
    const opening = script.all("POST").length;
    for (const code of tried) {
      for (const status of [200, 400]) {
        await rejects(
          client.callTool(String(code), { status }),
          (error) => Object.getPrototypeOf(error) === RpcError.prototype && (error as RpcError).rpcCode === code,
        );
      }
    }
    equal((await client.callTool("next")).text, "same connection");
    deepEqual(
      script
        .all("POST")
        .slice(opening)
        .map(({ rpcMethod }) => rpcMethod),
      Array(2 * tried.length + 1).fill("tools/call"),
    );
    deepEqual(problems, []);
  });
}

verifies("protocol:error:legacy-range-not-emitted", modernWires, async (world) => {
  const { server } = codes();
  server.method("vendor/breaks", {}, () => {
    throw new Error("x");
  });
  const client = await world.connect(server);
  const entered = gate();
  const blocked = new McpServer(me).tool("wait", {}, () => {
    entered.open();
    return new Promise(() => {});
  });
  for (const [method, params] of [
    ["no/such", {}],
    ["prompts/list", {}],
    ["tools/call", {}],
    ["tools/call", { name: "none" }],
    ["resources/read", { uri: "none://1" }],
    ["vendor/breaks", {}],
    ["tools/list", { cursor: "x" }],
    ["tools/call", { name: "fail", arguments: { code: -32050 } }],
  ] as const) {
    await rejects(client.request(method as string, params), RpcError);
  }
  const other = await world.connect(blocked);
  const call = other.callTool("wait").catch((error: unknown) => error);
  await entered.opened;
  await blocked.close();
  ok((await call) instanceof Error);
  if (world.transport === "memory" || world.transport === "stdio") {
    const raw = await RawClient.open(world, new McpServer(me, { onError: () => {} }));
    raw.peer.send("not json");
    raw.peer.send("[]");
    raw.peer.send({ id: 1, method: "tools/list", params: { _meta: { "io.modelcontextprotocol/protocolVersion": 5 } } });
    raw.peer.send({
      id: 2,
      method: "tools/list",
      params: {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "1999-01-01",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    });
    await raw.barrier();
    for (const { error } of raw.peer.messages) assertAllowed(error?.code);
  }
  for (const recorded of [client, other]) {
    for (const { message } of recorded.wire.frames) assertAllowed(message?.error?.code);
  }
});

function assertAllowed(code: number | undefined): void {
  if (code === undefined) return;
  const standard = [-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022];
  ok(standard.includes(code) || code < -32768 || code > -32000, `code ${code}`);
}

verifies("errors:capability:sdkerror-capability-not-supported", legacyWires, async ({ connect }) => {
  const server = new McpServer(me).tool("asks", {}, async (_, ctx) => {
    const tries = [ctx.sample(question), ctx.elicit("?", z.object({})), ctx.listRoots()];
    const errors = await Promise.all(tries.map((asked) => asked.catch((error: unknown) => error)));
    return { codes: errors.map((error) => (error instanceof RpcError ? "answered" : (error as McpError).code)) };
  });
  const client = await connect(server);
  deepEqual((await client.callTool("asks")).structured, {
    codes: ["missing_capability", "missing_capability", "missing_capability"],
  });
  deepEqual(client.wire.serverRequests(), []);
});

verifies(
  ["errors:wire:protocolerror-invalid-params", "protocol:error:local-not-mistakable"],
  scriptedServers,
  async ({ peer, connect }) => {
    const clock = new FakeClock();
    const client = await connect({ clock, strictCapabilities: true });
    const fromPeer = async (code: number): Promise<unknown> => {
      const call = client.callTool("x").catch((error: unknown) => error);
      const { id } = await peer.asked("tools/call");
      peer.send({ id, error: { code, message: "from the peer" } });
      return call;
    };
    for (const code of [-32602, -32601, -32603, -32000, -32001, -32800, 408, 0]) {
      const error = await fromPeer(code);
      ok(error instanceof RpcError && !error.local);
      deepEqual([error.rpcCode, error.message, error.code], [code, "from the peer", "rpc_error"]);
      ok(!((error as unknown) instanceof TimeoutError) && !((error as unknown) instanceof ConnectionError));
    }
    const local: unknown[] = [];
    const keep = (error: unknown) => local.push(error);
    const late = client.callTool("x", {}, { timeoutMs: 10 }).catch(keep);
    await peer.asked("tools/call");
    clock.advance(10);
    await late;
    await client.callTool("x", {}, { id: 1.5 }).catch(keep);
    await client.callTool("x", {}, { signal: AbortSignal.abort() }).catch(keep);
    const bad = client.request("tools/list").catch(keep);
    const { id } = await peer.asked("tools/list");
    peer.send({ id, result: { resultType: "complete" } });
    await bad;
    const lost = client.callTool("x").catch(keep);
    await peer.asked("tools/call");
    await client.close();
    await lost;
    await client.callTool("x").catch(keep);
    equal(local.length, 6);
    for (const error of local) ok(!(error instanceof RpcError) || error.local, String(error));
    deepEqual(
      local.map((error) => (error instanceof McpError ? error.code : (error as Error).name)),
      ["timeout", "invalid_request_id", "AbortError", "invalid_result", "connection_error", "connection_error"],
    );
  },
);

verifies("protocol:error:local-not-mistakable", "a refused capability", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("one", {}, () => "1");
  const client = await connect(server, { strictCapabilities: true });
  const before = client.wire.frames.length;
  await rejects(client.request("prompts/list"), (error) => error instanceof RpcError && error.local);
  equal(client.wire.frames.length, before);
  await rejects(client.request("vendor/none"), (error) => error instanceof RpcError && !error.local);
});
