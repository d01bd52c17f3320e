import { deepEqual, equal, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type ClientOptions, connect, McpError } from "bowline/client";
import { createChannelPair, FakeClock } from "bowline/testing";
import { createPipePair } from "../../support/each-wire.js";
import { HttpScript } from "../../support/http-script.js";
import { ServerScript } from "../../support/server-script.js";
import { proves } from "../../support/verifies.js";

/** A server that never answers: what it was told, by method, and how to connect to it. */
interface Silent {
  connect(options: ClientOptions): Promise<unknown>;
  /** Resolves when the opening request has come. */
  readonly asked: Promise<unknown>;
  /** Resolves when the client has left, with all that it said. */
  left(): Promise<(string | undefined)[]>;
}

const silent: Record<string, (t: TestContext, opening: string) => Silent | Promise<Silent>> = {
  memory: (_, opening) => silentChannel(new ServerScript(createChannelPair()), opening),
  stdio: (_, opening) => silentChannel(new ServerScript(createPipePair()), opening),
  http: async (t, opening) => {
    const script = await new HttpScript().start();
    t.after(() => script.stop());
    const arrived = script.next(opening);
    return {
      connect: (options) => connect(script.url, options),
      asked: arrived,
      left: async () => {
        await (await arrived).gone;
        return script.received.map(({ rpcMethod, method }) => rpcMethod ?? method);
      },
    };
  },
};

/** The same of 2024-11-05: the stream says where to post, and nothing after that. */
async function silentSse(t: TestContext, opening: string): Promise<Silent> {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received) => {
    if (received.method === "GET") received.stream().raw("event: endpoint\ndata: /post\n\n");
    else received.status(received.path === "/post" ? 202 : 405);
  };
  const stream = script.next("GET");
  return {
    connect: (options) => connect(script.url, { ...options, warnDeprecated: false }),
    asked: script.next(({ path }) => path === "/post"),
    left: async () => {
      await (await stream).gone;
      const posts = script.all("POST").filter(({ path, rpcMethod }) => path === "/post" || rpcMethod !== opening);
      return posts.map(({ rpcMethod }) => rpcMethod);
    },
  };
}

function silentChannel(script: ServerScript, opening: string): Silent {
  return {
    connect: (options) => connect({ channel: script.channel }, options),
    asked: script.next(opening),
    left: async () => {
      await script.closed;
      return script.methods;
    },
  };
}

for (const [era, opening, id] of [
  ["legacy", "initialize", "protocol:cancel:initialize-not-cancellable"],
  ["modern", "server/discover", "protocol:cancel:discover-not-cancelled"],
] as const) {
  for (const [transport, open] of Object.entries(era === "legacy" ? { ...silent, sse: silentSse } : silent)) {
    const wire = transport === "sse" ? transport : `${era}-${transport}`;

    proves(id, { wire }, "who gives up connecting says nothing more", async (t) => {
      const server = await open(t, opening);
      const abort = new AbortController();
      const connecting = server.connect({ era, signal: abort.signal });
      await server.asked;
      abort.abort("enough");
      await rejects(connecting, (reason) => reason === "enough");
      deepEqual(await server.left(), [opening]);
    });

    proves(id, { wire }, "nor does who has waited long enough", async (t) => {
      const clock = new FakeClock();
      const server = await open(t, opening);
      const failed = rejects(server.connect({ era, clock, timeoutMs: 1000, probeTimeoutMs: 1000 }), McpError);
      await server.asked;
      clock.advance(1000);
      await failed;
      deepEqual(await server.left(), [opening]);
      equal(clock.pending, 0);
    });
  }
}
