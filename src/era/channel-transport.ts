import { cancelledByHand, type ReadResponse, sendChannelRequest, unchangedResponse } from "../call/channel-request.js";
import type { CallLifetime } from "../call/lifetime.js";
import { withProgressToken } from "../call/progress.js";
import { ProtocolError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { JsonText } from "../protocol/jsonrpc/format.js";
import type { Params, RequestId, RpcErrorObject, RpcResponse } from "../protocol/jsonrpc/message.js";
import type { ParseFailure } from "../protocol/jsonrpc/parse.js";
import { NO_BATCHES, Peer, type PeerEvents } from "../protocol/jsonrpc/peer.js";
import { quoted } from "../protocol/text.js";
import {
  type ClientTransport,
  type CloseOptions,
  NO_RECEIVER,
  type TransportReceiver,
  type TransportRequest,
} from "./transport.js";

/** Maximum number of characters of a text that is no message, as quoted in the error. */
const MAX_QUOTED = 200;

/** A client's calls over a channel. It outlives the negotiation: whoever opens the connection sets the receiver. */
export class ChannelTransport implements ClientTransport {
  readonly kind = "channel";
  receiver: TransportReceiver = NO_RECEIVER;
  readonly #peer: Peer;

  /** Ids count from the given one on, so that a connection made again does not repeat those of its predecessor. */
  constructor(channel: Channel, firstId = 0) {
    const events: PeerEvents = {
      onRequest: (request) => this.receiver.onRequest(request),
      onNotification: (notification) => this.receiver.onNotification(notification),
      onInvalid: (failure, text) => this.#onInvalid(failure, text),
      batchProblem: (items) =>
        this.receiver.batchProblem === undefined ? NO_BATCHES : this.receiver.batchProblem(items),
      onProblem: (problem) => this.receiver.onProblem(problem),
      onClose: (reason) => this.receiver.onClose(reason),
    };
    this.#peer = new Peer(channel, events, firstId);
  }

  open(): void | Promise<void> {
    return this.#peer.open();
  }

  get nextId(): number {
    return this.#peer.nextId;
  }

  get pending(): number {
    return this.#peer.pending;
  }

  get closed(): boolean {
    return this.#peer.closed;
  }

  /** Throws when the channel has ended. */
  assertOpen(): void {
    this.#peer.assertOpen();
  }

  request(request: TransportRequest, lifetime: CallLifetime): Promise<RpcResponse> {
    return this.exchange(request, lifetime, unchangedResponse);
  }

  exchange<T>(request: TransportRequest, lifetime: CallLifetime, read: ReadResponse<T>): Promise<T> {
    const { onProgress, onId } = request;
    if (onProgress === undefined && onId === undefined)
      return sendChannelRequest(this.#peer, request, lifetime, request, read);
    const params = (used: RequestId): Params => {
      onId?.(used);
      return onProgress === undefined ? (request.params as Params) : withProgressToken(request.params, used);
    };
    return sendChannelRequest(this.#peer, { ...request, params }, lifetime, request, read);
  }

  notify(method: string, params: Params | undefined, mustArrive?: boolean): void | Promise<void> {
    if (method === "notifications/cancelled" && this.#peer.cancel(params?.requestId, cancelledByHand(params))) return;
    return this.#peer.notify(method, params, mustArrive);
  }

  respond(id: RequestId, result: JsonText): void | Promise<void> {
    return this.#peer.respond(id, result);
  }

  respondError(id: RequestId, error: RpcErrorObject): void | Promise<void> {
    return this.#peer.respondError(id, error);
  }

  close(options?: CloseOptions): Promise<void> {
    return this.#peer.close(options?.reason);
  }

  /** Noise on the line stays unanswered; requests in an array that is refused do not. */
  #onInvalid({ code, message, answer, batch }: ParseFailure, text: string | undefined): void {
    const isNoise = text !== undefined && !answer;
    const received = isNoise ? `: ${quoted(text, MAX_QUOTED)}; a stdio server must log to stderr` : "";
    this.receiver.onProblem(new ProtocolError(`${message}${received}`));
    if (batch === true && !answer) this.#peer.respondError(undefined, { code, message });
  }
}
