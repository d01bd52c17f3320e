import { pause } from "../call/abortable.js";
import type { IndexPlace } from "../cluster/cluster.js";
import type { NatsLine, NatsMessage } from "./client.js";
import type { DocumentMeta } from "./documents.js";
import { ask, type Engine, META, metaOf, placeOf } from "./engine.js";
import { away, JetStreamError } from "./failure.js";
import { Listing, type Placed } from "./listing.js";

/** Time between two signs of life of the server, and the time without one after which the connection is replaced. */
const IDLE_MS = 2_000;
const SILENT_MS = 4 * IDLE_MS;

/** Time after which a consumer is created again if its stream is not ready. */
const NOT_READY_MS = 50;

/** Time after which a reader asks again how far the documents are. The last of them may have been deleted. */
const ASK_AGAIN_MS = 50;

/**
 * Maximum numbers of documents that are forgotten at a heartbeat, and with each message. The second one is above 1, so
 * that there are never many that are over, at any rate of messages.
 */
const MAX_ENDS = 2_000;
const ENDS_PER_MESSAGE = 2;

interface Waiting {
  readonly seq: number;
  readonly resolve: () => void;
}

/**
 * Keeps the indexes of documents. The server sends the headers of all documents that indexes may list, first the present
 * ones and then each change. A new connection begins anew. A reader first asks for the number of the last document and
 * waits until it has arrived, so that a listing has everything that was stored before it was asked for.
 */
export class Mirror {
  readonly #engine: Engine;
  readonly #changed: (subject: string) => void;
  #listing = new Listing();
  /** Number of the last document that has arrived. */
  #arrived = 0;
  /** Number of the last message of the server in this connection. */
  #count = 0;
  #heardAt = 0;
  readonly #waiting = new Set<Waiting>();
  readonly #timeoutMs: number;
  #line: NatsLine | undefined;

  /** @param changed Called with the subject of each document that has changed. */
  constructor(engine: Engine, timeoutMs: number, changed: (subject: string) => void) {
    this.#engine = engine;
    this.#timeoutMs = timeoutMs;
    this.#changed = changed;
  }

  /** Begins anew on a connection. The present documents arrive later. */
  async open(line: NatsLine): Promise<void> {
    const { names, clock } = this.#engine;
    this.#listing = new Listing();
    this.#arrived = 0;
    this.#count = 0;
    this.#line = line;
    this.#heardAt = clock.now();
    const inbox = `${line.inbox}.${crypto.randomUUID().replaceAll("-", "")}`;
    line.subscribe(
      inbox,
      (message) => {
        if (this.#line === line) this.#onMessage(line, message);
      },
      () => line.close(),
    );
    const config = {
      deliver_subject: inbox,
      deliver_policy: "last_per_subject",
      filter_subject: names.listed,
      ack_policy: "none",
      max_deliver: 1,
      headers_only: true,
      mem_storage: true,
      num_replicas: 1,
      flow_control: true,
      idle_heartbeat: IDLE_MS * 1e6,
    };
    await this.#receive(line, config);
  }

  /** Creates the consumer. The limit of time for opening a connection ends the attempts. */
  async #receive(line: NatsLine, config: object): Promise<void> {
    const { names, clock } = this.#engine;
    const create = () => ask(line, `CONSUMER.CREATE.${names.documents}`, { stream_name: names.documents, config });
    for (;;) {
      try {
        return void (await create());
      } catch (error) {
        if (!(error instanceof JetStreamError && error.isNotReady)) throw error;
        await pause(clock, NOT_READY_MS);
      }
    }
  }

  /** Number of the documents that this process keeps in memory. */
  get size(): number {
    return this.#listing.size;
  }

  /** Number of the documents of an index. */
  async count(index: string): Promise<number> {
    await this.#fresh();
    return this.#listing.count(index, this.#engine.time.now());
  }

  async list(index: string, after: IndexPlace | undefined, limit: number): Promise<readonly Placed[]> {
    await this.#fresh();
    return this.look(index, after, limit);
  }

  /** Lists what has arrived, without asking the server. */
  look(index: string, after: IndexPlace | undefined, limit: number): readonly Placed[] {
    return this.#listing.list(index, after, limit, this.#engine.time.now());
  }

  /** Forgets documents that are over, and replaces a connection whose server has stopped to send documents. */
  check(): void {
    this.#listing.expire(this.#engine.time.now(), MAX_ENDS);
    if (this.#engine.isUp && this.#engine.clock.now() - this.#heardAt > SILENT_MS) this.#engine.reset();
  }

  /** Resolves when everything has arrived that was stored before. */
  async #fresh(): Promise<void> {
    const { names, clock } = this.#engine;
    const what = "read an index";
    const end = clock.now() + this.#timeoutMs;
    while (clock.now() < end) {
      const last = await this.#engine.read(what, names.documents, { last_by_subj: names.listed });
      const seq = last?.seq ?? 0;
      if (this.#arrived < seq) await this.#arrival(seq);
      if (this.#arrived >= seq) return;
    }
    throw away(`${what}: its documents did not arrive within ${this.#timeoutMs} ms (option timeoutMs)`);
  }

  /** Resolves when a document has arrived, and at the latest when the server must be asked again. */
  async #arrival(seq: number): Promise<void> {
    const stop = new AbortController();
    const waiting = { seq, resolve: () => stop.abort() };
    this.#waiting.add(waiting);
    await pause(this.#engine.clock, ASK_AGAIN_MS, stop.signal);
    this.#waiting.delete(waiting);
  }

  #onMessage(line: NatsLine, message: NatsMessage): void {
    this.#heardAt = this.#engine.clock.now();
    if (message.status !== 0) {
      const resume = message.reply || message.header("Nats-Consumer-Stalled");
      if (resume !== "") line.publish(resume, "");
      const last = message.header("Nats-Last-Consumer");
      if (last !== "" && Number(last) !== this.#count) line.close();
      return;
    }
    const { seq, count, time } = placeOf(message.reply);
    if (count !== this.#count + 1) return line.close();
    this.#count = count;
    this.#engine.time.saw(time);
    this.#listing.expire(this.#engine.time.now(), ENDS_PER_MESSAGE);
    this.#listing.apply(message.subject, time, metaOf(message.header(META)) as DocumentMeta);
    this.#arrived = Math.max(this.#arrived, seq);
    for (const waiting of this.#waiting) if (waiting.seq <= seq) waiting.resolve();
    this.#changed(message.subject);
  }
}
