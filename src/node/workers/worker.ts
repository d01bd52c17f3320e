import type { Cluster as NodeCluster } from "node:cluster";
import type { Cluster } from "../../cluster/cluster.js";
import { MessageStore } from "../../cluster/messages/store.js";
import { StoreCluster } from "../../cluster/store-cluster.js";
import { DefinitionError } from "../../protocol/errors.js";
import { type FromPrimary, type FromWorker, PROTOCOL, received, send } from "./messages.js";

/** Server that is listening, as far as workers need it. */
export interface ServedByWorkers {
  readonly url: string;
  readonly port: number;
  drain(graceMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Server whose state workers share. */
export interface SharingServer {
  readonly cluster?: unknown;
  readonly join?:
    | ((cluster: Cluster, stateKeys: readonly { readonly id: string; readonly secret: Uint8Array }[]) => void)
    | undefined;
  close(): Promise<void>;
}

type Welcome = Extract<FromPrimary, { readonly bowline: "welcome" }>;

/** Time in which the primary answers. */
const WELCOME_MS = 10_000;

/** Signals that reach all processes of a terminal or a service. The primary decides when a worker ends. */
const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** Serves in a worker. The worker takes no part in signals, and ends when its primary ends. */
export async function serveInWorker<Running extends ServedByWorkers>(
  nodeCluster: NodeCluster,
  server: SharingServer,
  serve: (port: number) => Promise<Running>,
): Promise<Running & { readonly worker: number }> {
  const primary = new Primary();
  for (const signal of SIGNALS) process.on(signal, ignore);
  const { worker, port, state } = await primary.greet(server.cluster === undefined);
  const cluster = state && primary.share(state.node);
  if (state !== undefined && cluster !== undefined)
    server.join?.(cluster, [{ id: "workers", secret: new Uint8Array(Buffer.from(state.key, "base64")) }]);
  const running = await serve(port).catch((error: NodeJS.ErrnoException) => primary.fail(error));
  let closed: Promise<void> | undefined;
  const end = async () => {
    await running.close();
    await cluster?.close();
    for (const signal of SIGNALS) process.off(signal, ignore);
    primary.leave();
    // The process ends when the program has nothing more to do.
    nodeCluster.worker?.disconnect();
  };
  const close = () => {
    closed ??= end();
    return closed;
  };
  const drain = async (graceMs: number) => {
    await running.drain(graceMs);
    await close();
  };
  primary.listening(running, { drain, close });
  return Object.assign(Object.create(running) as Running, { worker, drain, close, [Symbol.asyncDispose]: close });
}

const ignore = () => {};

/** Primary, as a worker sees it. */
class Primary {
  readonly #waiting = new Map<FromPrimary["bowline"], (message: FromPrimary) => void>();

  constructor() {
    process.on("message", this.#onMessage);
  }

  /** Tells that the program has reached `serveHttp`. */
  greet(needsState: boolean): Promise<Welcome> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        const text = "this process is a worker of node:cluster whose primary does not call serveHttp with workers";
        reject(new DefinitionError(`serveHttp: ${text}; leave the option workers out here`));
      }, WELCOME_MS);
      this.#waiting.set("welcome", (welcome) => {
        clearTimeout(late);
        resolve(welcome as Welcome);
      });
      this.#send({ bowline: "hello", protocol: PROTOCOL, needsState });
    });
  }

  /** Creates the node of this worker in the state of the primary. */
  share(node: string): StoreCluster {
    const link = {
      later: (run: () => void) => void setImmediate(run),
      send: (batch: Extract<FromWorker, { bowline: "state" }>["batch"], written: () => void) =>
        this.#send({ bowline: "state", batch }, written),
    };
    const store = new MessageStore(link);
    this.#waiting.set("state", (message) => {
      if (message.bowline === "state") store.receive(message.batch);
    });
    return new StoreCluster(store, { node });
  }

  listening({ url, port }: ServedByWorkers, running: Pick<ServedByWorkers, "drain" | "close">): void {
    this.#waiting.set("drain", (message) => {
      if (message.bowline === "drain") void running.drain(message.graceMs);
    });
    this.#waiting.set("close", () => void running.close());
    this.#send({ bowline: "listening", url, port });
  }

  /** Tells why this worker cannot serve, and throws the error. */
  async fail(error: NodeJS.ErrnoException): Promise<never> {
    await new Promise<void>((resolve) =>
      this.#send({ bowline: "failed", message: error.message, code: error.code }, resolve),
    );
    throw error;
  }

  leave(): void {
    process.off("message", this.#onMessage);
  }

  readonly #onMessage = (message: unknown): void => {
    const found = received<FromPrimary>(message);
    if (found !== undefined) this.#waiting.get(found.bowline)?.(found);
  };

  #send(message: FromWorker, sent?: () => void): void {
    send(process, message, sent);
  }
}
