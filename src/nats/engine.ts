import type { Clock } from "../call/clock.js";
import { Link } from "../cluster/engine/link.js";
import { fromStored, toStored } from "../cluster/engine/text.js";
import { ClusterError } from "../cluster/error.js";
import { fromBase64Url } from "../protocol/base64.js";
import type { NatsClient, NatsLine } from "./client.js";
import { away, failureOf, isAnswer, JetStreamError, Unanswered } from "./failure.js";
import type { Names } from "./names.js";
import { ServerTime, stampOf } from "./server-time.js";

/** Header with the values of a message that are not its text, as JSON in ASCII. */
export const META = "Bowline";

/** Values of a message. */
export type Meta = Readonly<Record<string, unknown>>;

/** Message that JetStream has stored. */
export interface StoredMessage {
  readonly subject: string;
  readonly seq: number;
  /** Time of the server at which it was stored, in milliseconds since 1970. */
  readonly time: number;
  readonly meta: Meta;
  readonly text: string;
}

/** Message that is asked for: by its number, as the last of a subject, or as the first of a subject from a number on. */
export type Wanted = { readonly seq: number; readonly next_by_subj?: string } | { readonly last_by_subj: string };

export interface EngineOptions {
  readonly client: NatsClient;
  readonly names: Names;
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Prepares a new connection. Rejects if the server cannot be used. */
  prepare(line: NatsLine): Promise<void>;
  onUp(): void;
}

/** Requests to JetStream. */
export class Engine {
  readonly clock: Clock;
  readonly names: Names;
  readonly time: ServerTime;
  readonly #link: Link<NatsLine>;
  #isClosed = false;

  constructor({ client, names, clock, timeoutMs, prepare, onUp }: EngineOptions) {
    this.clock = clock;
    this.names = names;
    this.time = new ServerTime(clock);
    this.#link = new Link({
      name: "JetStream",
      engine: "NATS",
      clock,
      timeoutMs,
      open: (onClose, signal) => client.open(onClose, signal),
      prepare: async (line) => {
        await prepare(line);
        await this.#readTime(line);
      },
      failureOf,
      isAnswer,
      onUp,
    });
  }

  get isUp(): boolean {
    return this.#link.isUp && !this.#isClosed;
  }

  /** Connection of this moment. */
  get line(): NatsLine | undefined {
    return this.#link.connection;
  }

  tried(what: string): Promise<void> {
    return this.#link.tried(what);
  }

  /** Runs work on the connection. `what` names it in errors. */
  run<T>(what: string, isRead: boolean, work: (line: NatsLine) => Promise<T>): Promise<T> {
    if (this.#isClosed) return Promise.reject(away(`${what}: the cluster is closed`));
    return this.#link.ask(what, isRead, work);
  }

  /** Reads a message of a stream. */
  async read(what: string, stream: string, wanted: Wanted): Promise<StoredMessage | undefined> {
    const found = await this.run(what, true, (line) => readMessage(line, stream, wanted));
    if (found !== undefined) this.time.saw(found.time);
    return found;
  }

  /**
   * Stores a message. With `expected`, only if the last message of the subject has this number, or, with 0, if there is
   * none. Resolves with the number of the message, or with undefined if the expectation was wrong.
   */
  store(what: string, subject: string, meta: Meta, text: string, expected?: number): Promise<number | undefined> {
    return this.run(what, false, (line) => storeMessage(line, { what, subject, meta, text, expected }));
  }

  /** Deletes the messages of a subject, with `below` only those with lower numbers. */
  async purge(what: string, stream: string, filter: string, below?: number): Promise<void> {
    const request = { filter, ...(below === undefined ? {} : { seq: below }) };
    await this.run(what, false, (line) => ask(line, `STREAM.PURGE.${stream}`, request));
  }

  /** Deletes a message by its number, if it is still there. This takes the server less time than by a subject. */
  async remove(what: string, stream: string, seq: number): Promise<void> {
    await this.run(what, false, async (line) => {
      try {
        await ask(line, `STREAM.MSG.DELETE.${stream}`, { seq, no_erase: true });
      } catch (error) {
        if (!(error instanceof JetStreamError && error.isNotDeleted)) throw error;
      }
    });
  }

  /** Finds out the time of the server. Fails if the server cannot store a message. */
  syncTime(): Promise<void> {
    return this.run("find out the time", true, (line) => this.#readTime(line));
  }

  /** Closes the connection, so that another one is opened. */
  reset(): void {
    this.#link.reset();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#link.close();
  }

  async #readTime(line: NatsLine): Promise<void> {
    const subject = this.names.plainSubject("clock", "");
    const sent = this.clock.now();
    const seq = await storeMessage(line, { what: "find out the time", subject, meta: {}, text: "" });
    const at = this.clock.now();
    // Another process may have stored a later one, which was before the answer.
    const found = await readMessage(line, this.names.documents, { last_by_subj: subject });
    if (found !== undefined) this.time.set(found.time, sent, found.seq === seq ? at : this.clock.now());
  }
}

