import { toStored } from "../cluster/engine/text.js";
import { ClusterError } from "../cluster/error.js";
import type { Engine } from "./engine.js";
import { LOCK_OF } from "./start.js";
import type { Names } from "./tables.js";

/** Maximum number of messages that wait to be sent. */
const MAX_WAITING = 10_000;

/** Maximum number of messages in a statement. */
const MAX_BATCH = 500;

/** Maximum length of a payload of NOTIFY is 8,000 bytes. */
const MAX_IDS = 300;

interface Waiting {
  readonly topic: string;
  readonly text: string;
  readonly done: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Sends messages and notifications, one statement at a time. Everything that comes while a statement runs is sent by the
 * next one, since commits with NOTIFY wait for each other on the server. A payload contains ids only.
 */
export class Outbox {
  readonly #engine: Engine;
  readonly #names: Names;
  readonly #node: string;
  #waiting: Waiting[] = [];
  #logs = new Set<string>();
  #payloads = new Set<string>();
  #seq = 0;
  #isSending = false;

  constructor(engine: Engine, names: Names, node: string) {
    this.#engine = engine;
    this.#names = names;
    this.#node = node;
  }

  publish(topic: string, text: string): Promise<void> {
    if (this.#waiting.length >= MAX_WAITING)
      return Promise.reject(
        new ClusterError("unavailable", `Bus, publish to ${topic}: ${MAX_WAITING} messages wait to be sent.`),
      );
    return new Promise((done, failed) => {
      this.#waiting.push({ topic: toStored(topic), text: toStored(text), done, failed });
      this.#start();
    });
  }

  /** Tells all processes that a log has changed. */
  nudgeLog(log: string): void {
    this.#logs.add(log);
    this.#start();
  }

  /** Tells all processes that a job may be ready. */
  nudgeQueue(): void {
    this.#payloads.add("q");
    this.#start();
  }

  /** Tells all processes the number of the last message of this one. Listeners find out by it that they missed some. */
  beat(): void {
    this.#payloads.add("h");
    this.#start();
  }

  #start(): void {
    if (!this.#isSending) void this.#send();
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    await undefined;
    while (this.#waiting.length + this.#logs.size + this.#payloads.size > 0) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      const first = this.#seq + 1;
      const messages = batch.map(({ topic, text }) => ({ seq: ++this.#seq, topic, text }));
      const payloads = this.#takePayloads();
      if (batch.length > 0) payloads.push(`m ${this.#node} ${first} ${this.#seq}`);
      const { channel } = this.#names;
      const statement = { operation: "publish", text: this.#text };
      try {
        await this.#engine.run(statement, channel, this.#node, JSON.stringify(messages), JSON.stringify(payloads));
        for (const { done } of batch) done();
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    this.#isSending = false;
  }

  get #text(): string {
    return `select ${this.#names.of("publish_1")}($1::text, $2::text, $3::text, $4::text)::text as done`;
  }

  #takePayloads(): string[] {
    const payloads = [...this.#payloads].map((payload) => (payload === "h" ? `h ${this.#node} ${this.#seq}` : payload));
    this.#payloads.clear();
    const logs = [...this.#logs];
    this.#logs.clear();
    for (let i = 0; i < logs.length; i += MAX_IDS) payloads.push(`l ${logs.slice(i, i + MAX_IDS).join(" ")}`);
    return payloads;
  }

  /** Deletes a part of the rows whose life is over, if no other process does it. Resolves with true if there may be more. */
  async sweep(): Promise<boolean> {
    const text = `select ${this.#names.of("sweep_1")}(${LOCK_OF(this.#names)} + 1, 1000, interval '60 seconds')::text as state`;
    const [row] = await this.#engine.run({ operation: "sweep", text });
    return row?.state === "more";
  }
}
