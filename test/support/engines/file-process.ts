import { statSync } from "node:fs";
import type { Clock } from "#src/call/clock.js";
import type { Outcome, Reply } from "#src/sqlite/messages.js";
import type { OperationName, Operations } from "#src/sqlite/operations.js";
import type { Database } from "#src/sqlite/session.js";
import { FileServer } from "#src/sqlite/thread.js";
import type { Scope } from "#src/testing/contract/world.js";

/** Process that has a file open. Its operations run in the thread of the test, so that a clock of the test decides. */
export class FileProcess {
  readonly #server: FileServer;
  readonly #replies: Reply[] = [];
  #isOpen = true;

  constructor(t: Scope, path: string, open: () => Database, clock: Clock) {
    this.#server = new FileServer({
      path,
      prefix: "",
      synchronous: "normal",
      timeoutMs: 1_000,
      pollMs: 5,
      heartbeatMs: 3_000,
      clock,
      open,
      isSame: () => true,
      journalBytes: () => statSync(`${path}-wal`).size,
      post: (reply) => this.#replies.push(reply),
      end: () => {
        this.#isOpen = false;
      },
    });
    t.after(() => this.close());
  }

  /** Runs operations in one transaction. */
  outcomes(...calls: readonly [OperationName, readonly unknown[]][]): readonly Outcome[] {
    this.#server.handle({ kind: "run", calls });
    return this.#replies.flatMap((reply) => (reply.kind === "ran" ? [reply.outcomes] : [])).at(-1) ?? [];
  }

  run<N extends OperationName>(name: N, ...args: Parameters<Operations[N]>): ReturnType<Operations[N]> {
    const [outcome] = this.outcomes([name, args]);
    if (outcome === undefined || !("value" in outcome)) throw new Error(JSON.stringify(outcome));
    return structuredClone(outcome.value) as ReturnType<Operations[N]>;
  }

  /** Returns the texts that were told since the last call. */
  heard(): readonly string[] {
    return this.#replies.splice(0).flatMap((reply) => ("news" in reply ? (reply.news?.texts ?? []) : []));
  }

  close(): void {
    if (this.#isOpen) this.#server.handle({ kind: "close" });
  }
}
