import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "bowline/client";
import { ClientTasks, tasksClient } from "bowline/tasks/client";

const TIMEOUT_MS = 20_000;
/** Pause before a task is taken up again after its client gave up. */
const RETRY_MS = 200;
const UNKNOWN_TASK = -32602;
/** Clients that watch poll so seldom that most ends are seen by a notification. */
const WATCHING = { notifications: true, minPollIntervalMs: 6_000 };
const POLLING = { notifications: false };

/** Client of tasks that reaches a random worker with each request, or always the same one. */
export class Follower {
  #client;
  #tasks;

  /** `ports` returns the ports to try, in their order. `onElicit` answers questions. */
  static async open({ principal, isWatching, ports, onElicit, onError }) {
    const follower = new Follower();
    const limits = { maxFailedPolls: 20, maxSubscriptions: 200 };
    follower.#client = await connect("http://127.0.0.1/mcp", {
      era: "modern",
      info: { name: principal, version: "1" },
      headers: { authorization: principal },
      timeoutMs: TIMEOUT_MS,
      cache: false,
      extensions: [tasksClient({ ...(isWatching ? WATCHING : POLLING), limits })],
      fetch: (url, init) => fetchAny(ports(), url, init),
      onElicit,
      onError,
    });
    follower.#tasks = new ClientTasks(follower.#client);
    return follower;
  }

  /** Starts a task. Rejects if the outcome of the call is unknown. */
  start(tool, args) {
    return this.#tasks.startTool(tool, args);
  }

  /** Follows a task until its outcome, and notes all that is seen of it. */
  async follow(task, started, isOver) {
    let handle = started;
    while (!isOver()) {
      try {
        handle ??= await this.#tasks.task(task.id);
        task.handle = handle;
        for await (const { status } of handle) note(task, { status });
        const { text } = await handle.result;
        return note(task, { status: "completed", detail: text });
      } catch (error) {
        const outcome = outcomeOf(error, handle);
        if (outcome !== undefined) return note(task, outcome);
        handle = undefined;
        await sleep(RETRY_MS);
      }
    }
  }

  close() {
    return this.#client.close();
  }
}

/** Notes what a client has seen of a task, unless it is what it saw last. */
function note(task, { status, detail }) {
  const last = task.seen.at(-1);
  if (last?.status !== status || last.detail !== detail) task.seen.push({ at: Date.now(), status, detail });
}

/** Returns the outcome that an error stands for. Undefined if the client only lost sight of the task. */
function outcomeOf(error, handle) {
  if (error.rpcCode === UNKNOWN_TASK) return { status: "unknown", detail: error.message };
  const status = handle?.status;
  if (status === "cancelled") return { status };
  return status === "failed" ? { status, detail: error.data?.code ?? error.message } : undefined;
}

/** Sends a request to the first worker that accepts connections. */
async function fetchAny(ports, url, init) {
  for (const [index, port] of ports.entries()) {
    try {
      const target = new URL(url);
      target.port = port;
      return await fetch(target, init);
    } catch (error) {
      if (error.cause?.code !== "ECONNREFUSED" || index === ports.length - 1) throw error;
    }
  }
}
