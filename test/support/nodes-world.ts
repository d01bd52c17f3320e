import type { TestContext } from "node:test";
import type { Cluster } from "bowline/cluster";
import type { MemoryState } from "bowline/testing";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import type { HttpServerOptions, ServerSettings } from "#src/server/options.js";
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
  readonly engine = new MemoryEngine({ clock: this.clock });
  readonly state: MemoryState = stateOf(this.engine, this.clock);
  readonly #t: TestContext;
  readonly #http: HttpServerOptions;
  readonly #options: Omit<ServerSettings, "stateKeys">;

  constructor(t: TestContext, http: HttpServerOptions = {}, options: Omit<ServerSettings, "stateKeys"> = {}) {
    this.#t = t;
    this.#http = http;
    this.#options = options;
  }

  /** Starts a node. `wrap` may change the parts of the cluster that its server uses. */
  node(define: (endpoint: LegacyEndpoint) => void = () => {}, wrap?: (cluster: Cluster) => Partial<Cluster>): Node {
    const node = this.state.node();
    const cluster = wrap === undefined ? node : replaceParts(node, wrap(node));
    const endpoint = new LegacyEndpoint(this.#http, { cluster, stateKeys, clock: this.clock, ...this.#options });
    define(endpoint);
    this.#t.after(async () => {
      await endpoint.server.close();
      await node.close();
    });
    return { endpoint, cluster: node };
  }
}

/** State in an engine whose contents a test can look at. */
function stateOf(engine: MemoryEngine, clock: FakeClock): MemoryState {
  const stores = new WeakMap<Cluster, MemoryStore>();
  return {
    node: () => {
      const store = new MemoryStore(engine);
      const node = new StoreCluster(store, { clock, heartbeatMs: Number.POSITIVE_INFINITY });
      stores.set(node, store);
      return node;
    },
    cut: (node) => stores.get(node)?.cut(),
    mend: (node) => stores.get(node)?.mend(),
  };
}

/** An object, such as a cluster or its records, with other parts. */
export function replaceParts<T extends object>(whole: T, parts: Partial<T>): T {
  return new Proxy(whole, {
    get(target, name) {
      const own = parts[name as keyof T];
      if (own !== undefined) return own;
      const value = target[name as keyof T] as unknown;
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The client of a session at another node. */
export function at({ endpoint }: Node, client: LegacyClient, from: Sender = {}): LegacyClient {
  return new LegacyClient(endpoint, { ...from, session: client.id });
}
