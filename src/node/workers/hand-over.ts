import type { ChildProcess } from "node:child_process";
import type { Cluster } from "node:cluster";

/** Name of the event by which node:cluster receives its own messages, which is private to Node. */
const OWN_MESSAGE = "internalMessage";

/** Message by which node:cluster hands a connection to a worker, and the reply of the worker. */
interface HandOver {
  readonly act?: string;
  readonly key?: string;
  readonly seq?: number;
  readonly ack?: number;
}

/**
 * Follows the connections that node:cluster hands to a worker. Returns a function that closes those that the worker has not
 * taken: node:cluster leaves them open when the worker is gone, and their clients would wait.
 */
export function followConnections(child: ChildProcess): () => void {
  // The next connection of a listener is handed over when the worker has taken the last one.
  const untaken = new Map<
    string | undefined,
    { readonly seq: number | undefined; readonly handle: { close(): void } }
  >();
  // A process that could not be started may have no channel.
  if (child.send === undefined) return () => {};
  const send = child.send.bind(child) as (message: HandOver, handle: never, ...rest: never[]) => boolean;
  child.send = (message: HandOver, handle: never, ...rest: never[]) => {
    if (message.act === "newconn") untaken.set(message.key, { seq: message.seq, handle });
    return send(message, handle, ...rest);
  };
  child.on(OWN_MESSAGE, ({ ack }: HandOver) => {
    for (const [key, { seq }] of untaken) if (seq === ack) untaken.delete(key);
  });
  return () => {
    for (const { handle } of untaken.values()) handle.close();
  };
}

/**
 * True if node:cluster uses the messages that {@link followConnections} follows. In a Node without them, the workers have to
 * accept connections by themselves: the primary then hands over none that could be left open.
 */
export function canFollow({ fork }: Cluster): boolean {
  return Function.prototype.toString.call(fork).includes(OWN_MESSAGE);
}
