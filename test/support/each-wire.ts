import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";
import type { TestContext } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { createStdioServerChannel } from "bowline/node";
import type { Channel, Server } from "bowline/server";
import { createChannelPair, WireRecorder } from "bowline/testing";
import type { HttpExchange } from "#src/http/exchange.js";
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
  connect(server: Server, options?: ClientOptions): Promise<RecordedClient>;
  /** Serves over HTTP until the test ends, and returns the address. Transport `node` only. */
  listen(server: Server): Promise<string>;
  /** The client's end of a channel to the server, for tests that speak raw frames. Memory and stdio only. */
  channel(server: Server): Promise<Channel>;
}

type Era = World["era"];
type Transport = World["transport"];

function world(t: TestContext, era: Era, transport: Transport): World {
  const channelTo = async (server: Server): Promise<Channel> => {
    const [ours, theirs] = transport === "stdio" ? createPipePair() : createChannelPair();
    await server.accept(theirs);
    t.after(() => server.close());
    return ours;
  };
  const dial = async (server: Server, wire: WireRecorder, options: ClientOptions): Promise<Client> => {
    if (transport === "memory" || transport === "stdio") {
      return connect({ channel: wire.channel(await channelTo(server)) }, options);
    }
    t.after(() => server.close());
    if (transport === "fetch") return connect("http://localhost/mcp", { ...options, fetch: fetchInto(server, wire) });
    return connect(await listen(t, server, wire), ENGINE === undefined ? options : patient(options));
  };
  return {
    name: nameOf(era, transport),
    era,
    transport,
    listen: (server) => listen(t, server as unknown as Server),
    channel: (server) => channelTo(server as unknown as Server),
    async connect(server, options = {}) {
      const wire = new WireRecorder();
      const client = await dial(server as unknown as Server, wire, { era, ...options });
      t.after(() => client.close());
      // What a pipe was given last, here the end of a handshake, is on the other side in the next turn.
      if (transport === "stdio") await new Promise(setImmediate);
      return Object.assign(client, { wire });
    },
  };
}

/** A stream that an engine is asked about takes longer to open. */
function patient(options: ClientOptions): ClientOptions {
  return { ...options, limits: { streamOpenMs: 10_000, ...options.limits } };
}

/** Lines over two pipes: what stdio is, without the processes. */
export function createPipePair(): [Channel, Channel] {
  const up = new PassThrough();
  const down = new PassThrough();
  return [createStdioServerChannel({ input: down, output: up }), createStdioServerChannel({ input: up, output: down })];
}

function fetchInto(server: Server, wire: WireRecorder): NonNullable<ClientOptions["fetch"]> {
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

async function listen(t: TestContext, server: Server, wire?: WireRecorder): Promise<string> {
  const through = (exchange: HttpExchange) => wire?.exchange(exchange) ?? exchange;
  if (ENGINE !== undefined) {
    const { serveNodes } = await import("./nodes/wire.js");
    return `${await serveNodes(t, server, through)}/mcp`;
  }
  const http = createServer((req, res) => server.handle(through(createNodeExchange(req, res))));
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

/** Engine of two nodes behind nginx, which take the place of both HTTP hosts then (scripts/engines.mjs). */
export const ENGINE = process.env.BOWLINE_NODES;

/** Name of a wire. */
export function nameOf(era: Era, transport: Transport): string {
  return `${era}-${ENGINE !== undefined && transport === "node" ? `nginx-${ENGINE}` : transport}`;
}

function wires(eras: readonly Era[], transports: readonly Transport[]): readonly Wire<World>[] {
  const offered = ENGINE === undefined ? transports : transports.filter((transport) => transport !== "fetch");
  return eras.flatMap((era) =>
    offered.map((transport) => ({
      name: nameOf(era, transport),
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
