import type { Cluster } from "bowline/cluster";
import { McpServer, RpcError, type ServerSettings, type WithStateKeys } from "bowline/server";
import { type ArrayExchange, createArrayExchange, createMemoryState, FakeClock } from "bowline/testing";
import type { Scope } from "#src/testing/contract/world.js";
import { gate } from "./gate.js";
import { modernRequest } from "./modern-request.js";

const able = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };

/** Answer of a client to the question of the tool `buy`. */
export const accept = { "ask-1": { action: "accept", content: {} } };

/** Servers of several nodes. Their tool `buy` asks once, charges in a step, and waits for `release`. */
export class SharedShop {
  readonly servers: readonly McpServer[];
  readonly counts = { runs: 0, charges: 0 };
  /** Codes of the errors that the servers reported. */
  readonly reported: unknown[] = [];
  /** Opened when the step of a run begins, and when it has ended. */
  readonly charging = gate();
  readonly charged = gate();
  readonly release = gate();
  /** Work of the step. */
  charge: () => unknown = () => undefined;
  /** True if a run fails after its step. */
  fails = false;
  #id = 0;

  constructor(
    t: Scope,
    clusters: readonly Cluster[],
    options: Omit<ServerSettings, "cluster" | "stateKeys"> & Partial<WithStateKeys> = {},
  ) {
    const stateKeys = [{ id: "k", secret: new Uint8Array(32).fill(1) }];
    const onError = (error: unknown) => void this.reported.push((error as { code?: string }).code);
    this.servers = clusters.map((cluster) => {
      const shared = { cluster, stateKeys, onError, http: { responseMode: "prefer-json" as const } };
      const server = new McpServer({ name: "shop", version: "1" }, { ...shared, ...options });
      t.after(() => server.close());
      return server.tool("buy", {}, async (_, ctx) => {
        await ctx.elicit("Sure?", { type: "object", properties: {} });
        this.counts.runs++;
        await ctx.step("charge", async () => {
          this.counts.charges++;
          this.charging.open();
          await this.charge();
        });
        this.charged.open();
        if (this.fails) throw new RpcError(-32000, "out of stock");
        await this.release.opened;
        return `bought in run ${this.counts.runs}`;
      });
    });
  }

  send(node: number, more: Record<string, unknown> = {}): ArrayExchange {
    const params = { name: "buy", arguments: {}, ...more };
    const exchange = createArrayExchange(modernRequest("tools/call", { id: ++this.#id, params, meta: able }) as never);
    this.servers[node]?.handle(exchange);
    return exchange;
  }

  /** Makes the first request. Returns the members of the second one, with the state and the answer. */
  async begin(node = 0): Promise<Record<string, unknown>> {
    const first = this.send(node);
    await first.done;
    return { requestState: JSON.parse(first.body()).result.requestState, inputResponses: accept };
  }

  /** Returns the text of a result, or the message of an error. */
  async read(exchange: ArrayExchange): Promise<string> {
    await exchange.done;
    const { result, error } = JSON.parse(exchange.body());
    return result?.content[0].text ?? error.message;
  }
}

/** A shop of two nodes in memory, on a fake clock. */
export function openShop(
  t: Scope,
  options: Omit<ServerSettings, "cluster" | "stateKeys"> & Partial<WithStateKeys> = {},
) {
  const clock = new FakeClock();
  const state = createMemoryState({ clock });
  const nodes = [state.node(), state.node()] as const;
  const shop = new SharedShop(t, nodes, { clock, ...options });
  for (const node of nodes) t.after(() => node.close());
  return { clock, state, nodes, shop };
}
