import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import type { TestContext } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { createStdioServerChannel } from "bowline/node";
import type { Channel, Server, ToolTypes } from "bowline/server";
import { createChannelPair, WireRecorder } from "bowline/testing";
import { createWebExchange } from "#src/http/web-exchange.js";
import { createNodeExchange } from "#src/node/http/exchange.js";
import type { Wire } from "./verifies.js";

/** A client of a test, with everything that passed between it and its server. */
export type RecordedClient = Client & { readonly wire: WireRecorder };

export interface World {
  /** `modern-stdio` and so on. */
  readonly name: string;
  readonly era: "modern" | "legacy";
  readonly transport: "memory" | "stdio" | "node" | "fetch";
  /** Connects a client to a server over this wire; both are closed when the test ends. */
  connect<Tools extends ToolTypes>(server: Server<Tools>, options?: ClientOptions): Promise<RecordedClient>;
  /** The client's end of a channel to the server, for tests that speak raw frames. Memory and stdio only. */
  channel<Tools extends ToolTypes>(server: Server<Tools>): Promise<Channel>;
}

type Era = World["era"];
type Transport = World["transport"];

function world(t: TestContext, era: Era, transport: Transport): World {
  const channelTo = async (server: Server<ToolTypes>): Promise<Channel> => {
    const [ours, theirs] = transport === "stdio" ? createPipePair() : createChannelPair();
    await server.accept(theirs);
    t.after(() => server.close());
    return ours;
  };
  const dial = async (server: Server<ToolTypes>, wire: WireRecorder, options: ClientOptions): Promise<Client> => {
    if (transport === "memory" || transport === "stdio") {
      return connect({ channel: wire.channel(await channelTo(server)) }, options);
    }
    t.after(() => server.close());
    if (transport === "fetch") return connect("http://localhost/mcp", { ...options, fetch: fetchInto(server, wire) });
    return connect(await listen(t, server, wire), options);
  };
  return {
    name: `${era}-${transport}`,
    era,
    transport,
    channel: (server) => channelTo(server as unknown as Server<ToolTypes>),
    async connect(server, options = {}) {
      const wire = new WireRecorder();
      const client = await dial(server as unknown as Server<ToolTypes>, wire, { era, ...options });
      t.after(() => client.close());
      // What a pipe was given last, here the end of a handshake, is on the other side in the next turn.
      if (transport === "stdio") await new Promise(setImmediate);
      return Object.assign(client, { wire });
    },
  };
}

/** Lines over two pipes: what stdio is, without the processes. */
export function createPipePair(): [Channel, Channel] {
  const up = new PassThrough();
  const down = new PassThrough();
  return [createStdioServerChannel({ input: down, output: up }), createStdioServerChannel({ input: up, output: down })];
}

function fetchInto(server: Server<ToolTypes>, wire: WireRecorder): NonNullable<ClientOptions["fetch"]> {
  return (url, init) => {
    init.signal?.throwIfAborted();
    const { exchange, response } = createWebExchange(new Request(url, init));
    server.handle(wire.exchange(exchange));
    const aborted = new Promise<never>((_, reject) => {
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason), { once: true });
    });
    return Promise.race([response, aborted]);
  };
}

async function listen(t: TestContext, server: Server<ToolTypes>, wire: WireRecorder): Promise<string> {
  const http = createServer((req, res) => server.handle(wire.exchange(createNodeExchange(req, res))));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, "close");
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

const ERAS: readonly Era[] = ["modern", "legacy"];
const TRANSPORTS: readonly Transport[] = ["memory", "stdio", "node", "fetch"];

function wires(eras: readonly Era[], transports: readonly Transport[]): readonly Wire<World>[] {
  return eras.flatMap((era) =>
    transports.map((transport) => ({
      name: `${era}-${transport}`,
      open: (t: TestContext) => world(t, era, transport),
    })),
  );
}

/** Every era over every transport. */
export const eachWire = wires(ERAS, TRANSPORTS);
export const modernWires = wires(["modern"], TRANSPORTS);
export const legacyWires = wires(["legacy"], TRANSPORTS);
/** Where both sides share one pipe. */
export const channelWires = wires(ERAS, ["memory", "stdio"]);
export const stdioWires = wires(ERAS, ["stdio"]);
export const modernStdio = wires(["modern"], ["stdio"]);
export const modernChannels = wires(["modern"], ["memory", "stdio"]);
export const legacyChannels = wires(["legacy"], ["memory", "stdio"]);
export const httpWires = wires(ERAS, ["node", "fetch"]);
export const modernHttp = wires(["modern"], ["node", "fetch"]);
export const legacyHttp = wires(["legacy"], ["node", "fetch"]);

/** Resolves when the server can tell this client about changes by itself: over HTTP that takes a stream of its own. */
export function heardBy(client: RecordedClient, { era, transport }: World): Promise<void> {
  if (era === "modern" || transport === "memory" || transport === "stdio") return Promise.resolve();
  return client.wire.until(({ exchanges }) =>
    exchanges.some(({ method, status }) => method === "GET" && status === 200),
  );
}
