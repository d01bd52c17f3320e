import type { CallLifetime } from "../call/lifetime.js";
import { notConnected } from "../protocol/errors.js";
import { InflightTable } from "../protocol/jsonrpc/inflight-table.js";
import type { RequestId, RpcResponse } from "../protocol/jsonrpc/message.js";
import { closedBeforeAnswer, type GiveUp, HttpCall, HttpWire } from "./http-wire.js";
import type { HttpTarget, LinkReceiver, LinkRequest } from "./link.js";

/** What the links over HTTP have in common: calls under way, each by a POST of its own, until the link is closed. */
export abstract class HttpLink {
  readonly kind = "http";
  protected readonly target: HttpTarget;
  protected readonly wire: HttpWire;
  protected readonly inflight: InflightTable<HttpCall>;
  protected closed = false;

  protected constructor(target: HttpTarget, firstId?: number) {
    this.target = target;
    this.wire = new HttpWire(target);
    this.inflight = new InflightTable(firstId);
  }

  get receiver(): LinkReceiver {
    return this.wire.receiver;
  }

  set receiver(receiver: LinkReceiver) {
    this.wire.receiver = receiver;
  }

  /** How many calls await their answer. */
  get pending(): number {
    return this.inflight.size;
  }

  /** How many connections are in use. */
  get open(): number {
    return this.wire.open;
  }

  async request(request: LinkRequest, lifetime: CallLifetime): Promise<RpcResponse> {
    lifetime.throwIfAborted();
    if (this.closed) throw notConnected();
    return this.start(request, lifetime);
  }

  protected abstract start(request: LinkRequest, lifetime: CallLifetime): Promise<RpcResponse>;

  /** Files a call. `prepare` may still refuse it; what it returns puts the call on the wire, and never rejects. */
  protected place(
    request: LinkRequest,
    wanted: RequestId | undefined,
    lifetime: CallLifetime,
    giveUp: GiveUp,
    prepare: (call: HttpCall) => () => Promise<void>,
  ): Promise<RpcResponse> {
    const id = this.inflight.reserve(wanted);
    const call = new HttpCall(id, request, lifetime, (over) => this.inflight.remove(over), giveUp);
    request.onId?.(id);
    lifetime.throwIfAborted();
    const run = prepare(call);
    this.inflight.add(call);
    call.follow();
    void this.wire.hold(call.abortSwitch, run());
    return call.answered;
  }

  /** Ends every call and everything on the wire. */
  protected end(): void {
    this.closed = true;
    for (const call of this.inflight.drain()) call.fail(closedBeforeAnswer(call));
    this.wire.abortAll();
  }
}
