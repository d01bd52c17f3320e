// The modern era has no such file: only a legacy server sends requests, and messages outside calls.

import { ProtocolError } from "../../../protocol/errors.js";
import type { InflightTable } from "../../../protocol/jsonrpc/inflight-table.js";
import type { Params, RpcNotification, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import { classify, type Parsed, type ParseFailure } from "../../../protocol/jsonrpc/parse.js";
import { quoted } from "../../../protocol/text.js";
import type { HttpCall } from "../../http-call.js";
import { drop, type HttpWire } from "../../http-transport.js";

/** Dispatches the messages on the streams of a session to their calls and to the receiver of the transport. */
export class Incoming {
  readonly #wire: HttpWire;
  readonly #inflight: InflightTable<HttpCall>;

  constructor(wire: HttpWire, inflight: InflightTable<HttpCall>) {
    this.#wire = wire;
    this.#inflight = inflight;
  }

  /** `call` is the call on whose stream the message arrived. It is undefined on the GET stream. */
  take(parsed: Parsed, call?: HttpCall): void {
    switch (parsed.kind) {
      case "request":
        this.#wire.guard(() => this.#wire.receiver.onRequest(parsed.message, call?.lifetime));
        break;
      case "notification":
        this.#takeNotification(parsed.message, call);
        break;
      case "response":
        this.#takeResponse(parsed.message, call);
        break;
      case "batch":
        for (const item of parsed.items) this.take(classify(item), call);
        break;
      case "invalid":
        this.#takeInvalid(parsed.failure, call);
    }
  }

  #takeNotification(notification: RpcNotification, call: HttpCall | undefined): void {
    const { method, params } = notification;
    const token = method === "notifications/progress" ? params?.progressToken : undefined;
    const wanting = token === undefined ? undefined : this.#findByToken(token, call);
    if (wanting === undefined) this.#wire.guard(() => this.#wire.receiver.onNotification(notification, call?.id));
    else this.#wire.guard(() => wanting.progress(params as Params));
  }

  #findByToken(token: unknown, first: HttpCall | undefined): HttpCall | undefined {
    if (first?.wants(token) === true) return first;
    for (const call of this.#inflight.values()) if (call.wants(token)) return call;
    return undefined;
  }

  /**
   * Dispatches a response. The stream of a call answers only that call. Some servers respond on the GET stream after
   * they lost the stream of the call. A late response to a call that is over is ignored.
   */
  #takeResponse(response: RpcResponse, call: HttpCall | undefined): void {
    if (call?.owns(response) === true) {
      call.answer(response);
      return;
    }
    const { id } = response;
    const other = id === undefined || id === null ? undefined : this.#inflight.find(id);
    if (call === undefined && other !== undefined) {
      other.answer(response);
      drop(other.abortSwitch);
      return;
    }
    const isLate = other === undefined && id !== undefined && id !== null && this.#inflight.hasMinted(id);
    if (isLate) return;
    const problem = `No request on the stream of a response has its id: ${quoted(String(id))}`;
    this.#wire.report(new ProtocolError(problem));
  }

  #takeInvalid({ message, answer, id }: ParseFailure, call: HttpCall | undefined): void {
    const problem = new ProtocolError(`The server sent a malformed message: ${message}`);
    if (call !== undefined && answer && id === call.id) call.fail(problem);
    else this.#wire.report(problem);
  }
}
