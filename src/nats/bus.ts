import { ignoreErrors } from "../call/maybe-promise.js";
import type { Bus } from "../cluster/cluster.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import { Denied, type NatsLine } from "./client.js";
import { checkSize, type Engine } from "./engine.js";

/** Maximum number of senders that are known. A sender beyond it replaces the one that was silent for longest. */
const MAX_SENDERS = 10_000;

/** Maximum number of logs in a notice. */
const MAX_LOGS = 300;

type Listener = (text: string, from: string) => void;

export interface BusOptions {
  readonly engine: Engine;
  readonly node: string;
  /** Called with the numbers of logs that have changed. */
  onLogs(logs: readonly string[]): void;
  /** Called with the number of a log to which another process wants to write. */
  onHold(log: string): void;
}

/**
 * Messages by one subject of NATS, which all processes hear. Each sender numbers its messages, and a heartbeat tells its
 * last number. A number that is left out is a gap, and so is a lost connection.
 *
 * A text begins with a line of words: `m`, sender, number and topic of a message, `h`, sender and number of a heartbeat,
 * `q` to ask for heartbeats, `l` and the numbers of logs that have changed, or `w`, sender and number of a log to which
 * the sender wants to write.
 */
export class NatsBus implements Bus {
  readonly #options: BusOptions;
  readonly #topics = new Map<string, Set<Listener>>();
  readonly #gaps = new Set<() => void>();
  /** Number of the last message of each sender. */
  readonly #senders = new Map<string, number>();
  #sent = 0;
  #logs = new Set<string>();

  constructor(options: BusOptions) {
    this.#options = options;
  }

  async publish(topic: string, text: string): Promise<void> {
    const { engine, node } = this.#options;
    const what = `publish to ${JSON.stringify(topic)}`;
    await engine.run(what, false, async (line) => {
      const start = ["m", node, this.#sent + 1, encodeURIComponent(toStored(topic))].join(" ");
      const message = `${start}\n${toStored(text)}`;
      checkSize(line, what, message);
      this.#sent++;
      line.publish(engine.names.bus, message);
      await line.flush();
    });
  }

  async subscribe(topic: string, listener: Listener): Promise<() => void> {
    const own: Listener = (text, from) => listener(text, from);
    // Messages that were published before have arrived when the server answers.
    await this.#options.engine.run(`subscribe to ${JSON.stringify(topic)}`, true, (line) => line.flush());
    const found = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, found.add(own));
    return () => {
      found.delete(own);
      if (found.size === 0 && this.#topics.get(topic) === found) this.#topics.delete(topic);
    };
  }

  onGap(listener: () => void): () => void {
    const own = () => listener();
    this.#gaps.add(own);
    return () => void this.#gaps.delete(own);
  }

  /** Tells that messages may have been missed. */
  gap(): void {
    for (const tell of [...this.#gaps]) ignoreErrors(tell);
  }

  /**
   * Begins to listen on a new connection, and asks the others for their numbers. Rejects if this process does not hear
   * its own heartbeat.
   */
  async open(line: NatsLine): Promise<void> {
    const { engine, node } = this.#options;
    const subject = engine.names.bus;
    this.#senders.clear();
    const isHeard = () => this.#senders.has(node);
    let problem: Error | undefined;
    const stop = line.subscribe(
      subject,
      (message) => this.#onText(message.text()),
      (error) => {
        problem = error;
        // A right that was taken away is told by the next attempt to connect.
        if (isHeard()) line.close();
      },
    );
    line.publish(subject, this.#beatText());
    line.publish(subject, "q");
    // The own heartbeat comes before the answer.
    await line.flush();
    if (isHeard()) return;
    stop();
    throw problem ?? new Denied("publish", subject);
  }

  /** Tells the others the number of the last message. */
  beat(): void {
    this.#tell(this.#beatText());
  }

  /** Tells the others that a log has changed. Logs that change together are told together. */
  tellLog(log: string): void {
    this.#logs.add(log);
    if (this.#logs.size === 1) queueMicrotask(() => this.#tellLogs());
  }

  /** Asks the others to let this process write to a log. */
  askToHold(log: string): void {
    this.#tell(`w ${this.#options.node} ${log}`);
  }

  /** Ends all subscriptions. */
  close(): void {
    this.#topics.clear();
    this.#gaps.clear();
  }

  #beatText(): string {
    return `h ${this.#options.node} ${this.#sent}`;
  }

  #tellLogs(): void {
    const logs = [...this.#logs];
    this.#logs.clear();
    for (let at = 0; at < logs.length; at += MAX_LOGS) this.#tell(`l ${logs.slice(at, at + MAX_LOGS).join(" ")}`);
  }

  /** Sends a text that others can do without. */
  #tell(text: string): void {
    const { engine } = this.#options;
    ignoreErrors(() => engine.line?.publish(engine.names.bus, text));
  }

  #onText(text: string): void {
    const end = text.indexOf("\n");
    const [kind, ...words] = (end < 0 ? text : text.slice(0, end)).split(" ");
    const [from = "", number, topic = ""] = words;
    if (kind === "l") this.#options.onLogs(words);
    else if (kind === "w" && from !== this.#options.node) this.#options.onHold(number ?? "");
    else if (kind === "q") this.beat();
    else if (kind === "h") this.#heard(from, Number(number), Number(number));
    else if (kind === "m") {
      this.#heard(from, Number(number) - 1, Number(number));
      this.#deliver(fromStored(decodeURIComponent(topic)), fromStored(text.slice(end + 1)), from);
    }
  }

  /** Takes the number of the last message of a sender. Before it, the number must have been `before`. */
  #heard(from: string, before: number, last: number): void {
    const known = this.#senders.get(from);
    // A sender that is heard moves to the end, so that the first one is the one that was silent for longest.
    this.#senders.delete(from);
    this.#senders.set(from, last);
    const [oldest] = this.#senders.keys();
    if (this.#senders.size > MAX_SENDERS) this.#senders.delete(oldest as string);
    if (known !== undefined && known !== before) this.gap();
  }

  #deliver(topic: string, text: string, from: string): void {
    for (const listener of [...(this.#topics.get(topic) ?? [])]) ignoreErrors(() => listener(text, from));
  }
}
