import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import {
  type Client,
  type ClientOptions,
  connect,
  MissingCapabilityError,
  RpcError,
  UnsupportedVersionError,
  VersionError,
} from "bowline/client";
import { FakeClock } from "bowline/testing";
import { connectWith } from "#src/client/connect.js";
import { legacyClient } from "#src/era/legacy/client/era.js";
import { modernClient } from "#src/era/modern/client/era.js";
import { createPipePair } from "../../support/each-wire.js";
import { answerAll, type Received, scripted } from "../../support/http-script.js";
import { LEGACY, MODERN, ServerScript } from "../../support/server-script.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "modern-stdio" };
const stdio = (): ServerScript => new ServerScript(createPipePair()).legacy();

function dial(t: TestContext, script: ServerScript, options: ClientOptions = {}): Promise<Client> {
  const connecting = connect({ channel: script.channel }, options);
  t.after(async () => {
    await (await connecting.catch(() => undefined))?.close();
    await script.close();
  });
  return connecting;
}

/** A client for whom an earlier version without handshakes exists too. */
function dialTwoVersions(t: TestContext, script: ServerScript): Promise<Client> {
  const eras = [{ ...modernClient, versions: [MODERN, "2026-01-31"] }, legacyClient];
  const none = () => Promise.reject(new Error("not needed here"));
  const dialer = { eras, memory: new Map(), spawn: none, validator: none, send: none };
  const connecting = connectWith(dialer, { channel: script.channel }, {});
  t.after(async () => (await connecting.catch(() => undefined))?.close());
  return connecting;
}

const versionIn = (message: { params?: { readonly [key: string]: unknown } } | undefined) =>
  (message?.params?._meta as Record<string, unknown> | undefined)?.["io.modelcontextprotocol/protocolVersion"];

proves(
  ["transport:stdio:probe-first", "lifecycle:discover:fallback-method-not-found"],
  wire,
  "the probe goes first and alone; whatever error it meets, the handshake follows",
  async (t) => {
    for (const code of [-32601, -32602, -32600, -32000, 0, -32603]) {
      const script = stdio().on("server/discover", () => undefined);
      const connecting = dial(t, script, { info: { name: "skipper", version: "1" } });
      const probe = await script.next("server/discover");
      equal(script.received.length, 1);
      deepEqual(probe.params, {
        _meta: {
          "io.modelcontextprotocol/protocolVersion": MODERN,
          "io.modelcontextprotocol/clientInfo": { name: "skipper", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      });
      script.error(probe, code);
      const client = await connecting;
      equal(client.era, "legacy");
      script.on("tools/list", { result: { tools: [] } });
      deepEqual((await client.listTools()).tools, []);
      deepEqual(script.methods.slice(1, 3), ["initialize", "notifications/initialized"]);
    }
  },
);

proves(
  ["lifecycle:discover:unparseable-result", "lifecycle:discover:fallback-method-not-found"],
  wire,
  "a result that is no discovery counts as legacy",
  async (t) => {
    for (const result of [
      {},
      { supportedVersions: "x" },
      { tools: [] },
      { supportedVersions: [5], capabilities: {} },
    ]) {
      const client = await dial(t, stdio().on("server/discover", { result }));
      equal(client.era, "legacy");
      equal(client.version, LEGACY);
    }
  },
);

/** Error responses with members that JSON-RPC does not allow. */
const MALFORMED_ERRORS: readonly unknown[] = [
  { code: "-32601", message: "Method not found" },
  { code: "METHOD_NOT_FOUND", message: "no" },
  { code: 1.5, message: "no" },
  { message: "no" },
  { code: -32601 },
  "Method not found",
  null,
];

proves("lifecycle:discover:malformed-error", wire, "an error of another form counts as legacy", async (t) => {
  for (const error of MALFORMED_ERRORS) {
    const script = stdio().on("server/discover", () => undefined);
    const connecting = dial(t, script);
    const { id } = await script.next("server/discover");
    script.send({ id, error });
    equal((await connecting).version, LEGACY);
  }
  const only = stdio().on("server/discover", () => undefined);
  const refused = rejects(dial(t, only, { era: "modern" }), { name: "ProtocolError", message: /integer code/ });
  const { id } = await only.next("server/discover");
  only.send({ id, error: MALFORMED_ERRORS[0] });
  await refused;
});

proves("lifecycle:discover:malformed-error", { wire: "modern-http" }, "in JSON, as an event, by status", async (t) => {
  for (const error of MALFORMED_ERRORS) {
    for (const how of ["json", "event", "status"]) {
      const answer = (received: Received) => {
        const message = { jsonrpc: "2.0", id: received.message.id, error };
        if (how === "event") received.stream().event(message).end();
        else received.json(message, how === "status" ? 400 : 200);
      };
      const { connectTo } = await scripted(
        t,
        answerAll(() => {}, answer),
      );
      equal((await connectTo()).version, LEGACY, `${how} ${JSON.stringify(error)}`);
    }
  }
});

proves(
  ["lifecycle:discover:adopt-result", "transport:stdio:probe:modern-result"],
  wire,
  "a discovery settles version, capabilities and identity",
  async (t) => {
    const told = {
      supportedVersions: ["2027-12-01", MODERN, LEGACY],
      instructions: "Mind the tide",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "harbour", version: "2" } },
    };
    const script = stdio()
      .modern({ tools: { listChanged: true } }, told)
      .on("tools/list", { result: { tools: [] } });
    const client = await dial(t, script);
    equal(client.version, MODERN);
    deepEqual(client.server, {
      info: { name: "harbour", version: "2" },
      capabilities: { tools: { listChanged: true } },
      instructions: "Mind the tide",
    });
    await client.listTools();
    equal(versionIn(script.all("tools/list")[0]), MODERN);
    deepEqual(script.all("initialize"), []);

    const older = new ServerScript().modern({}, { supportedVersions: ["2026-01-31"] });
    equal((await dialTwoVersions(t, older)).version, "2026-01-31");
    const both = new ServerScript().modern({}, { supportedVersions: ["2026-01-31", MODERN] });
    equal((await dialTwoVersions(t, both)).version, MODERN);
  },
);

