import type { TestContext } from "node:test";
import type { Cluster } from "bowline/cluster";
import { McpServer, type ServerOptions } from "bowline/server";
import { type TasksExtension, type TasksOptions, tasks } from "bowline/tasks/server";
import type { MemoryState, RecordedMessage } from "bowline/testing";
import { MemoryEngine, MemoryStore } from "#src/cluster/memory/store.js";
import type { Store } from "#src/cluster/store.js";
import { StoreCluster } from "#src/cluster/store-cluster.js";
import { FakeClock } from "./fake-clock.js";
import { sseMessages } from "./modern-request.js";
import { replaceParts } from "./nodes-world.js";
import type { Message } from "./raw-client.js";
import { TaskClient } from "./task-client.js";

export interface TaskNodeOptions {
  readonly tasks?: TasksOptions;
  readonly server?: ServerOptions;
  /** Changes parts of the cluster that the node uses. */
  readonly wrap?: (cluster: Cluster) => Partial<Cluster>;
  /** Changes the store of the node, which has a cluster of its own then. */
  readonly store?: (store: Store) => Store;
  readonly capabilities?: { readonly [name: string]: unknown };
}

export interface TaskNode {
  readonly server: McpServer;
  readonly cluster: Cluster;
  readonly extension: TasksExtension;
  readonly client: TaskClient;
  /** Errors that were reported. */
  readonly errors: unknown[];
  /** Calls a tool with these params and the extension. Rejects when the signal aborts, which cancels the call. */
  post(name: string, params: Message, signal: AbortSignal): Promise<unknown>;
  /** Opens a subscription and returns the messages that it has received so far. */
  listen(taskIds: readonly string[]): Promise<RecordedMessage[]>;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Servers with tasks that share one state in memory, on one clock. */
export class TaskNodes {
  readonly clock = new FakeClock();
  readonly #engine = new MemoryEngine({ clock: this.clock });
  readonly #stores = new WeakMap<Cluster, MemoryStore>();
  readonly state: MemoryState = {
    node: () => this.#node(),
    cut: (node) => this.#stores.get(node)?.cut(),
    mend: (node) => this.#stores.get(node)?.mend(),
  };
  readonly #t: TestContext;
  #listens = 0;

  constructor(t: TestContext) {
    this.#t = t;
  }

  node(define: (server: McpServer) => void, options: TaskNodeOptions = {}): TaskNode {
    const cluster = this.#node(options.store);
    const used = options.wrap === undefined ? cluster : replaceParts(cluster, options.wrap(cluster));
    const errors: unknown[] = [];
    const onError = (error: unknown) => void errors.push(error);
    const server = new McpServer({ name: "node", version: "1" }, { clock: this.clock, onError, ...options.server });
    define(server);
    const extension = tasks({ cluster: used, ...options.tasks });
    server.extend(extension);
    this.#t.after(async () => {
      await server.close();
      await cluster.close();
    });
    const { capabilities = { elicitation: {} } } = options;
    const client = new TaskClient(
      async (message, headers) => answerIn(await post(server, message, headers)),
      capabilities,
    );
    return {
      server,
      cluster,
      extension,
      client,
      errors,
      post: async (name, params, signal) => {
        const ask = async (message: Message, headers: Record<string, string>) =>
          answerIn(await post(server, message, headers, signal));
        return new TaskClient(ask, capabilities).call(name, {}, params);
      },
      listen: (taskIds) => this.#listen(server, taskIds),
    };
  }

  #node(change: (store: Store) => Store = (store) => store): Cluster {
    const store = new MemoryStore(this.#engine);
    const cluster = new StoreCluster(change(store), { clock: this.clock, heartbeatMs: Number.POSITIVE_INFINITY });
    this.#stores.set(cluster, store);
    return cluster;
  }

  /** Lets time pass in small steps, so that everything that waits for it happens in its order. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 100) {
      this.clock.advance(Math.min(left, 100));
      for (let turns = 0; turns < 5; turns++) await turn();
    }
  }

  /** Lets time pass until a condition holds, at most ten minutes. */
  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    for (let step = 0; step < 6_000; step++) {
      if (await holds()) return;
      await this.pass(100);
    }
    throw new Error(`it did not come true that ${what}`);
  }

  async #listen(server: McpServer, taskIds: readonly string[]): Promise<RecordedMessage[]> {
    const heard: RecordedMessage[] = [];
    const abort = new AbortController();
    this.#t.after(() => abort.abort());
    const { TASKS } = await import("./task-client.js");
    const { enveloped } = await import("./raw-client.js");
    const meta = { "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS]: {} } } };
    const request = enveloped(
      `listen-${++this.#listens}`,
      "subscriptions/listen",
      { notifications: { taskIds } },
      meta,
    );
    const response = await post(server, request, {}, abort.signal);
    void (async () => {
      let text = "";
      const decoder = new TextDecoder();
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(chunk, { stream: true });
        const end = text.lastIndexOf("\n\n") + 2;
        if (end < 2) continue;
        heard.push(...(sseMessages(text.slice(0, end)) as unknown as RecordedMessage[]));
        text = text.slice(end);
      }
    })().catch(() => {});
    for (let turns = 0; turns < 1_000 && heard.length === 0; turns++) await turn();
    return heard;
  }
}

/** Reads the response message. It comes in a stream if so much time passed that the server sent a sign of life. */
async function answerIn(response: Response): Promise<RecordedMessage> {
  if (response.headers.get("content-type") !== "text/event-stream") return response.json();
  return sseMessages(await response.text()).at(-1) as unknown as RecordedMessage;
}

function post(
  server: McpServer,
  message: { readonly [key: string]: unknown },
  headers: Record<string, string>,
  signal?: AbortSignal,
): Promise<Response> {
  const init = {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": String(message.method),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", ...message }),
    ...(signal !== undefined && { signal }),
  };
  return server.fetch(new Request("http://localhost/mcp", init));
}
