import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import type { EraName } from "bowline/client";
import {
  type Client,
  type ClientOptions,
  ConnectionError,
  connect,
  RpcError,
  TimeoutError,
  VersionError,
} from "bowline/client";
import { connectWith } from "#src/client/connect.js";
import { legacyClient } from "#src/era/legacy/client/era.js";
import { modernClient } from "#src/era/modern/client/era.js";
import { createDirectSend } from "#src/node/undici/send.js";
import { FakeClock } from "../../support/fake-clock.js";
import { HttpScript, type Received } from "../../support/http-script.js";
import { LEGACY, MODERN } from "../../support/server-script.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "modern-http" };
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

type Reply = (received: Received) => void;

const fails = (code: number, status: number, data?: unknown): Reply => {
  return (received) =>
    received.json({ jsonrpc: "2.0", id: received.message.id, error: { code, message: "no", data } }, status);
};
const discovers = (versions: readonly string[] = [MODERN]): Reply => {
  return (received) =>
    received.result({ resultType: "complete", supportedVersions: versions, capabilities: { tools: {} } });
};

/** A server that answers the probe as told and everything else in the way of the older era. */
async function server(t: TestContext, probe: Reply, more: Record<string, Reply> = {}): Promise<HttpScript> {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const replies: Record<string, Reply> = {
    "server/discover": probe,
    initialize: (received) =>
      received.result(
        { protocolVersion: LEGACY, capabilities: { tools: {} }, serverInfo: { name: "script", version: "1" } },
        { "mcp-session-id": "session-0123456789" },
      ),
    "tools/list": (received) => received.result({ tools: [] }),
    ...more,
  };
  script.onRequest = (received) => {
    const reply = replies[received.rpcMethod ?? ""];
    if (reply !== undefined) reply(received);
    else received.status(received.method === "POST" ? 202 : 405);
  };
  return script;
}

async function dial(t: TestContext, script: HttpScript, options: ClientOptions = {}): Promise<Client> {
  const client = await connect(script.url, options);
  t.after(() => client.close());
  return client;
}

/** A client that knows two versions of this era. */
async function dialTwoVersions(t: TestContext, script: HttpScript): Promise<Client> {
  const eras = [{ ...modernClient, versions: [MODERN, "2026-01-31"] }, legacyClient];
  const none = () => Promise.reject(new Error("not needed here"));
  const dialer = { eras, memory: new Map(), spawn: none, validator: none, send: async () => createDirectSend(8) };
  const client = await connectWith(dialer, script.url, {});
  t.after(() => client.close());
  return client;
}

const posted = (script: HttpScript) => script.received.flatMap(({ rpcMethod }) => rpcMethod ?? []);

proves(
  ["client-transport:http:era-inspect-400", "client-transport:http:era-fallback"],
  wire,
  "the body of a refusal decides",
  async (t) => {
    const refusals: Reply[] = [
      (received) => received.status(400),
      (received) => received.status(400, "Unsupported protocol version"),
      (received) => received.status(400, "<html><body>Bad request</body></html>", "text/html"),
      fails(-32000, 400),
      (received) =>
        received.json({ jsonrpc: "2.0", id: null, error: { code: -32000, message: "Server not initialized" } }, 400),
      (received) => received.status(404),
      (received) => received.status(405),
      (received) => received.status(406),
      (received) => received.status(415),
    ];
    for (const refusal of refusals) {
      const script = await server(t, refusal);
      const client = await dial(t, script);
      equal(client.era, "legacy");
      equal(client.version, LEGACY);
      await client.listTools();
      deepEqual(posted(script).slice(0, 2), ["server/discover", "initialize"]);
      const [listed] = script.all("tools/list");
      equal(listed?.path, script.all("server/discover")[0]?.path);
      equal(listed?.headers["mcp-protocol-version"], LEGACY);
      equal(listed?.headers["mcp-session-id"], "session-0123456789");
      equal(listed?.headers["mcp-method"], undefined);
    }
    const modern = await server(t, (received) => {
      const refused = versionIn(received) === MODERN;
      return refused ? fails(-32022, 400, { supported: [MODERN] })(received) : undefined;
    });
    await rejects(dial(t, modern), (error) => error instanceof RpcError && error.rpcCode === -32022);
    deepEqual(posted(modern), ["server/discover", "server/discover"]);
  },
);

