import { deepEqual, equal, rejects } from "node:assert/strict";
import { bearer } from "bowline/auth/client";
import { RpcError } from "bowline/client";
import { answerAll, DISCOVERED, type Received, scripted } from "../../support/http-script.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "http" };
const error = (code: number, data?: object) => ({ jsonrpc: "2.0", error: { code, message: "no", data } });
const tools = (received: Received) =>
  received.result({ resultType: "complete", tools: [], ttlMs: 0, cacheScope: "private" });

proves(
  [
    "client-transport:http:era-inspect-400",
    "client-transport:http:era-fallback",
    "client-transport:http:era-200-error",
    "client-transport:http:era-discover-32601",
  ],
  wire,
  "a server that does not answer discovery as it should is greeted with a handshake",
  async (t) => {
    const answers: ((received: Received) => void)[] = [
      (r) => r.status(400),
      (r) => r.status(400, "Unsupported protocol version"),
      (r) => r.status(400, "Server not initialized"),
      (r) => r.status(400, "<html>no</html>", "text/html"),
      (r) => r.json(error(-32000), 400),
      (r) => r.status(404),
      (r) => r.status(405),
      (r) => r.status(406, "no"),
      (r) => r.status(415),
      (r) => r.json({ ...error(-32601), id: r.message.id }, 404),
      (r) => r.json({ ...error(-32601), id: r.message.id }),
      (r) => r.json({ ...error(-32602), id: r.message.id }),
      (r) => r.result({}),
    ];
    for (const answer of answers) {
      const { script, connectTo } = await scripted(t, answerAll(tools, answer));
      const client = await connectTo();
      await client.listTools();
      deepEqual(
        script.received.filter(({ method }) => method === "POST").map(({ rpcMethod }) => rpcMethod),
        ["server/discover", "initialize", "notifications/initialized", "tools/list"],
      );
      for (const { rpcMethod, headers, message } of script.received) {
        if (rpcMethod === "server/discover") continue;
        equal(headers["mcp-method"], undefined);
        equal(headers["mcp-name"], undefined);
        equal(message?.params?._meta, undefined);
        equal(headers["mcp-protocol-version"], rpcMethod === "initialize" ? undefined : "2025-11-25");
      }
    }
  },
);

proves(
  ["client-transport:http:protocol-version-cleared-at-initialize", "client-transport:http:legacy-no-modern-vocabulary"],
  wire,
  "after the fallback nothing of the probe is left",
  async (t) => {
    const wires: unknown[] = [];
    for (const era of ["auto", "legacy"] as const) {
      const { script, connectTo } = await scripted(
        t,
        answerAll(tools, (received) => received.status(400)),
      );
      const client = await connectTo({ era });
      await client.listTools();
      await client.close();
      const after = script.received.filter(({ rpcMethod }) => rpcMethod !== "server/discover");
      equal(after[0]?.rpcMethod, "initialize");
      equal(after[0]?.headers["mcp-protocol-version"], undefined);
      equal(after[1]?.headers["mcp-protocol-version"], "2025-11-25");
      wires.push(
        after.map(({ method, headers, message }) => {
          const { host: _, ...rest } = headers;
          return { method, headers: rest, message: message === undefined ? undefined : { ...message, id: 0 } };
        }),
      );
    }
    deepEqual(wires[0], wires[1]);
  },
);

proves("client-transport:http:era-modern-error-no-fallback", wire, "an error of the era proves the era", async (t) => {
  for (const [code, data] of [
    [-32021, { requiredCapabilities: { roots: {} } }],
    [-32020, undefined],
  ] as const) {
    const { script, connectTo } = await scripted(
      t,
      answerAll(tools, (received) => received.json(error(code, data), 400)),
    );
    await rejects(connectTo(), (reason) => reason instanceof RpcError && reason.rpcCode === code);
    equal(script.all("initialize").length, 0);
  }
  let asked = 0;
  const { script, connectTo } = await scripted(
    t,
    answerAll(tools, (received) => {
      if (asked++ > 0) received.result(DISCOVERED);
      else received.json(error(-32022, { supported: ["2026-07-28"], requested: "x" }), 400);
    }),
  );
  const client = await connectTo();
  await client.listTools();
  equal(script.all("initialize").length, 0);
  equal(script.all("server/discover").length, 2);
});

proves("client-transport:http:era-auth-passthrough", wire, "a refusal of authorization is no verdict", async (t) => {
  for (const status of [401, 403]) {
    const { script, connectTo } = await scripted(
      t,
      answerAll(tools, (received) => received.status(status)),
    );
    await rejects(connectTo(), { code: "connection_error", status });
    equal(script.all("initialize").length, 0);
  }
});

proves(
  "client-transport:http:era-auth-passthrough",
  wire,
  "who is let in after all asks the same question again",
  async (t) => {
    let token: string | undefined;
    const { script, connectTo } = await scripted(t, (received) => {
      if (received.headers.authorization === "Bearer good") answerAll(tools)(received);
      else received.status(401);
    });
    const auth = bearer({
      token: () => token,
      onUnauthorized: () => {
        token = "good";
      },
    });
    const client = await connectTo(auth);
    equal(client.era, "modern");
    await client.listTools();
    deepEqual(
      script.received.map(({ rpcMethod }) => rpcMethod),
      ["server/discover", "server/discover", "tools/list"],
    );
  },
);

proves("client-transport:http:connect-abort", wire, "giving up on connecting closes the request at once", async (t) => {
  for (const era of ["modern", "legacy"] as const) {
    const abort = new AbortController();
    const { script, connectTo } = await scripted(t, () => {});
    const connecting = connectTo({ era, signal: abort.signal });
    const received = await script.next("POST");
    abort.abort("no");
    await rejects(connecting, (reason) => reason === "no");
    await received.gone;
    equal(script.received.length, 1);
  }
});
