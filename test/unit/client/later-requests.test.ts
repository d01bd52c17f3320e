import { equal, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type ClientOptions, connect } from "bowline/client";
import { HttpScript, type Received } from "../../support/http-script.js";
import { MODERN } from "../../support/server-script.js";

const BUSY = { code: -32000, message: "Busy" };

async function scripted(t: TestContext, options: ClientOptions) {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const client = await connect(script.url, options);
  t.after(() => client.close());
  return { script, client };
}

const refuse = (r: Received) => r.json({ jsonrpc: "2.0", id: r.message.id, error: BUSY }, 429);

test("a refusal of a later round does not say that the call is safe to repeat", async (t) => {
  const onElicit = () => ({ action: "accept", content: {} }) as const;
  const { script, client } = await scripted(t, { versions: [MODERN], onElicit, limits: { maxResends: 0 } });
  for (const [answer, verdict] of [
    [refuse, { name: "RpcError", delivery: "answered", retrySafe: false }],
    [(r: Received) => r.status(429), { name: "ConnectionError", delivery: "answer_lost", retrySafe: false }],
  ] as const) {
    const call = client.callTool("t");
    const params = { mode: "form", message: "Sure?", requestedSchema: { type: "object", properties: {} } };
    const inputRequests = { a: { method: "elicitation/create", params } };
    (await script.next("tools/call")).result({ resultType: "input_required", inputRequests });
    answer(await script.next("tools/call"));
    await rejects(call, verdict);
  }
});

test("a refusal of what an extension asks next does not either", async (t) => {
  const ID = "com.example/parcel";
  const { script, client } = await scripted(t, {
    versions: [MODERN],
    extensions: [
      {
        id: ID,
        methods: ["com.example/fetch"],
        results: {
          ticket: { method: "tools/call", resolve: (_result, { request }) => request("com.example/fetch", {}) },
        },
      },
    ],
  });
  const call = client.callTool("t");
  (await script.next("tools/call")).result({ resultType: "ticket" });
  refuse(await script.next("com.example/fetch"));
  await rejects(call, { name: "RpcError", delivery: "answered", retrySafe: false });
});

test("a server that cannot be asked what it speaks does not change the verdict on the call", async (t) => {
  const prior = { era: "modern" as const, discovered: { supportedVersions: [MODERN], capabilities: { tools: {} } } };
  const { script, client } = await scripted(t, { prior });
  const call = client.callTool("t");
  const first = await script.next("tools/call");
  first.json({ jsonrpc: "2.0", id: first.message.id, error: BUSY });
  (await script.next("server/discover")).cut();
  await rejects(call, { name: "RpcError", rpcCode: BUSY.code, delivery: "answered", retrySafe: false });
  equal(script.all("tools/call").length, 1);
});
