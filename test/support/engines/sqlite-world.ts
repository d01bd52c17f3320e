import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Cluster } from "#src/cluster/cluster.js";
import { startThread } from "#src/node/sqlite/thread.js";
import { createSqliteCluster, type SqliteCluster, type SqliteClusterOptions } from "#src/sqlite/cluster.js";
import type { StartThread, Thread } from "#src/sqlite/messages.js";
import type { Scope } from "#src/testing/contract/world.js";

const PROGRAM = new URL(import.meta.resolve("#src/entry/sqlite-thread.js"));

const start: StartThread = (options, heard, lost) =>
  startThread({ url: PROGRAM, options, close: { kind: "close" } as const }, heard, lost);

/** Threads of a node. After `cut` it gets no thread, and hears nothing of the one that it had. */
export function cuttable() {
  let isCut = false;
  let held: (() => void)[] | undefined;
  let losesTake = false;
  const threads = new Set<Thread>();
  const cutStart: StartThread = (options, heard, lost) => {
    if (isCut) {
      queueMicrotask(() => lost(new Error("the node is cut off")));
      return { post: () => {}, end: async () => {} };
    }
    const thread = start(
      options,
      (reply) => {
        if (isTaking && reply.kind === "ran") return;
        if (held !== undefined) held.push(() => heard(reply));
        else if (!isCut) heard(reply);
      },
      (reason) => {
        threads.delete(thread);
        lost(reason);
      },
    );
    let isTaking = false;
    threads.add(thread);
    return {
      ...thread,
      post(request) {
        if (request.kind === "run") {
          isTaking = losesTake && request.calls.some(([name]) => name === "takeDue");
          if (isTaking) losesTake = false;
        }
        thread.post(request);
      },
    };
  };
  const end = () => Promise.all([...threads].map((thread) => thread.end()));
  return {
    start: cutStart,
    /** Ends the threads of the node. It may start others. */
    end,
    /** Holds back what the threads say from now on. Returns the function that delivers it. */
    hold() {
      const late: (() => void)[] = [];
      held = late;
      return {
        goOn: () => {
          held = undefined;
        },
        deliver: () => {
          for (const tell of late) tell();
        },
      };
    },
    /** Drops the reply of the next transaction in which jobs are taken. */
    loseTake() {
      losesTake = true;
    },
    async cut() {
      isCut = true;
      await end();
    },
  };
}

/** State of one test, in a folder of its own. Its engine is the file and the threads that have it open. */
export class SqliteWorld {
  readonly folder: string;
  readonly #away: string;
  readonly #options: Partial<SqliteClusterOptions>;
  readonly #nodes = new Map<Cluster, ReturnType<typeof cuttable>>();

  /** The folder is in `base`. */
  constructor(t: Scope, options: Partial<SqliteClusterOptions> = {}, base = tmpdir()) {
    this.folder = mkdtempSync(join(base, "bowline-sqlite-"));
    this.#away = `${this.folder}.away`;
    this.#options = options;
    t.after(() => {
      for (const folder of [this.folder, this.#away]) rmSync(folder, { recursive: true, force: true });
    });
  }

  get path(): string {
    return join(this.folder, "state.db");
  }

  async node(): Promise<SqliteCluster> {
    const threads = cuttable();
    const node = createSqliteCluster({ path: this.path, heartbeatMs: 500, ...this.#options }, threads.start);
    this.#nodes.set(node, threads);
    try {
      await node.ready;
    } catch (error) {
      await node.close();
      throw error;
    }
    return node;
  }

  async crash(node: Cluster): Promise<void> {
    await this.#nodes.get(node)?.cut();
  }

  loseTake(node: Cluster): void {
    this.#nodes.get(node)?.loseTake();
  }

  readonly engine = {
    /** Ends all threads, and takes the folder away, so that the file cannot be opened. */
    kill: async () => {
      renameSync(this.folder, this.#away);
      await Promise.all([...this.#nodes.values()].map((threads) => threads.end()));
    },
    start: () => renameSync(this.#away, this.folder),
  };
}
