import type { FromHost, ToHost } from "../../cluster/messages/link.js";

/**
 * Version of these messages and of those of the shared state. Increase it when a primary and a worker of the release
 * before would not understand each other.
 */
export const PROTOCOL = 2;

/** Message of a worker to its primary. */
export type FromWorker =
  /** The program has reached `serveHttp`. `needsState` tells if its server has no cluster of its own. */
  | { readonly bowline: "hello"; readonly protocol: number; readonly needsState: boolean }
  | { readonly bowline: "listening"; readonly url: string; readonly port: number }
  | { readonly bowline: "failed"; readonly message: string; readonly code: string | undefined }
  | { readonly bowline: "state"; readonly batch: readonly ToHost[] };

/** Message of a primary to a worker. */
export type FromPrimary =
  | {
      readonly bowline: "welcome";
      readonly worker: number;
      readonly port: number;
      /** Node of the worker in the state of the primary, with the key of sealed states in base64. */
      readonly state: { readonly node: string; readonly key: string } | undefined;
    }
  | { readonly bowline: "drain"; readonly graceMs: number }
  | { readonly bowline: "close" }
  | { readonly bowline: "state"; readonly batch: readonly FromHost[] };

/** Process, as far as messages need it. */
interface Sender {
  readonly connected?: boolean | (() => boolean);
  send?(message: object, callback: (error: Error | null) => void): unknown;
}

/** Sends a message. `sent` is called when it is written, or when the other process is gone. */
export function send(to: Sender, message: FromWorker | FromPrimary, sent: () => void = () => {}): void {
  const isConnected = typeof to.connected === "function" ? to.connected() : to.connected;
  if (isConnected !== true) return sent();
  try {
    to.send?.(message, () => sent());
  } catch {
    sent();
  }
}

/** Returns a message of `serveHttp`, or undefined for a message of the program. */
export function received<Message extends FromWorker | FromPrimary>(message: unknown): Message | undefined {
  return typeof Object(message).bowline === "string" ? (message as Message) : undefined;
}
