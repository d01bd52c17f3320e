import type { LogEntry } from "../cluster.js";
import { ClusterError } from "../error.js";
import { missedError } from "../log-errors.js";
import { MemoryNode } from "../memory/node.js";
import type { MemoryClusterOptions } from "../memory/options.js";
import { createTables, type Tables } from "../memory/tables.js";
import { type HostOperations, hostOperations } from "./host-operations.js";
import { type FromHost, type HostCall, type MessageLink, Outbox, type ToHost } from "./messages.js";

/** Maximum number of messages of topics that wait for a process that does not read, and of their characters. */
const MAX_HEARD = 10_000;
const MAX_HEARD_CHARS = 16 * 1024 * 1024;

/** State in the memory of this process that other processes share by messages. */
export class StateHost {
  readonly #tables: Tables;

  constructor(options: MemoryClusterOptions = {}) {
    this.#tables = createTables(options);
  }

  /** Connects a process. */
  connect(link: MessageLink<FromHost>): HostedNode {
    return new HostedNode(this.#tables, link);
  }

  /** Ends the timer of the state. */
  close(): void {
    this.#tables.expiries.stop();
  }
}

/** Maximum number of items of a page of an iteration. */
const PAGE = 100;

/** Iteration that a process reads. */
interface Iteration {
  readonly stop: AbortController;
  /** Number of items that can still be added to the page that the process has asked for. */
  room: number;
  wake: () => void;
}

/** Node of the process at the other end of a link. */
export class HostedNode {
  /** Name of the node. */
  readonly name: string;
  readonly #node: MemoryNode;
  readonly #operations: HostOperations;
  readonly #outbox: Outbox<FromHost>;
  readonly #iterations = new Map<number, Iteration>();
  /** Iterations with items that are not sent yet. */
  readonly #filled = new Set<Iteration>();
  readonly #ignoreJobs: () => void;
  #heardChars = 0;
  #hasToldOfJobs = false;

  constructor(tables: Tables, link: MessageLink<FromHost>) {
    this.#node = new MemoryNode(tables, () => {});
    this.name = this.#node.node;
    this.#outbox = new Outbox({
      later: link.later,
      send: (batch, written) => {
        this.#heardChars = 0;
        this.#hasToldOfJobs = false;
        // A page has the items that are there when it is sent.
        for (const iteration of this.#filled) iteration.room = 0;
        this.#filled.clear();
        link.send(batch, written);
      },
    });
    this.#operations = hostOperations(this.#node, (...message) => this.#tell(...message));
    this.#node.bus.onGap(() => this.#outbox.post(["gap"]));
    this.#ignoreJobs = this.#node.queue.onReady(() => this.#tellOfJobs());
  }

  receive(batch: readonly ToHost[]): void {
    for (const message of batch) this.#handle(message);
  }

  /** Frees everything that the process holds. Called when the process has ended. Idempotent. */
  close(): void {
    this.#ignoreJobs();
    for (const { stop, wake } of this.#iterations.values()) {
      stop.abort();
      wake();
    }
    void this.#node.close();
  }

  #handle(message: ToHost): void {
    switch (message[0]) {
      case "open":
        return void this.#iterate(message[1], message[2], message[3]);
      case "more": {
        const iteration = this.#iterations.get(message[1]);
        if (iteration !== undefined) iteration.room = PAGE;
        return iteration?.wake();
      }
      case "stop": {
        const iteration = this.#iterations.get(message[1]);
        iteration?.stop.abort();
        return iteration?.wake();
      }
      case "leave":
        return this.close();
      default:
        return this.#call(message);
    }
  }

  #call([id, name, args]: HostCall): void {
    try {
      const value = (this.#operations[name] as (...args: readonly unknown[]) => unknown)(...args);
      this.#outbox.post(["value", id, value]);
    } catch (error) {
      const { failure, message } = failureOf(error);
      this.#outbox.post(["failed", id, failure, message]);
    }
  }

  /** Sends the items of an iteration, one page each time that the process asks. */
  async #iterate(number: number, name: "follow" | "openOf", args: readonly unknown[]): Promise<void> {
    const iteration: Iteration = { stop: new AbortController(), room: PAGE, wake: () => {} };
    const { signal } = iteration.stop;
    this.#iterations.set(number, iteration);
    try {
      for await (const item of this.#open(name, args, signal)) {
        const isLate = iteration.room <= 0;
        while (iteration.room <= 0 && !signal.aborted) await roomOf(iteration);
        if (signal.aborted) break;
        if (isLate && name === "follow") this.#assertKept(args, item as LogEntry);
        this.#outbox.post(["item", number, item]);
        this.#filled.add(iteration);
        iteration.room--;
      }
      this.#outbox.post(["ended", number]);
    } catch (error) {
      const { failure, message } = failureOf(error);
      this.#outbox.post(["ended", number, failure, message]);
    } finally {
      this.#iterations.delete(number);
    }
  }

  #open(name: "follow" | "openOf", args: readonly unknown[], signal: AbortSignal): AsyncIterable<unknown> {
    const { logs } = this.#node;
    const [first, stream, after] = args as [string, string, string | null];
    return name === "follow" ? logs.follow(first, stream, after ?? undefined, signal) : logs.openOf(first);
  }

  /** Throws if an entry was evicted before the process asked for it. Others before it may be gone, too. */
  #assertKept([log, stream]: readonly unknown[], { id }: LogEntry): void {
    if (this.#node.logs.find(log as string, id) === undefined) throw missedError(log as string, stream as string);
  }

  #tellOfJobs(): void {
    if (!this.#hasToldOfJobs) this.#outbox.post(["jobs"]);
    this.#hasToldOfJobs = true;
  }

  /** Passes on a message. If the process does not read, all waiting messages are dropped, and it is told of a gap. */
  #tell(topic: string, text: string, from: string): void {
    this.#heardChars += text.length;
    if (this.#outbox.size >= MAX_HEARD || this.#heardChars > MAX_HEARD_CHARS) {
      this.#heardChars = 0;
      this.#outbox.remove(([kind]) => kind === "heard" || kind === "gap");
      this.#outbox.post(["gap"]);
    } else this.#outbox.post(["heard", topic, text, from]);
  }
}

/** Resolves when the process asks for a page, or stops the iteration. */
function roomOf(iteration: Iteration): Promise<void> {
  return new Promise((resolve) => {
    iteration.wake = resolve;
  });
}

function failureOf(error: unknown): Pick<ClusterError, "failure" | "message"> {
  return error instanceof ClusterError ? error : { failure: "refused", message: `The state of the workers: ${error}` };
}
