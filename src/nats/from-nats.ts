import { Denied, type NatsClient, type NatsLine, type NatsMessage, NotSent } from "./client.js";

/** Functions of the package `@nats-io/transport-node` that the cluster uses. */
export interface NatsLibrary {
  connect(options?: object): Promise<unknown>;
  headers(): unknown;
}

/** Methods of a connection of the library. */
interface Connection {
  readonly info?: { readonly version: string; readonly max_payload: number; readonly jetstream?: boolean };
  closed(): Promise<unknown>;
  isClosed(): boolean;
  close(): Promise<void>;
  publish(subject: string, payload: string, options?: { reply: string }): void;
  request(subject: string, payload: string, options: { timeout: number; headers?: unknown }): Promise<Received>;
  subscribe(
    subject: string,
    options: { callback: (error: unknown, message: Received) => void },
  ): { unsubscribe(): void };
  flush(): Promise<void>;
}

interface Received {
  readonly subject: string;
  readonly reply?: string;
  readonly headers?: { readonly code: number; get(name: string): string };
  string(): string;
}

/** Error of the library about a right that is missing. */
interface Violation {
  readonly name: string;
  readonly operation: "publish" | "subscription";
  readonly subject: string;
}

/** Time after which the library gives up an attempt to connect, unless the options tell another one. */
const CONNECT_MS = 5_000;

/** Time after which the library gives up a request. The cluster gives up earlier. */
const REQUEST_MS = 60_000;

/**
 * Uses the package `@nats-io/transport-node`. The cluster opens connections of its own with these options, which are
 * those of `connect`.
 */
export function fromNats(library: NatsLibrary, options: object = {}): NatsClient {
  return { open: (onClose, signal) => open(library, options, onClose, signal) };
}

async function open(
  library: NatsLibrary,
  options: object,
  onClose: () => void,
  signal: AbortSignal,
): Promise<NatsLine> {
  signal.throwIfAborted();
  const own = { timeout: CONNECT_MS, ...options, reconnect: false, waitOnFirstConnect: false, noEcho: false };
  const connection = (await library.connect(own)) as Connection;
  let isClosed = false;
  const closed = () => {
    if (isClosed) return;
    isClosed = true;
    onClose();
  };
  const close = () => {
    connection.close().catch(() => {});
    closed();
  };
  connection.closed().then(closed, closed);
  if (signal.aborted) {
    close();
    signal.throwIfAborted();
  }
  const { inboxPrefix = "_INBOX" } = options as { inboxPrefix?: string };
  return lineOf(library, connection, inboxPrefix, close);
}

function lineOf(library: NatsLibrary, connection: Connection, inbox: string, close: () => void): NatsLine {
  const { version = "", max_payload: maxPayload = 0, jetstream: hasJetStream = false } = connection.info ?? {};
  const checkOpen = () => {
    if (connection.isClosed()) throw new NotSent("the connection is closed");
  };
  return {
    version,
    maxPayload,
    inbox,
    hasJetStream,
    async request(subject, body, headers) {
      checkOpen();
      const given = headers && headersOf(library, headers);
      try {
        const options = { timeout: REQUEST_MS, ...(given === undefined ? {} : { headers: given }) };
        return messageOf(await connection.request(subject, body, options));
      } catch (error) {
        if (!isUnanswered(error)) throw deniedOf(error) ?? error;
        return { subject: "", reply: "", status: 503, text: () => "", header: () => "" };
      }
    },
    publish(subject, body, reply) {
      checkOpen();
      connection.publish(subject, body, reply === undefined ? undefined : { reply });
    },
    flush: () => connection.flush(),
    subscribe(subject, listener, onError) {
      const subscription = connection.subscribe(subject, {
        callback: (error, message) => {
          if (error) onError(deniedOf(error) ?? (error as Error));
          else listener(messageOf(message));
        },
      });
      return () => subscription.unsubscribe();
    },
    close,
  };
}

function headersOf(library: NatsLibrary, values: Readonly<Record<string, string>>): unknown {
  const headers = library.headers() as { set(name: string, value: string): void };
  for (const [name, value] of Object.entries(values)) headers.set(name, value);
  return headers;
}

function messageOf(message: Received): NatsMessage {
  const { subject, reply = "", headers } = message;
  return {
    subject,
    reply,
    status: headers?.code ?? 0,
    text: () => message.string(),
    header: (name) => headers?.get(name) ?? "",
  };
}

/** True if nobody listens to the subject of a request. */
function isUnanswered(error: unknown): boolean {
  return (error as { isNoResponders?(): boolean } | undefined)?.isNoResponders?.() === true;
}

/** Returns the error of a right that is missing, if it is one or the cause of one. */
function deniedOf(error: unknown): Denied | undefined {
  const causes = [error, (error as { cause?: unknown } | undefined)?.cause] as (Violation | undefined)[];
  const found = causes.find((cause) => cause?.name === "PermissionViolationError");
  return found && new Denied(found.operation === "publish" ? "publish" : "subscribe", found.subject, { cause: error });
}