function versionIn(received: Received): string {
  return received.message.params._meta[VERSION_KEY];
}

proves(
  [
    "client-transport:http:era-modern-error-no-fallback",
    "lifecycle:discover:modern-errors-no-fallback",
    "lifecycle:envelope:header-matches-meta",
  ],
  wire,
  "an error that only newer servers have is corrected or told",
  async (t) => {
    const corrected = await server(
      t,
      (received) =>
        versionIn(received) === MODERN
          ? fails(-32022, 400, { supported: ["2026-01-31"], requested: MODERN })(received)
          : discovers(["2026-01-31"])(received),
      { "tools/list": (received) => received.result({ resultType: "complete", tools: [] }) },
    );
    const client = await dialTwoVersions(t, corrected);
    equal(client.version, "2026-01-31");
    await Promise.all([client.listTools(), client.listTools(), client.callTool("t").catch(() => {})]);
    for (const received of corrected.received) {
      equal(received.headers["mcp-protocol-version"], versionIn(received));
    }
    deepEqual(corrected.received.map(versionIn), [MODERN, ...Array(4).fill("2026-01-31")]);

    for (const [code, data] of [
      [-32021, { requiredCapabilities: { sampling: {} } }],
      [-32020, undefined],
    ] as const) {
      const script = await server(t, fails(code, 400, data));
      await rejects(dial(t, script), (error) => error instanceof RpcError && error.rpcCode === code);
      deepEqual(posted(script), ["server/discover"]);
    }
  },
);

proves(
  ["client-transport:http:era-200-error", "client-transport:http:era-discover-32601"],
  wire,
  "an ordinary error to the probe means an older server, whatever the status",
  async (t) => {
    const answers: Reply[] = [
      fails(-32601, 200),
      fails(-32602, 200),
      (received) => received.result({ tools: [] }),
      fails(-32601, 404),
    ];
    for (const answer of answers) {
      const script = await server(t, answer);
      const client = await dial(t, script);
      equal(client.era, "legacy");
      deepEqual(posted(script), ["server/discover", "initialize", "notifications/initialized"]);
    }
    const pinned = await server(t, discovers(), { "tools/list": fails(-32601, 404) });
    const client = await dial(t, pinned, { versions: [MODERN] });
    await rejects(client.listTools(), (error) => error instanceof RpcError && error.rpcCode === -32601);
    deepEqual(posted(pinned), ["tools/list"]);
  },
);

proves("lifecycle:discover:network-error-raises", wire, "trouble on the way proves nothing", async (t) => {
  const gone = await new HttpScript().start();
  const { url } = gone;
  await gone.stop();
  await rejects(connect(url), ConnectionError);
  for (const status of [500, 503]) {
    const script = await server(t, (received) => received.status(status));
    await rejects(dial(t, script), (error) => error instanceof ConnectionError && error.status === status);
    deepEqual(posted(script), ["server/discover"]);
  }
  const reset = await server(t, (received) => received.cut());
  await rejects(dial(t, reset), ConnectionError);
  deepEqual(posted(reset), ["server/discover"]);
  const clock = new FakeClock();
  const silent = await server(t, () => clock.advance(30));
  await rejects(dial(t, silent, { timeoutMs: 30, clock }), TimeoutError);
  deepEqual(posted(silent), ["server/discover"]);
});

