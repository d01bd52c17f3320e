import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { connect, McpError, ProtocolError } from "bowline/client";
import { McpServer, RpcError } from "bowline/server";
import { legacyWires, modernWires, type World } from "../../support/each-wire.js";
import { enveloped, rawClient } from "../../support/raw-client.js";
import { LEGACY_VERSIONS, ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };

function harbour() {
  return new McpServer(me)
    .tool("t", {}, () => "x")
    .prompt(
      "p",
      { arguments: { type: "object", properties: { a: { type: "string" } } }, complete: { a: () => ["1"] } },
      () => "say",
    )
    .resource("a:b", { name: "r" }, () => "text")
    .method("com.example/empty", {}, () => undefined)
    .method("com.example/undefined", {}, () => ({ resultType: undefined, a: 1 }))
    .method("com.example/null", {}, () => ({ resultType: null, a: 1 }))
    .method("com.example/own", {}, () => ({ resultType: "com.example/own", a: 1 }))
    .method("com.example/fails", {}, () => {
      throw new RpcError(-32050, "no");
    });
}

const requests: readonly [string, Record<string, unknown>?][] = [
  ["tools/list"],
  ["tools/call", { name: "t" }],
  ["prompts/list"],
  ["prompts/get", { name: "p" }],
  ["resources/list"],
  ["resources/templates/list"],
  ["resources/read", { uri: "a:b" }],
  ["completion/complete", { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }],
  ["com.example/empty"],
  ["com.example/undefined"],
  ["com.example/null"],
];

verifies("protocol:result-type:stamped", modernWires, async (world: World, t) => {
  const client = await rawClient(world, harbour(), t);
  for (const [method, params] of [...requests, ["server/discover"] as const]) {
    const { result } = await client.ask(enveloped(method, method, params ?? {}));
    equal(result?.resultType, "complete", method);
  }
  const failed = await client.ask(enveloped(1, "com.example/fails"));
  deepEqual(Object.keys(failed).sort(), ["error", "id", "jsonrpc"]);
  equal(JSON.stringify(failed).includes("resultType"), false);
});

verifies("protocol:result-type:legacy-never", legacyWires, async ({ connect }: World) => {
  for (const version of LEGACY_VERSIONS) {
    const client = await connect(harbour(), { versions: [version] });
    for (const [method, params] of [...requests, ["com.example/own"] as const, ["ping"] as const]) {
      await client.request(method, params);
      const [answer] = client.wire.responsesTo(method);
      equal(answer?.result !== undefined && "resultType" in answer.result, false, method);
    }
  }
});

for (const era of ["modern", "legacy"] as const) {
  const play = () => (era === "modern" ? new ServerScript().modern() : new ServerScript().legacy());

  proves(
    "protocol:result-type:absent-is-complete",
    { wire: `${era}-memory` },
    "nothing said means complete",
    async (t) => {
      const script = play().on("tools/call", { result: { content: [{ type: "text", text: "done" }] } });
      const client = await connect({ channel: script.channel }, { era });
      t.after(() => client.close());
      equal((await client.callTool("t")).text, "done");
    },
  );

  proves(
    "typescript:client:raw-result-type-first",
    { wire: `${era}-memory` },
    "a question is never taken for an empty success",
    async (t) => {
      const asked = { resultType: "input_required", requestState: "s" };
      const script = play()
        .on("tools/call", { result: asked })
        .on("prompts/get", { result: asked })
        .on("resources/read", { result: asked });
      const client = await connect({ channel: script.channel }, { era, input: "manual" });
      t.after(() => client.close());
      for (const call of [() => client.callTool("t"), () => client.getPrompt("p"), () => client.readResource("a:b")]) {
        await rejects(call(), (error) => {
          ok(error instanceof McpError);
          equal(error.code, era === "modern" ? "input_required" : "protocol_error", error.message);
          return true;
        });
      }
    },
  );
}

proves(
  "protocol:result-type:unrecognized-invalid",
  { wire: "modern-memory" },
  "a result of an unknown type is no result",
  async (t) => {
    for (const resultType of ["mystery", 5, "Complete"]) {
      const script = new ServerScript().modern().on("tools/call", { result: { resultType, content: [] } });
      const client = await connect({ channel: script.channel }, { era: "modern" });
      t.after(() => client.close());
      await rejects(client.callTool("t"), (error) => {
        ok(error instanceof ProtocolError);
        ok(error.message.includes(JSON.stringify(resultType)));
        return true;
      });
      equal(script.all("tools/call").length, 1);
    }
  },
);