proves(
  ["lifecycle:discover:no-modern-overlap", "transport:stdio:probe:modern-result"],
  wire,
  "a discovery without a common version leads to the handshake, or to an error that names both sides",
  async (t) => {
    const client = await dial(t, stdio().modern({}, { supportedVersions: [LEGACY] }));
    equal(client.era, "legacy");
    const script = stdio().modern({}, { supportedVersions: ["2099-01-01"] });
    await rejects(dial(t, script), (error) => {
      ok(error instanceof VersionError);
      deepEqual(error.supported, ["2099-01-01"]);
      match(error.message, /2099-01-01/);
      match(error.message, /2026-07-28/);
      return true;
    });
    deepEqual(script.methods, ["server/discover"]);
  },
);

proves(
  ["lifecycle:discover:retry-on-32022"],
  wire,
  "an unsupported version is corrected once, from the server's list",
  async (t) => {
    const script = stdio().on("server/discover", (request) =>
      versionIn(request) === MODERN
        ? { error: { code: -32022, data: { supported: ["2026-01-31"], requested: MODERN } } }
        : { result: { supportedVersions: ["2026-01-31"], capabilities: {}, resultType: "complete" } },
    );
    const client = await dialTwoVersions(t, script);
    equal(client.version, "2026-01-31");
    deepEqual(script.all("server/discover").map(versionIn), [MODERN, "2026-01-31"]);
    deepEqual(script.all("initialize"), []);
  },
);

proves(
  ["lifecycle:discover:retry-bounded", "lifecycle:discover:retry-on-32022"],
  wire,
  "a second refusal is the last",
  async (t) => {
    const script = stdio().on("server/discover", { error: { code: -32022, data: { supported: [MODERN] } } });
    await rejects(dial(t, script), (error) => {
      ok(error instanceof UnsupportedVersionError);
      deepEqual(error.supported, [MODERN]);
      return true;
    });
    deepEqual(script.methods, ["server/discover", "server/discover"]);
  },
);

proves(
  ["lifecycle:version:no-mutual-error", "lifecycle:discover:retry-on-32022"],
  wire,
  "a list without a common version is told, and leads to no handshake",
  async (t) => {
    const refusal = { error: { code: -32022, data: { supported: ["2099-01-01"], requested: MODERN } } };
    const script = stdio().on("server/discover", refusal);
    await rejects(dial(t, script), (error) => {
      ok(error instanceof VersionError);
      deepEqual(error.supported, ["2099-01-01"]);
      return true;
    });
    deepEqual(script.methods, ["server/discover"]);

    const late = stdio().modern().on("tools/list", refusal);
    const client = await dial(t, late);
    await rejects(client.listTools(), (error) => {
      return error instanceof UnsupportedVersionError && error.supported[0] === "2099-01-01";
    });
    deepEqual(late.methods, ["server/discover", "tools/list"]);
  },
);

proves("lifecycle:discover:32022-legacy-list", wire, "a list of older versions leads to the handshake", async (t) => {
  const refusal = { error: { code: -32022, data: { supported: [LEGACY] } } };
  const script = stdio().on("server/discover", refusal);
  equal((await dial(t, script)).version, LEGACY);
  deepEqual(script.methods.slice(0, 2), ["server/discover", "initialize"]);
  const strict = stdio().on("server/discover", refusal);
  await rejects(dial(t, strict, { era: "modern" }), (error) => {
    return error instanceof VersionError && error.supported?.[0] === LEGACY;
  });
  deepEqual(strict.methods, ["server/discover"]);
});

