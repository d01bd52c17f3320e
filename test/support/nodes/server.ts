import { McpServer as OneServer, type ServerOptions, type ServerStats, type WithStateKeys } from "bowline/server";
import type { Implementation } from "#src/protocol/types/index.js";
import type { ServerCore } from "#src/server/runtime.js";
import { createRoutes } from "#src/server/serve-call.js";
import { coreOf } from "../core-of.js";
import { gate } from "../gate.js";
import { type ConnectedNodes, connectNodes } from "./engine.js";

export * from "bowline/server";

/** Second node. Serves the definitions of the first. */
class SecondNode extends OneServer {
  share(first: ServerCore): void {
    const core = coreOf(this);
    const { registry } = first;
    Object.assign(core, { registry, routes: createRoutes(registry) });
    Object.defineProperty(core, "mirrorsArguments", { get: () => first.mirrorsArguments });
    const use = first.use.bind(first);
    first.use = (interceptor) => {
      use(interceptor);
      core.use(interceptor);
    };
  }
}

/**
 * Two nodes of one definition, each with its own connection to the engine: takes the place of `McpServer` in scenarios
 * that run on the wires of nginx. The object itself is the first node.
 */
export class McpServer extends OneServer {
  readonly second: SecondNode;
  readonly #engine: ConnectedNodes;
  #ended: Promise<void> | undefined;

  constructor(info: Implementation, options: ServerOptions = {}) {
    const engine = connectNodes();
    const [one, other] = engine.nodes;
    const stateKeys = options.stateKeys ?? (options.stateCodec === undefined ? [newKey()] : undefined);
    const all = { ...options, stateKeys } as WithStateKeys;
    super(info, { ...all, cluster: one });
    this.second = new SecondNode(info, { ...all, cluster: other });
    this.second.share(coreOf(this));
    this.#engine = engine;
  }

  /** Resolves when both nodes are connected to the engine and have heard of all definitions so far. */
  async start(): Promise<void> {
    const { nodes } = this.#engine;
    await Promise.all(nodes.map(({ ready }) => ready));
    const heard = nodes.map(async ({ bus }) => {
      const { opened, open } = gate();
      const stop = await bus.subscribe("started", () => open());
      return { opened, stop };
    });
    const listeners = await Promise.all(heard);
    // The messages of a node arrive in order: the announcements of its definitions come before this one.
    await nodes[0].bus.publish("started", "");
    await Promise.all(listeners.map(({ opened }) => opened));
    await Promise.all(listeners.map(({ stop }) => stop()));
  }

  override stats(): ServerStats {
    const more = this.second.stats();
    const sums = Object.entries(super.stats()).map(([name, count]) => [name, count + more[name as keyof ServerStats]]);
    return Object.fromEntries(sums);
  }

  override async drain(graceMs: number): Promise<void> {
    await Promise.all([super.drain(graceMs), this.second.drain(graceMs)]);
    await this.close();
  }

  override close(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    await Promise.all([super.close(), this.second.close()]);
    await this.#engine.close();
  }
}

function newKey() {
  return { id: "scenario", secret: crypto.getRandomValues(new Uint8Array(32)) };
}
