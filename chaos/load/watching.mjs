import { setTimeout as sleep } from "node:timers/promises";

/** Number of resources of a watch. Each changes at most once, so that each change has a number. */
const RESOURCES = 10;
/** Time in which a change reaches a watch, whatever happens. */
const ARRIVAL_MS = 10_000;
/** Time from which on changes are watched on all nodes (`sessionCacheMs`). */
const SETTLE_MS = 1_500;

/** Watches of a client, one after the other. */
export class Watching {
  #client;
  #record;
  #connection;
  #watch;
  #current;
  #numbers = 0;
  #running = Promise.resolve();

  constructor(client, record) {
    this.#client = client;
    this.#record = record;
  }

  /** Watches until `stop`, and begins again when a watch is lost. */
  start(connection) {
    this.#connection = connection;
    this.#running = this.#run(connection);
  }

  async stop() {
    this.#connection = undefined;
    this.#end("closed");
    await this.#watch?.close().catch(() => {});
    await this.#running;
  }

  /** Returns a resource to change, or undefined if there is none now. */
  next() {
    const { current } = { current: this.#current };
    if (current === undefined || Date.now() - current.openedAt < SETTLE_MS) return undefined;
    return current.unused.pop();
  }

  async #run(connection) {
    while (this.#connection === connection) {
      try {
        await this.#follow(connection);
      } catch {
        this.#end("lost");
      }
      await sleep(100);
    }
  }

  async #follow(connection) {
    const uris = Array.from({ length: RESOURCES }, () => `chaos://${this.#client.name}/${++this.#numbers}`);
    const resubscribe = this.#client.recovers ? undefined : false;
    const watch = await connection.watch({ resources: uris }, { resubscribe });
    if (this.#connection !== connection) return watch.close();
    this.#watch = watch;
    const current = { client: this.#client.name, uris, unused: [...uris], openedAt: Date.now(), events: [] };
    this.#current = current;
    this.#record.watches.push(current);
    const turn = setInterval(() => this.#turnOver(current, watch), 500);
    try {
      for await (const change of watch)
        current.events.push({ kind: change.kind, uri: change.uri ?? "", at: Date.now() });
      this.#end(watch.ended ?? "closed");
    } finally {
      clearInterval(turn);
    }
  }

  /** Closes a watch whose resources have all changed, after the last change has had its time. */
  #turnOver(current, watch) {
    if (current.unused.length > 0) return;
    current.usedUpAt ??= Date.now();
    if (Date.now() - current.usedUpAt < ARRIVAL_MS) return;
    if (this.#current === current) this.#end("closed");
    watch.close().catch(() => {});
  }

  #end(how) {
    const current = this.#current;
    this.#current = undefined;
    if (current === undefined) return;
    current.endedAt = Date.now();
    current.how = how;
  }
}
