import { cancelledByHand, type ReadResponse, sendChannelRequest, unchangedResponse } from "../call/channel-request.js";
import type { CallLifetime } from "../call/lifetime.js";
import { withProgressToken } from "../call/progress.js";
import { ProtocolError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import { NO_BATCHES } from "../protocol/jsonrpc/errors.js";
import type { JsonText } from "../protocol/jsonrpc/format.js";
import type { Params, RequestId, RpcErrorObject, RpcResponse } from "../protocol/jsonrpc/message.js";
import type { ParseFailure } from "../protocol/jsonrpc/parse.js";
import { Peer, type PeerEvents } from "../protocol/jsonrpc/peer.js";
import { quoted } from "../protocol/text.js";
import {
  type ClientTransport,
  type CloseOptions,
  NO_RECEIVER,
  type TransportReceiver,
  type TransportRequest,
} from "./transport.js";

/** Maximum number of characters that an error quotes of a text that is not a message. */
const MAX_QUOTED = 200;
/** Maximum number of such texts that are kept. */
const MAX_NOISE = 3;

/** Client transport over a channel. It is created before negotiation. The connection that results sets `receiver`. */
export class ChannelTransport implements ClientTransport {
  readonly kind = "channel";
  receiver: TransportReceiver = NO_RECEIVER;
  /** First texts that were no messages, quoted. */
  readonly noise: string[] = [];
  readonly #peer: Peer;

  /** Ids start at `firstId`, so that a new connection does not repeat the ids of the previous one. */
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

  /** Throws if the channel is closed. */
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

  /**
   * Reports an invalid frame. Text that is not a message gets no response. A refused batch of requests gets an error
   * response.
   */
  #onInvalid({ code, message, answer, batch }: ParseFailure, text: string | undefined): void {
    const isNoise = text !== undefined && !answer;
    const shown = isNoise ? quoted(text, MAX_QUOTED) : "";
    if (isNoise && this.noise.length < MAX_NOISE) this.noise.push(shown);
    const received = isNoise ? `: ${shown}; a stdio server must log to stderr` : "";
    this.receiver.onProblem(new ProtocolError(`${message}${received}`));
    if (batch === true && !answer) this.#peer.respondError(undefined, { code, message });
  }
}
