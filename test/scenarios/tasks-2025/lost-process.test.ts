import { deepEqual, equal, ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import type { Cluster } from "bowline/cluster";
import { McpServer } from "bowline/server";
import { ClientTasks, tasksClient } from "bowline/tasks/client";
import { tasks } from "bowline/tasks/server";
import { createMemoryState, FakeClock } from "bowline/testing";
import * as z from "zod";
import { until } from "../../support/census.js";
import { aborted } from "../../support/gate.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";
const ID = "tasks-2025:client:lost-process";
const stateKeys = [{ id: "k", secret: new Uint8Array(32).fill(1) }];

interface Node {
  readonly server: McpServer;
  readonly cluster: Cluster;
  /** Cuts the responses that the node is writing. */
  readonly cuts: Set<() => void>;
}

/** Nodes that share one state and one clock, behind an address that leads to the first of them that is alive. */
class Front {
  readonly clock = new FakeClock();
  /** JSON-RPC methods of the requests that clients have sent. */
  readonly methods: (string | undefined)[] = [];
  /** Number of runs of the handler that got their answer. */
  answered = 0;
  readonly #state = createMemoryState({ clock: this.clock });
  readonly #nodes: Node[];
  readonly #t: TestContext;

  constructor(t: TestContext, resumable: boolean) {
    this.#t = t;
    this.#nodes = [this.#node(resumable), this.#node(resumable)];
  }

  #node(resumable: boolean): Node {
    const cluster = this.#state.node();
    const server = new McpServer(
      { name: "node", version: "1" },
      { cluster, clock: this.clock, stateKeys, http: { resumable }, onError: () => {} },
    )
      .extend(tasks())
      .tool("greet", { task: { support: "required", restartable: true } }, async (_, ctx) => {
        const { content } = await ctx.elicit("Your name?", z.object({ name: z.string() }));
        this.answered++;
        return `hello ${content?.name}`;
      });
    this.#t.after(async () => {
      await server.close();
      await cluster.close();
    });
    return { server, cluster, cuts: new Set() };
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const [node] = this.#nodes;
    if (node === undefined) throw new TypeError("no node is left");
    if (typeof init?.body === "string") this.methods.push(JSON.parse(init.body).method);
    const gone = new AbortController();
    const signal = AbortSignal.any([gone.signal, ...(init?.signal == null ? [] : [init.signal])]);
    const response = await node.server.fetch(new Request(input, { ...init, signal }));
    if (response.body === null) return response;
    const { readable, writable } = new TransformStream<Uint8Array>();
    const cut = () => gone.abort(new TypeError("the connection was lost"));
    node.cuts.add(cut);
    response.body
      .pipeTo(writable, { signal: gone.signal })
      .catch(() => {})
      .finally(() => node.cuts.delete(cut));
    return new Response(readable, response);
  };

  async connect(options: ClientOptions): Promise<Client> {
    const client = await connect("http://localhost/mcp", {
      era: "legacy",
      clock: this.clock,
      fetch: this.fetch,
      extensions: [tasksClient({ pollIntervalMs: 500 })],
      ...options,
    });
    this.#t.after(() => client.close());
    await client.tools().all();
    return client;
  }

  /** Ends the first node at once: its connections break, and it reaches the others no more. */
  kill(): void {
    const node = this.#nodes.shift();
    if (node === undefined) throw new Error("no node is left");
    this.#state.cut(node.cluster);
    for (const cut of [...node.cuts]) cut();
  }

  /** Begins to shut down the first node, and leads clients to the other one. */
  close(): Promise<void> {
    const node = this.#nodes.shift();
    return node?.server.close() ?? Promise.resolve();
  }

  /** Lets time pass until a condition holds. */
  until(what: string, holds: () => boolean): Promise<void> {
    return until(what, () => {
      this.clock.advance(100);
      return holds();
    });
  }

  /** Lets time pass until a promise is settled. */
  async settled<T>(what: string, promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = () => {
      isSettled = true;
    };
    promise.then(settle, settle);
    await this.until(what, () => isSettled);
    return promise;
  }
}

for (const resumable of [true, false])
  for (const how of ["killed", "closed"] as const)
    proves(
      ID,
      { wire },
      `a process that is ${how} during tasks/result does not end the task, and its question comes again (${resumable ? "with" : "without"} an event log)`,
      async (t) => {
        const front = new Front(t, resumable);
        let asked = 0;
        const ends: unknown[] = [];
        const client = await front.connect({
          onElicit: async (_, { signal }) => {
            if (++asked === 2) return { action: "accept", content: { name: "Ada" } };
            await aborted(signal);
            ends.push(signal.reason);
            throw signal.reason;
          },
        });
        const task = await new ClientTasks(client).startTool("greet");
        await front.until("the question is asked", () => asked === 1);
        if (how === "killed") front.kill();
        else await front.settled("the node is closed", front.close());
        equal((await front.settled("the task has ended", task.result)).text, "hello Ada");
        deepEqual(
          [asked, front.answered, ends.length],
          [2, 1, 1],
          "the first question ends, and the second is answered",
        );
        equal(task.status, "completed");
        const results = front.methods.filter((method) => method === "tasks/result");
        // More often only if time passes while the answer is on its way.
        ok(results.length >= 2, "the result is requested again");
      },
    );
