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
import type { Known, Optional } from "../protocol/known-options.js";
import type { ClientLimits } from "./client-limits.js";

/** Request of a client to a transport. */
export interface TransportRequest {
  readonly id?: RequestId | undefined;
  readonly method: string;
  readonly params: Params | undefined;
  /** Params as JSON text, for a transport that writes them unchanged. */
  readonly written?: JsonText | undefined;
  /** True if the server is notified when the call is cancelled. False for the handshake and the probe. */
  readonly cancellable: boolean;
  readonly onProgress?: ((params: Params) => void) | undefined;
  /** Called with the id of the request before it is written. */
  readonly onId?: ((id: RequestId) => void) | undefined;
  /**
   * True to wait while `maxConnections` calls are in progress.
   * @default true
   */
  readonly waitsTurn?: boolean | undefined;
  /** Resumes the response to an earlier request with this id. The request itself is not sent again. */
  readonly resume?: { readonly id: RequestId; readonly lastEventId: string } | undefined;
  /** Called with each event id from which the response can be resumed. */
  readonly onEventId?: ((id: RequestId, lastEventId: string) => void) | undefined;
}

/** Options for closing a connection. */
export interface CloseOptions {
  /** Keeps the session open on the server, so that another client can continue it. */
  readonly keepSession?: boolean | undefined;
  /** Reason for closing a channel. Calls in progress fail with it. */
  readonly reason?: Error | undefined;
}

export const CLOSE_OPTIONS: Known<CloseOptions> = { keepSession: "boolean", reason: "any" };

/** Receives the server's messages other than responses. */
export interface TransportReceiver {
  /** `call` is the lifetime of the request on whose stream the message arrived, if known. */
  onRequest(request: RpcRequest, call?: CallLifetime): void;
  /** `call` is the id of the request on whose stream the message arrived, if known. */
  onNotification(notification: RpcNotification, call?: RequestId): void;
  /**
   * Returns the reason why a batch on a channel is refused, or undefined if it is accepted. Without this method, all
   * batches are refused.
   */
  batchProblem?(items: readonly unknown[]): string | undefined;
  onProblem(problem: Error): void;
  onClose(reason: Error | undefined): void;
}

/** Ignores all messages. */
export const NO_RECEIVER: TransportReceiver = { onRequest() {}, onNotification() {}, onProblem() {}, onClose() {} };

/**
 * Sends the calls of a client. A call settles once: with the server's response, with the reason of its lifetime in the
 * turn in which the lifetime ends, or with an error that states the delivery.
 */
export interface ClientTransport {
  readonly kind: "channel" | "http";
  receiver: TransportReceiver;
  request(request: TransportRequest, lifetime: CallLifetime): Promise<RpcResponse>;
  /**
   * Sends a request and resolves with the value that `read` returns for the response. A channel calls `read` in the
   * turn in which the response arrives.
   */
  exchange<T>(request: TransportRequest, lifetime: CallLifetime, read: ReadResponse<T>): Promise<T>;
  /**
   * Sends a notification. If the server refuses it, the problem is reported. With `mustArrive` the promise rejects
   * instead.
   */
  notify(method: string, params: Params | undefined, mustArrive?: boolean): void | Promise<void>;
  /** Answers a request from `receiver`. Resolves when the response is written or has failed. Never rejects. */
  respond(id: RequestId, result: JsonText): void | Promise<void>;
  respondError(id: RequestId, error: RpcErrorObject): void | Promise<void>;
  /** Ends all calls and releases all resources. Idempotent. */
  close(options?: CloseOptions): Promise<void>;
}

/** Options for resuming a lost stream. */
export interface ReconnectOptions {
  /**
   * Maximum number of consecutive connections that fail or deliver nothing before the stream is abandoned.
   * @default 3 for the stream of a call, Infinity for the GET stream of a session
   */
  readonly maxFruitless: number;
  /**
   * Minimum delay, even if the server requests a shorter one. It doubles with each consecutive connection that ends
   * within `firstDelayMs` or cannot be opened: up to `firstDelayMs`, or `maxDelayMs` if it cannot be opened.
   * @default 100
   */
  readonly minDelayMs: number;
  /**
   * First delay before reconnecting if the server requests none. Up to half of it is random. It grows while no message
   * arrives.
   * @default 1000
   */
  readonly firstDelayMs: number;
  /**
   * Maximum delay if the server requests none, and maximum of a delay that it requests by `Retry-After`.
   * @default 30_000
   */
  readonly maxDelayMs: number;
  /**
   * Replaces the timer. Calls `reconnect` when the delay is over, and returns a function that cancels it. `attempt` is
   * the number of consecutive connections that failed or delivered nothing.
   */
  readonly schedule?:
    | ((reconnect: () => void, delayMs: number, attempt: number) => (() => void) | undefined)
    | undefined;
}

export const RECONNECT_OPTIONS: Known<Optional<ReconnectOptions>> = {
  maxFruitless: "limit",
  minDelayMs: "ms",
  firstDelayMs: "ms",
  maxDelayMs: "ms",
  schedule: "function",
};

/** Address of a server over HTTP, with the settings of requests to it. */
export interface HttpTarget {
  readonly url: URL;
  /** URL by which the server is known, if it differs from `url`. */
  readonly server?: URL | undefined;
  readonly send: Send;
  /** Headers of the author. Headers of the protocol take precedence. */
  readonly headers: HeadersInit;
  readonly clock: Clock;
  /** Delays between attempts to reach the server. */
  readonly waits: RetryWaits;
  /** Returns the arguments of a tool that its listing maps to headers. */
  paramHeaders(tool: string): readonly ParamHeader[] | undefined;
  /** Returns the params member of an extension method that is mirrored in the Mcp-Name header. */
  nameFrom?(method: string): string | undefined;
  readonly limits: ClientLimits;
  /** Options for resuming lost streams. Legacy only. */
  readonly reconnect?: Optional<ReconnectOptions> | undefined;
  /**
   * True to try the HTTP+SSE transport of 2024-11-05 when the first POST is refused with a status that servers of that
   * version send. `any-4xx` tries it on any 4xx status but 401 and 403.
   */
  readonly sse?: boolean | "any-4xx" | undefined;
}

/** Target of a connection: an open channel, or an HTTP address. */
export type TransportTarget =
  | { readonly kind: "channel"; readonly transport: ClientTransport & { readonly closed: boolean } }
  | { readonly kind: "http"; readonly target: HttpTarget };