/** Sends a request to the API of JetStream. Rejects with a {@link JetStreamError} if it answers with an error. */
export async function ask(line: NatsLine, path: string, request: object): Promise<Record<string, unknown>> {
  const reply = await line.request(`$JS.API.${path}`, JSON.stringify(request));
  return answerOf(reply.status, reply.text(), path);
}

function answerOf(status: number, text: string, path: string): Record<string, unknown> {
  if (status === 503) throw new Unanswered(`nobody serves ${path}`);
  const answer = JSON.parse(text) as { error?: { err_code?: number; description?: string } };
  const { error } = answer;
  if (error !== undefined) throw new JetStreamError(error.err_code ?? 0, error.description ?? "error");
  return answer;
}

interface ToStore {
  readonly what: string;
  readonly subject: string;
  readonly meta: Meta;
  readonly text: string;
  readonly expected?: number | undefined;
}

async function storeMessage(line: NatsLine, { what, subject, meta, text, expected }: ToStore) {
  const headers: Record<string, string> = { [META]: ascii(JSON.stringify(meta)) };
  if (expected !== undefined) headers["Nats-Expected-Last-Subject-Sequence"] = String(expected);
  const body = toStored(text);
  checkSize(line, what, body, headers[META] ?? "");
  const reply = await line.request(subject, body, headers);
  try {
    return Number(answerOf(reply.status, reply.text(), what).seq);
  } catch (error) {
    if (error instanceof JetStreamError && error.isWrongSequence) return undefined;
    throw error;
  }
}

/** Bytes of headers beside the values. */
const HEADER_BYTES = 200;

/** Refuses a message that is larger than the server takes. The server would end the connection. */
export function checkSize(line: NatsLine, what: string, body: string, meta = ""): void {
  // Most texts are short. A UTF-16 code unit is at most three bytes.
  if (body.length * 3 + meta.length + HEADER_BYTES <= line.maxPayload) return;
  const size = new TextEncoder().encode(body).length + meta.length + HEADER_BYTES;
  if (size > line.maxPayload)
    throw new ClusterError(
      "refused",
      `${what}: the message has ${size} bytes; raise max_payload of the NATS server, which is ${line.maxPayload}`,
    );
}

async function readMessage(line: NatsLine, stream: string, wanted: Wanted): Promise<StoredMessage | undefined> {
  try {
    const { message } = (await ask(line, `STREAM.MSG.GET.${stream}`, wanted)) as { message: Raw };
    return messageOf(message);
  } catch (error) {
    if (error instanceof JetStreamError && error.isNoMessage) return undefined;
    throw error;
  }
}

/** Message as the API gives it. Headers and data are base64. */
interface Raw {
  readonly subject: string;
  readonly seq: number;
  readonly time: string;
  readonly hdrs?: string;
  readonly data?: string;
}

function messageOf({ subject, seq, time, hdrs = "", data = "" }: Raw): StoredMessage {
  const line = textOf(hdrs)
    .split("\r\n")
    .find((header) => header.startsWith(`${META}:`));
  const meta = metaOf(line?.slice(META.length + 1).trim());
  return { subject, seq, time: stampOf(time), meta, text: fromStored(textOf(data)) };
}

const textOf = (base64: string) => new TextDecoder().decode(fromBase64Url(base64));

/** Reads the values of a header. */
export function metaOf(text: string | undefined): Meta {
  return text === undefined || text === "" ? {} : (JSON.parse(text) as Meta);
}

/** Escapes other characters than those of ASCII, which a header cannot have. */
function ascii(json: string): string {
  return json.replace(/[^\x20-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * Reads the subject of an acknowledgement. Newer servers add the domain and the account after `$JS.ACK`, and a random
 * part at the end.
 */
export function placeOf(reply: string): { seq: number; count: number; time: number; left: number } {
  const parts = reply.split(".");
  const at = parts.length > 9 ? 7 : 5;
  return {
    seq: Number(parts[at]),
    count: Number(parts[at + 1]),
    time: Number(parts[at + 2]) / 1e6,
    left: Number(parts[at + 3]),
  };
}
