import { deepEqual, equal, ok } from "node:assert/strict";
import { RpcError, withParams } from "bowline/client";
import * as z from "zod";
import { gate } from "../../support/gate.js";
import { scriptedLegacy } from "../../support/raw-peer.js";
import { verifies } from "../../support/verifies.js";

const question = { messages: [], maxTokens: 1 };

verifies(
  ["protocol:error:internal-error", "protocol:error:unexpected-reported", "protocol:error:encode-failure"],
  "in a client's handler",
  scriptedLegacy,
  async ({ peer, connect }) => {
    const problems: unknown[] = [];
    const bug = new TypeError("secret");
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    await connect({
      onError: (error) => problems.push(error),
      onSample: () => {
        throw bug;
      },
      methods: {
        "vendor/cyclic": () => cyclic,
        "vendor/bigint": () => ({ value: 1n }),
        "vendor/string": () => {
          throw "secret";
        },
      },
    });
    peer.send({ id: 1, method: "sampling/createMessage", params: question });
    deepEqual((await peer.answerTo(1)).error, { code: -32603, message: "Internal error" });
    deepEqual(problems.splice(0), [bug]);
    for (const method of ["vendor/cyclic", "vendor/bigint", "vendor/string"]) {
      peer.send({ id: method, method });
      deepEqual((await peer.answerTo(method)).error, { code: -32603, message: "Internal error" });
      equal(problems.splice(0).length, 1);
    }
    for (const text of peer.texts) ok(!text.includes("secret"));
  },
);

verifies(
  ["protocol:error:unexpected-reported", "protocol:cancel:uncooperative-handler"],
  "in a client's handler that was cancelled",
  scriptedLegacy,
  async ({ peer, connect }) => {
    const problems: unknown[] = [];
    const told = gate();
    const bug = new TypeError("a bug");
    const entered = gate();
    const release = gate();
    await connect({
      onError: (error) => {
        problems.push(error);
        told.open();
      },
      methods: {
        "vendor/late": async (params, { signal }) => {
          entered.open();
          await release.opened;
          if (params?.honest === true) throw signal.reason;
          throw bug;
        },
        "vendor/next": () => ({}),
      },
    });
    peer.send({ id: 1, method: "vendor/late" });
    peer.send({ id: 2, method: "vendor/late", params: { honest: true } });
    await entered.opened;
    for (const requestId of [1, 2]) peer.send({ method: "notifications/cancelled", params: { requestId } });
    peer.send({ id: 3, method: "vendor/next" });
    await peer.answerTo(3);
    release.open();
    await told.opened;
    peer.send({ id: 4, method: "vendor/next" });
    await peer.answerTo(4);
    deepEqual(problems, [bug]);
    equal(peer.answersTo(1).length + peer.answersTo(2).length, 0);
  },
);

verifies(
  ["protocol:error:deliberate-passthrough", "protocol:error:data-roundtrip", "protocol:error:subclass-flattened"],
  "of a client's handler",
  scriptedLegacy,
  async ({ peer, connect }) => {
    class Refused extends RpcError {}
    const problems: unknown[] = [];
    await connect({
      onError: (error) => problems.push(error),
      methods: {
        "vendor/fail": (params) => {
          throw new Refused(params?.code as number, "by hand", null);
        },
      },
    });
    for (const code of [-32602, -32603, 4001]) {
      peer.send({ id: code, method: "vendor/fail", params: { code } });
      deepEqual((await peer.answerTo(code)).error, { code, message: "by hand", data: null });
    }
    deepEqual(problems, []);
  },
);

verifies("protocol:response:result-object", "of a client's handler", scriptedLegacy, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  const values: Record<string, unknown> = { nothing: undefined, list: [], text: "x", number: 5, null: null };
  const methods = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [`vendor/${name}`, () => value as Record<string, unknown>]),
  );
  await connect({ methods, onError: (error) => problems.push(error) });
  peer.send({ id: "nothing", method: "vendor/nothing" });
  deepEqual((await peer.answerTo("nothing")).result, {});
  for (const name of ["list", "text", "number", "null"]) {
    peer.send({ id: name, method: `vendor/${name}` });
    equal((await peer.answerTo(name)).error?.code, -32603);
    equal(problems.splice(0).length, 1);
  }
});

verifies(
  ["protocol:error:method-not-found", "protocol:error:invalid-params", "protocol:error:invalid-params-opaque"],
  "by a client",
  scriptedLegacy,
  async ({ peer, connect }) => {
    let entered = 0;
    await connect({
      onSample: () => {
        entered++;
        return { role: "assistant", model: "m", content: { type: "text", text: "" } };
      },
      methods: {
        "vendor/strict": withParams(z.object({ password: z.number() }), () => {
          entered++;
          return {};
        }),
      },
    });
    for (const [method, params, code] of [
      ["vendor/none", {}, -32601],
      ["roots/list", {}, -32601],
      ["elicitation/create", { message: "?", requestedSchema: { type: "object", properties: {} } }, -32602],
      ["sampling/createMessage", { messages: "hunter2", maxTokens: 1 }, -32602],
      ["vendor/strict", { password: "hunter2" }, -32602],
    ] as const) {
      peer.send({ id: method, method, params });
      const { error } = await peer.answerTo(method);
      equal(error?.code, code, method);
      ok(!JSON.stringify(error).includes("hunter2"));
    }
    equal(entered, 0);
  },
);