proves("lifecycle:discover:32022-malformed", wire, "without a usable list there is no proof of anything", async (t) => {
  for (const data of [undefined, null, { supported: "x" }, { supported: [5] }, { supported: [] }]) {
    const client = await dial(t, stdio().on("server/discover", { error: { code: -32022, data } }));
    equal(client.era, "legacy");
  }
});

proves(
  "lifecycle:discover:modern-errors-no-fallback",
  wire,
  "errors that only newer servers have are told as they are",
  async (t) => {
    for (const [code, data] of [
      [-32020, undefined],
      [-32021, { requiredCapabilities: { elicitation: {} } }],
    ] as const) {
      const script = stdio().on("server/discover", { error: { code, data } });
      await rejects(dial(t, script), (error) => {
        ok(error instanceof RpcError);
        equal(error.rpcCode, code);
        equal(error instanceof MissingCapabilityError, data !== undefined);
        deepEqual(error.data, data);
        return true;
      });
      deepEqual(script.methods, ["server/discover"]);
    }
    const vague = stdio().on("server/discover", { error: { code: -32021, data: {} } });
    equal((await dial(t, vague)).era, "legacy");
  },
);

proves(
  ["transport:stdio:probe:timeout-fallback", "lifecycle:discover:late-reply"],
  wire,
  "silence leads to the handshake, and a late answer changes nothing",
  async (t) => {
    const clock = new FakeClock();
    const problems: Error[] = [];
    const script = stdio().on("server/discover", () => undefined);
    const connecting = dial(t, script, { clock, probeTimeoutMs: 700, onError: (error) => problems.push(error) });
    const probe = await script.next("server/discover");
    clock.advance(699);
    equal(script.received.length, 1);
    clock.advance(1);
    const client = await connecting;
    equal(client.era, "legacy");
    script.result(probe, { supportedVersions: [MODERN], capabilities: {}, resultType: "complete" });
    script.on("tools/list", { result: { tools: [] } });
    await client.listTools();
    equal(client.era, "legacy");
    deepEqual(problems, []);
    deepEqual(script.methods, ["server/discover", "initialize", "notifications/initialized", "tools/list"]);
  },
);

proves(
  "transport:stdio:probe:modern-only",
  wire,
  "a client of newer versions alone asks first, and says what is wrong",
  async (t) => {
    const script = stdio().on("tools/call", { result: { content: [] } });
    await rejects(dial(t, script, { era: "modern" }), (error) => {
      ok(error instanceof VersionError);
      match(error.message, /legacy server/);
      return true;
    });
    await script.closed;
    deepEqual(script.methods, ["server/discover"]);
  },
);

proves(
  "lifecycle:discover:handshake-32022-reprobes",
  wire,
  "a handshake refused with the name of a common version leads back to the probe, once",
  async (t) => {
    const refusal = { error: { code: -32022, data: { supported: [MODERN] } } };
    let probes = 0;
    const slow = stdio()
      .on("initialize", refusal)
      .on("server/discover", () => {
        if (probes++ === 0) return { error: { code: -32603, message: "starting" } };
        return { result: { supportedVersions: [MODERN], capabilities: {}, resultType: "complete" } };
      });
    equal((await dial(t, slow)).era, "modern");
    deepEqual(slow.methods, ["server/discover", "initialize", "server/discover"]);
    const stubborn = stdio()
      .on("initialize", refusal)
      .on("server/discover", { error: { code: -32603 } });
    await rejects(dial(t, stubborn), VersionError);
    deepEqual(stubborn.methods, ["server/discover", "initialize", "server/discover"]);
  },
);

proves(
  "lifecycle:version:inline-retry",
  wire,
  "a version refused later is corrected once, for this call and those after it",
  async (t) => {
    const script = stdio()
      .modern({ tools: {} }, { supportedVersions: [MODERN, "2026-01-31"] })
      .on("tools/list", (request) =>
        versionIn(request) === MODERN
          ? { error: { code: -32022, data: { supported: ["2026-01-31"], requested: MODERN } } }
          : { result: { tools: [], resultType: "complete" } },
      );
    const client = await dialTwoVersions(t, script);
    await client.listTools(undefined, { id: "mine" });
    await client.listTools();
    const sent = script.all("tools/list");
    deepEqual(sent.map(versionIn), [MODERN, "2026-01-31", "2026-01-31"]);
    equal(new Set(sent.map(({ id }) => id)).size, 3);
    equal(client.version, "2026-01-31");
  },
);

proves("lifecycle:connect:onerror-pre-handshake", {}, "garbage before the first answer is reported", async (t) => {
  const problems: Error[] = [];
  const script = stdio().on("initialize", (request) => {
    script.raw("Harbour server starting");
    return { result: { protocolVersion: LEGACY, capabilities: {}, serverInfo: request.params?.clientInfo } };
  });
  script.raw("Listening on stdio");
  const client = await dial(t, script, { onError: (error) => problems.push(error) });
  equal(client.era, "legacy");
  equal(problems.length, 2);
});
