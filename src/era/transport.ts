import type { RetryWaits } from "../call/backoff.js";
import type { ReadResponse } from "../call/channel-request.js";
import type { Clock } from "../call/clock.js";
import type { CallLifetime } from "../call/lifetime.js";
import type { Send } from "../http/client/send.js";
import type { ParamHeader } from "../http/param-headers.js";
import type { JsonText } from "../protocol/jsonrpc/format.js";
import type {
  Params,
  RequestId,
  RpcErrorObject,
  RpcNotification,
  RpcRequest,
  RpcResponse,
} from "../protocol/jsonrpc/message.js";
import type { ClientLimits } from "./client-limits.js";

export interface TransportRequest {
  readonly id?: RequestId | undefined;
  readonly method: string;
  readonly params: Params | undefined;
  /** The params as text, in their place, for a transport that does nothing but write them. */
  readonly written?: JsonText | undefined;
  /** Whether giving up is told to the server; the handshake and the probe are not. */
  readonly cancellable: boolean;
  readonly onProgress?: ((params: Params) => void) | undefined;
  /** Called with the id that the request goes out under, before it is written. */
  readonly onId?: ((id: RequestId) => void) | undefined;
  /** Whether it waits while too many calls are on the wire. It does unless told otherwise. */
  readonly waitsTurn?: boolean | undefined;
  /** Nothing is sent: the answer to a request that was sent earlier, under this id, is read on. */
  readonly resume?: { readonly id: RequestId; readonly lastEventId: string } | undefined;
  /** Called with each place from which the answer can be read on. */
  readonly onEventId?: ((id: RequestId, lastEventId: string) => void) | undefined;
}

export interface CloseOptions {
  /** Leaves the session open on the server, where there is one, for another client to go on with. */
  readonly keepSession?: boolean | undefined;
  /** Why a channel is closed, for the calls that end with it. */
  readonly reason?: Error | undefined;
}

/** Receives the messages of the server that answer no call. */
export interface TransportReceiver {
  /** `call` is the life of the request on whose stream it came, where the wire can tell. */
  onRequest(request: RpcRequest, call?: CallLifetime): void;
  /** `call` is the id of the request on whose stream it came, where the wire can tell. */
  onNotification(notification: RpcNotification, call?: RequestId): void;
  /** Why an array of messages on a channel is not taken apart, undefined where it is; without this, none is. */
  batchProblem?(items: readonly unknown[]): string | undefined;
  onProblem(problem: Error): void;
  onClose(reason: Error | undefined): void;
}

/** Hears nothing. */
export const NO_RECEIVER: TransportReceiver = { onRequest() {}, onNotification() {}, onProblem() {}, onClose() {} };

/**
 * Carries a client's calls. A call settles once: with the server's response, with the scope's reason in the turn in which
 * the scope ends, or with an error that says how far the request had got.
 */
export interface ClientTransport {
  readonly kind: "channel" | "http";
  receiver: TransportReceiver;
  request(request: TransportRequest, lifetime: CallLifetime): Promise<RpcResponse>;
  /** Gives the value that is read of the response, in the turn in which it comes, where the transport can. */
  exchange<T>(request: TransportRequest, lifetime: CallLifetime, read: ReadResponse<T>): Promise<T>;
  /** A notification that is not accepted is reported as a problem; with `mustArrive` this rejects instead. */
  notify(method: string, params: Params | undefined, mustArrive?: boolean): void | Promise<void>;
  /** Answers a request that came through `receiver`. Resolves when the answer is written or has failed; never rejects. */
  respond(id: RequestId, result: JsonText): void | Promise<void>;
  respondError(id: RequestId, error: RpcErrorObject): void | Promise<void>;
  /** Ends every call at once and lets go of everything. Idempotent. */
  close(options?: CloseOptions): Promise<void>;
}

export interface ReconnectOptions {
  /**
   * How many connections in a row may fail or bring nothing before the stream is given up.
   * @default 3 for the stream of a call, Infinity for the server's own
   */
  readonly maxFruitless: number;
  /**
   * The shortest wait, whatever the server wishes. While connections end as soon as they begin it is doubled, up to
   * `firstDelayMs`.
   * @default 100
   */
  readonly minDelayMs: number;
  /**
   * The first wait before reconnecting where the server wishes none, half of it at random. It grows while no message comes.
   * @default 1000
   */
  readonly firstDelayMs: number;
  /**
   * The longest wait where the server wishes none.
   * @default 30_000
   */
  readonly maxDelayMs: number;
  /**
   * Takes the place of the timer: calls `reconnect` when it is time, and returns the way to call that off. `attempt` counts
   * the connections in a row that failed or brought nothing.
   */
  readonly schedule?:
    | ((reconnect: () => void, delayMs: number, attempt: number) => (() => void) | undefined)
    | undefined;
}

/** Where a client reaches a server over HTTP, and with what. */
export interface HttpTarget {
  readonly url: URL;
  /** The address that the server is known by, where that is another one. */
  readonly server?: URL | undefined;
  readonly send: Send;
  /** Headers of the caller's own; the protocol's win. */
  readonly headers: HeadersInit;
  readonly clock: Clock;
  /** Where attempts to reach the server wait. */
  readonly waits: RetryWaits;
  /** Which arguments of a tool go into headers, as its listing said. */
  paramHeaders(tool: string): readonly ParamHeader[] | undefined;
  /** Which params member names what a method of an extension is about. */
  nameFrom?(method: string): string | undefined;
  readonly limits: ClientLimits;
  /** How lost streams are read on, in the era in which they can be. */
  readonly reconnect?: Partial<ReconnectOptions> | undefined;
  /** Whether the transport of 2024-11-05 is tried when the first POST is refused, and on which refusals. */
  readonly sse?: boolean | "any-4xx" | undefined;
}

/** The open channel to a server, or its address, from which an era makes its transport. */
export type TransportTarget =
  | { readonly kind: "channel"; readonly transport: ClientTransport & { readonly closed: boolean } }
  | { readonly kind: "http"; readonly target: HttpTarget };