proves("lifecycle:era:modern-only-client", wire, "a client of newer versions alone says what is wrong", async (t) => {
  const answers: readonly [Reply, (cause: unknown) => boolean][] = [
    [fails(-32000, 400), (cause) => cause instanceof RpcError && cause.rpcCode === -32000],
    [(received) => received.status(404), (cause) => cause instanceof ConnectionError && cause.status === 404],
    [(received) => received.status(406), (cause) => cause instanceof ConnectionError && cause.status === 406],
  ];
  for (const [answer, isOriginal] of answers) {
    const script = await server(t, answer);
    await rejects(dial(t, script, { era: "modern" }), (error) => {
      ok(error instanceof VersionError, String(error));
      match(error.message, /legacy server/);
      match(error.message, /era "auto"/);
      ok(isOriginal(error.cause));
      return true;
    });
    deepEqual(posted(script), ["server/discover"]);
  }
});

proves(
  "lifecycle:era:modern-only-client",
  wire,
  "a client of newer versions alone hands on the refusal of its Host, Origin or token",
  async (t) => {
    for (const status of [401, 403]) {
      const script = await server(t, fails(-32600, status));
      await rejects(
        dial(t, script, { era: "modern" }),
        (error) => error instanceof RpcError && error.status === status,
      );
      deepEqual(posted(script), ["server/discover"]);
    }
  },
);

proves("lifecycle:version:inline-retry", wire, "the header follows the version of the body", async (t) => {
  const script = await server(t, discovers([MODERN, "2026-01-31"]), {
    "tools/list": (received) =>
      versionIn(received) === MODERN
        ? fails(-32022, 400, { supported: ["2026-01-31"], requested: MODERN })(received)
        : received.result({ resultType: "complete", tools: [] }),
  });
  const client = await dialTwoVersions(t, script);
  await client.listTools();
  await client.listTools();
  const sent = script.all("tools/list");
  deepEqual(sent.map(versionIn), [MODERN, "2026-01-31", "2026-01-31"]);
  deepEqual(
    sent.map(({ headers }) => headers["mcp-protocol-version"]),
    [MODERN, "2026-01-31", "2026-01-31"],
  );
});

proves(
  ["lifecycle:era:cached", "client-transport:http:era-cached"],
  wire,
  "the verdict holds for the connection, for later ones to the same origin, and until it proves wrong",
  async (t) => {
    const script = await server(t, (received) => received.status(404));
    const first = await dial(t, script);
    for (let call = 0; call < 100; call++) await first.listTools();
    equal(script.all("server/discover").length, 1);
    equal((await dial(t, script)).era, "legacy");
    equal(script.all("server/discover").length, 1);

    const modern = await server(t, discovers(), {
      "tools/list": (received) => received.result({ resultType: "complete", tools: [] }),
      initialize: fails(-32022, 400, { supported: [MODERN] }),
    });
    const { prior } = await dial(t, modern);
    const second = await dial(t, modern, { prior: JSON.parse(JSON.stringify(prior)) });
    await second.listTools();
    equal(modern.all("server/discover").length, 1);

    const misled = await dial(t, modern, { prior: { era: "legacy" } });
    equal(misled.era, "modern");
    equal(modern.all("initialize").length, 1);
    equal(modern.all("server/discover").length, 2);
  },
);

proves("lifecycle:era:never-demoted", wire, "a call that fails starts no handshake", async (t) => {
  const script = await server(t, discovers(), { "tools/list": (received) => received.status(404) });
  const client = await dial(t, script);
  await rejects(client.listTools(), (error) => error instanceof ConnectionError && error.status === 404);
  equal(client.era, "modern");
  deepEqual(posted(script), ["server/discover", "tools/list"]);
});

proves("lifecycle:era:fallback-clean", wire, "no header of the probe is left", async (t) => {
  const run = async (era: "auto" | EraName) => {
    const script = await server(t, (received) => received.status(400));
    const client = await dial(t, script, { era });
    await client.listTools();
    return script.received
      .filter(({ rpcMethod, method }) => rpcMethod !== "server/discover" && method === "POST")
      .map(({ headers, message: { id: _, ...message } }) => {
        const { host: __, "content-length": ___, ...rest } = headers;
        return { rest, message };
      });
  };
  deepEqual(await run("auto"), await run("legacy"));
});
