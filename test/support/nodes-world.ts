import type { TestContext } from "node:test";
import { type Cluster, createMemoryState, type MemoryState } from "bowline/cluster";
import type { HttpServerOptions, ServerOptions } from "#src/server/options.js";
import { FakeClock } from "./fake-clock.js";
import { LegacyClient, LegacyEndpoint, type Sender } from "./legacy-endpoint.js";

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];

/** Node of a {@link NodesWorld}. */
export interface Node {
  readonly endpoint: LegacyEndpoint;
  readonly cluster: Cluster;
}

/** Processes that share one state in memory, on one clock. */
export class NodesWorld {
  readonly clock = new FakeClock();
  readonly state: MemoryState = createMemoryState({ clock: this.clock });
  readonly #t: TestContext;
  readonly #http: HttpServerOptions;
  readonly #options: ServerOptions;

  constructor(t: TestContext, http: HttpServerOptions = {}, options: ServerOptions = {}) {
    this.#t = t;
    this.#http = http;
    this.#options = options;
  }

  node(define: (endpoint: LegacyEndpoint) => void = () => {}): Node {
    const cluster = this.state.node();
    const endpoint = new LegacyEndpoint(this.#http, { cluster, stateKeys, clock: this.clock, ...this.#options });
    define(endpoint);
    this.#t.after(async () => {
      await endpoint.server.close();
      await cluster.close();
    });
    return { endpoint, cluster };
  }
}

/** The client of a session at another node. */
export function at({ endpoint }: Node, client: LegacyClient, from: Sender = {}): LegacyClient {
  return new LegacyClient(endpoint, { ...from, session: client.id });
}
