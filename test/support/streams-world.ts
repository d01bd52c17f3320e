import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Cluster } from "bowline/cluster";
import { type RunningHttpServer, serveHttp } from "bowline/node";
import { McpServer, type ServerOptions } from "bowline/server";
import { type EventLog, MemoryEventLog } from "#src/store/event-log.js";
import { until } from "./census.js";
import { aborted, gate } from "./gate.js";
import { replaceParts } from "./nodes-world.js";
import { type AnyClient, anyClients, type Heard } from "./official-clients.js";
import { RoundRobin } from "./round-robin.js";

const RETRY_MS = 20;
const QUIET_MS = 15 * RETRY_MS;
/** Time that a slow log takes for each event. */
const SLOW_MS = 30;

/** Event that was stored. */
interface Row {
  readonly stream: string;
  readonly data: string;
}

/** Kind of an event log. A slow one takes some time for each event. */
export type LogKind = "none" | "kept" | "slow";

export interface StreamsWorldInit {
  readonly client: keyof typeof anyClients;
  readonly log: LogKind;
  /** One server for each. Without any there is one server of its own. */
  readonly clusters?: readonly Cluster[] | undefined;
}

const MESSAGES = Array.from({ length: 6 }, (_, at) => `message ${at}`);

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];

/** A log that notes each entry, and takes its time. */
function noting(log: EventLog, { rows, sessions }: StreamsWorld, ms: number): EventLog {
  return {
    async append(session, stream, data) {
      if (ms > 0) await setTimeout(ms);
      rows.push({ stream, data });
      sessions.add(session);
      return log.append(session, stream, data);
    },
    find: (session, id) => log.find(session, id),
    readAfter: (session, stream, id) => log.readAfter(session, stream, id),
    drop: (session) => log.drop(session),
  };
}

/** A node of a cluster whose log notes each entry, and takes its time. */
function notingNode(cluster: Cluster, rows: Row[], ms: number): Cluster {
  const { logs } = cluster;
  return replaceParts(cluster, {
    logs: replaceParts(logs, {
      async claim(log, stream) {
        const writer = await logs.claim(log, stream);
        return {
          async append(seq, data, options) {
            if (ms > 0) await setTimeout(ms);
            rows.push({ stream, data });
            return writer.append(seq, data, options);
          },
          wrote: (id) => writer.wrote(id),
        };
      },
    }),
  });
}

/** Running call of a {@link StreamsWorld}. */
interface BegunCall {
  readonly signal: AbortSignal;
  /** Cancels the call. Resolves when client and handler know it. */
  cancel(): Promise<void>;
}

/** Servers behind a proxy that sends each request to the next one, and a client with what it hears outside calls. */
export class StreamsWorld {
  readonly servers: McpServer[] = [];
  readonly rows: Row[] = [];
  readonly heard: Heard[] = [];
  readonly sessions = new Set<string>();
  readonly signals: AbortSignal[] = [];
  /** Opens when the handlers that ignore their signal may go on. */
  readonly late = gate();
  readonly log = new MemoryEventLog();
  readonly #running: RunningHttpServer[] = [];
  proxy!: RoundRobin;
  client!: AnyClient;

  /** Runs a test in a world, and closes the world. */
  static async with(init: StreamsWorldInit, test: (world: StreamsWorld) => Promise<void>): Promise<void> {
    const world = new StreamsWorld();
    try {
      await world.#open(init);
      await test(world);
    } finally {
      await world.#close();
    }
  }

  async #open({ client, log, clusters }: StreamsWorldInit): Promise<void> {
    for (const cluster of clusters ?? [undefined]) {
      const server = this.#serve(log, cluster);
      this.servers.push(server);
      this.#running.push(await serveHttp(server, { port: 0 }));
    }
    this.proxy = await RoundRobin.open(this.#running.map(({ port }) => port));
    this.client = await anyClients[client](this.proxy.url, (heard) => this.heard.push(heard));
    await until("the client listens", () => this.proxy.openGets.length === 1);
    await this.quiet();
  }

  async #close(): Promise<void> {
    this.late.open();
    await (this.client as AnyClient | undefined)?.close();
    (this.proxy as RoundRobin | undefined)?.close();
    for (const running of this.#running) await running.close();
  }

