import { setTimeout as sleep } from "node:timers/promises";
import { type Client, connect } from "bowline/client";

/** Tools in the order in which a client calls them. */
const TOOLS = ["node", "tow", "cast-off", "node", "raise"];
const CLIENTS_PER_ERA = 4;
/** A call that is sent to a stopped node is given up after this time. */
const PATIENCE_MS = 2_000;

/** Clients that call the tools of the example, each one call at a time, until the load ends. */
export class Load {
  readonly counts = {
    begun: 0,
    answered: 0,
    /** Calls that failed, and whose error proves that no handler ran. */
    undelivered: 0,
    /** Calls that failed, and whose handler may have run. */
    unknown: 0,
    questions: 0,
    /** Questions whose answer reached another node than the one that asked. */
    elsewhere: 0,
    events: 0,
  };
  readonly #url: string;
  readonly #end = new AbortController();
  readonly #clients: readonly Promise<void>[];

  constructor(url: string) {
    this.#url = url;
    const eras = (["legacy", "modern"] as const).flatMap((era) => Array.from({ length: CLIENTS_PER_ERA }, () => era));
    this.#clients = eras.map((era, index) => this.#run(era, index));
  }

  /** Lets each client finish its call. */
  async end(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#clients);
  }

  async #run(era: "legacy" | "modern", index: number): Promise<void> {
    /** Nodes that received the requests of the present call. */
    const nodes = new Set<string>();
    while (!this.#end.signal.aborted)
      try {
        await using client = await connect(this.#url, {
          era,
          timeoutMs: PATIENCE_MS,
          fetch: (url, init) => this.#fetch(url, init, nodes),
          onElicit: () => ({ action: "accept", content: { sure: true } }),
        });
        await using watch = await client.watch({ resources: ["signal://mast"] });
        void this.#count(watch);
        for (let turn = index; !this.#end.signal.aborted; turn++) {
          await this.#call(client, TOOLS[turn % TOOLS.length] ?? "node", nodes);
          await sleep(50 + Math.random() * 100);
        }
      } catch {
        await sleep(500); // while the engine is away, handshakes are refused
      }
  }

  async #call(client: Client, tool: string, nodes: Set<string>): Promise<void> {
    nodes.clear();
    this.counts.begun++;
    try {
      await client.callTool(tool, {}, { onProgress: () => {} });
    } catch (error) {
      if ((error as { readonly retrySafe?: boolean }).retrySafe === true) this.counts.undelivered++;
      else this.counts.unknown++;
      return;
    }
    this.counts.answered++;
    if (tool !== "cast-off") return;
    this.counts.questions++;
    if (nodes.size > 1) this.counts.elsewhere++;
  }

  /** nginx states the node of each response. A question and its answer are two requests. */
  async #fetch(url: URL, init: RequestInit, nodes: Set<string>): Promise<Response> {
    const response = await fetch(url, init);
    const isPartOfCall = typeof init.body === "string" && /"tools\/call"|"action"/.test(init.body);
    if (isPartOfCall) nodes.add(response.headers.get("x-node") ?? "");
    return response;
  }

  async #count(changes: AsyncIterable<unknown>): Promise<void> {
    for await (const _ of changes) this.counts.events++;
  }
}
