import { fromStored } from "../cluster/engine/text.js";
import type { NatsLine } from "./client.js";
import { ask, type Engine, META, metaOf, placeOf, type StoredMessage } from "./engine.js";
import { away, Unanswered } from "./failure.js";

/** Time after which the server ends a page that is not full, and a consumer that nobody uses. */
const PAGE_MS = 500;
const IDLE_MS = 30_000;

/** Number of items that are worked on at once. */
const AT_ONCE = 100;

/** Messages that are read: those of a stream with a subject that fits, from a number on. */
export interface Reading {
  readonly stream: string;
  readonly filter: string;
  readonly from: number;
  /** Maximum number of messages of a page. */
  readonly size: number;
  /** True if the texts are left out. */
  readonly headersOnly?: boolean;
}

interface Page {
  readonly messages: readonly StoredMessage[];
  /** True if there was no further message. */
  readonly isLast: boolean;
}

/**
 * Reads messages in their order, a page at a time. The server sends a page when it is asked for one, so that a reader
 * gets no more than it can take. `what` names the work in errors.
 */
export async function* readPages(
  engine: Engine,
  what: string,
  { stream, filter, from, size, headersOnly = false }: Reading,
): AsyncIterable<readonly StoredMessage[]> {
  const config = {
    deliver_policy: "by_start_sequence",
    opt_start_seq: from,
    filter_subject: filter,
    headers_only: headersOnly,
    ack_policy: "none",
    max_deliver: 1,
    mem_storage: true,
    num_replicas: 1,
    inactive_threshold: IDLE_MS * 1e6,
  };
  const { name, num_pending: count } = await engine.run(what, true, (line) =>
    ask(line, `CONSUMER.CREATE.${stream}`, { stream_name: stream, config }),
  );
  const consumer = `${stream}.${name}`;
  try {
    for (let isLast = count === 0; !isLast; ) {
      const page = await engine.run(what, true, (line) => readPage(line, consumer, size));
      if (page.messages.length > 0) yield page.messages;
      isLast = page.isLast;
    }
  } finally {
    // The server deletes it later if this fails.
    engine.run(what, true, (line) => ask(line, `CONSUMER.DELETE.${consumer}`, {})).catch(() => {});
  }
}

async function readPage(line: NatsLine, consumer: string, size: number): Promise<Page> {
  const messages: StoredMessage[] = [];
  const inbox = `${line.inbox}.${crypto.randomUUID().replaceAll("-", "")}`;
  let stop = () => {};
  try {
    const isLast = await new Promise<boolean>((resolve, reject) => {
      stop = line.subscribe(
        inbox,
        (message) => {
          if (message.status === 503) return reject(new Unanswered(`nobody serves the consumer ${consumer}`));
          if (message.status === 409) return reject(away(`the consumer ${consumer} was deleted`));
          if (message.status !== 0) return resolve(messages.length === 0);
          const { seq, time, left } = placeOf(message.reply);
          const meta = metaOf(message.header(META));
          messages.push({ subject: message.subject, seq, time, meta, text: fromStored(message.text()) });
          if (left === 0 || messages.length === size) resolve(left === 0);
        },
        reject,
      );
      const request = { batch: size, expires: PAGE_MS * 1e6 };
      line.publish(`$JS.API.CONSUMER.MSG.NEXT.${consumer}`, JSON.stringify(request), inbox);
    });
    return { messages, isLast };
  } finally {
    stop();
  }
}

/** Runs work for each item, with a bound on the number of items at once. */
export async function inPages<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(work))));
  return results;
}