  #serve(log: LogKind, cluster: Cluster | undefined): McpServer {
    const ms = log === "slow" ? SLOW_MS : 0;
    const options: ServerOptions = {
      http: { resumable: log !== "none" && (cluster !== undefined || noting(this.log, this, ms)), retryMs: RETRY_MS },
      capabilities: { logging: true },
      limits: { streamPingMs: 100, maxLoggedEventsPerSession: 200 },
      onError: () => {},
      cluster: cluster && notingNode(cluster, this.rows, ms),
      stateKeys,
    };
    const server = new McpServer({ name: "s", version: "1" }, options);
    server
      .tool("talk", {}, async (_args, ctx) => {
        void ctx.log("info", "before");
        this.signals.push(ctx.signal);
        await this.late.opened;
        await ctx.log("info", "late");
        return "late";
      })
      .tool("wait", {}, async (_args, ctx) => {
        void ctx.log("info", "before");
        this.signals.push(ctx.signal);
        throw await aborted(ctx.signal);
      })
      .resource("x:y", { name: "x" }, () => "x");
    return server;
  }

  /** Waits until no request has come for many times the delay of a reconnection. */
  async quiet(): Promise<void> {
    const begun = this.proxy.passed.length;
    for (let seen = -1, rounds = 0; seen !== this.proxy.passed.length; rounds++) {
      seen = this.proxy.passed.length;
      ok(rounds < 40, `the requests do not end: ${seen - begun} in ${rounds} times ${QUIET_MS} ms`);
      await setTimeout(QUIET_MS);
    }
  }

  /** Sends messages outside calls from all servers in turn, and checks that the client hears each once and in order. */
  async assertHears(): Promise<void> {
    for (const [at, text] of MESSAGES.entries()) {
      this.servers[at % this.servers.length]?.log("info", text);
      await until(`${text} arrives`, () => this.#told.includes(text));
    }
    await this.quiet();
    deepEqual(
      this.#told.filter((data) => MESSAGES.includes(String(data))),
      MESSAGES,
    );
    equal(this.proxy.openGets.length, 1, "one GET is open");
  }

  /** Starts a call, and waits until its handler runs. `talk` ignores its signal, `wait` does not. */
  async begin(tool: "talk" | "wait" = "talk"): Promise<BegunCall> {
    const before = this.signals.length;
    const abort = new AbortController();
    const outcome = this.client.callTool(tool, abort.signal);
    outcome.catch(() => {});
    await until("the handler runs", () => this.signals.length > before);
    const signal = this.signals.at(-1) as AbortSignal;
    return {
      signal,
      cancel: async () => {
        abort.abort(new Error("enough"));
        await rejects(outcome);
        await until("the handler is aborted", () => signal.aborted);
      },
    };
  }

  /** Cancels calls, and checks that nothing is left of them. */
  async assertCancels({ calls, log }: { readonly calls: number; readonly log: LogKind }): Promise<void> {
    const stats = () => this.servers.map((server) => server.stats());
    const before = stats();
    const begun: BegunCall[] = [];
    while (begun.length < calls) begun.push(await this.begin());
    const requests = this.proxy.passed.length;
    for (const call of begun) await call.cancel();
    const rows = this.rows.length;
    this.late.open();
    await this.quiet();

    equal(this.proxy.openGets.length, 1, "one GET is open");
    // The client tells the cancellation, and may ask for the rest of the stream. A slow log may have had one message.
    const after = this.proxy.passed.slice(requests);
    const resumed = after.filter(({ method }) => method === "GET").map(({ status }) => status);
    const early = resumed.filter((status) => status !== 204);
    ok(early.length <= (log === "slow" ? calls : 0) && resumed.length <= calls + early.length, resumed.join());
    equal(after.length - resumed.length, calls);
    const stored = this.rows.slice(rows).filter(({ data }) => data !== "" && !data.includes('"before"'));
    deepEqual(stored, [], "nothing is stored but the end of the stream");
    const isAsBefore = () => isDeepStrictEqual(stats(), before);
    await until("the servers hold no more than before", isAsBefore);
    await this.assertHears();
  }

  get #told(): unknown[] {
    return this.heard.flatMap(({ method, params }) =>
      method === "notifications/message" ? [(params as { data: unknown }).data] : [],
    );
  }
}
