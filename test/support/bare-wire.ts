import type { TestContext } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import type { Server } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import type { Clock } from "#src/call/clock.js";
import { createPipePair } from "./each-wire.js";
import { Counter, openResponses, openSockets } from "./open-sockets.js";
import type { Wire } from "./verifies.js";

/** A wire without a recorder: nothing but the SDK itself remembers anything. */
export interface BareWorld {
  readonly era: "modern" | "legacy";
  readonly transport: "memory" | "stdio" | "node" | "fetch";
  /** Connects a client; both are closed when the test ends, or by `close`. */
  connect(server: Server, options?: ClientOptions): Promise<BareClient>;
}

export interface BareClient {
  readonly client: Client;
  /**
   * Closes connections that are kept for later calls. Resolves when they, and those of calls that are over, are closed:
   * then no socket is left but the two ends of the stream that the client listens to, in the era that has one.
   */
  quiet(): Promise<void>;
  /** Ends client, server and listener. */
  close(): Promise<void>;
}

/** Real timers that are too long to fire: a busy machine must not look like a silent peer. */
const patientClock: Clock = {
  now: () => performance.now() / 100,
  schedule: (callback, ms) => setTimeout(callback, Math.min(ms * 100, 1_000_000_000)),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

function bareWorld(t: TestContext, era: BareWorld["era"], transport: BareWorld["transport"]): BareWorld {
  return {
    era,
    transport,
    async connect(server, options = {}) {
      const { client, quiet, close } = await dial(transport, server as unknown as Server, {
        era,
        clock: patientClock,
        ...options,
      });
      const end = async () => {
        await client.close();
        await close();
      };
      t.after(end);
      return { client, quiet, close: end };
    },
  };
}

type Fetch = NonNullable<ClientOptions["fetch"]>;

async function dial(transport: BareWorld["transport"], server: Server, options: ClientOptions): Promise<BareClient> {
  if (transport === "fetch") {
    const requests = new Counter();
    const into = fetchInto(server);
    const counted: Fetch = (url, init) => {
      requests.add();
      return into(url, init).finally(requests.remove);
    };
    const client = await connect("http://localhost/mcp", { ...options, fetch: counted });
    return { client, quiet: () => requests.down(0), close: () => server.close() };
  }
  if (transport === "node") {
    // The sockets of a client that is given up are idle: the server lets them go soon, so that they can be waited for.
    const running = await serveHttp(server, { connectionIdleMs: 1000 });
    const responses = openResponses(running.server);
    const streams = options.era === "legacy" ? 1 : 0;
    const quiet = async () => {
      await responses.down(streams);
      running.server.closeIdleConnections();
      await openSockets.down(2 * streams);
    };
    return { client: await connect(running.url, options), quiet, close: running.close };
  }
  const [ours, theirs] = transport === "stdio" ? createPipePair() : createChannelPair();
  await server.accept(theirs);
  return { client: await connect({ channel: ours }, options), quiet: async () => {}, close: () => server.close() };
}

/** A fetch handler in place of the network: like a fetch, it rejects when its signal fires. */
function fetchInto(server: Server): Fetch {
  return (url, init) =>
    new Promise((resolve, reject) => {
      const { signal } = init;
      const request = new Request(url, init);
      const giveUp = () => reject(signal?.reason);
      signal?.addEventListener("abort", giveUp, { once: true });
      server
        .fetch(request)
        .then(resolve, reject)
        .finally(() => signal?.removeEventListener("abort", giveUp));
    });
}

function bareWires(transports: readonly BareWorld["transport"][]): readonly Wire<BareWorld>[] {
  return (["modern", "legacy"] as const).flatMap((era) =>
    transports.map((transport) => ({
      name: `${era}-${transport}`,
      open: (t: TestContext) => bareWorld(t, era, transport),
    })),
  );
}

export const bareChannels = bareWires(["memory", "stdio"]);
export const modernNode = bareWires(["node"]).filter(({ name }) => name.startsWith("modern"));
export const legacyNode = bareWires(["node"]).filter(({ name }) => name.startsWith("legacy"));
export const bareFetch = bareWires(["fetch"]);
export const eachBareWire = bareWires(["memory", "stdio", "node", "fetch"]);
export const legacyBareHttp = bareWires(["node", "fetch"]).filter(({ name }) => name.startsWith("legacy"));
