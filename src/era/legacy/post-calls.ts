import { cancelledBy } from "../../call/cancelled.js";
import type { HttpExchange } from "../../http/exchange.js";
import { formatFailure, formatResult } from "../../jsonrpc/format.js";
import type { Params, RequestId, RpcRequest } from "../../jsonrpc/message.js";
import { isRequestId } from "../../jsonrpc/parse.js";
import { findByEither } from "../../jsonrpc/request-id.js";
import { ConnectionError, RpcError } from "../../schema/errors.js";
import type { Call, CallOrigin, Outcome, ServerEra, ServerHost } from "../era.js";
import { EarlyCancels } from "./early-cancels.js";
import type { PostReply, ReplyKind } from "./post-reply.js";
import { type HttpRefusal, invalidRequest, refuse, refuseFailed, shuttingDown } from "./refuse.js";
import type { LegacySession } from "./session.js";

/** The session whose calls they are. */
export interface CallOwner {
  readonly era: ServerEra;
  readonly host: ServerHost;
  readonly protocol: LegacySession;
  createReply(exchange: HttpExchange, kind: ReplyKind, pending: number, batch: boolean): PostReply;
  originOf(exchange: HttpExchange): CallOrigin;
  /** Answers the exchange if the session ends while it waits for this. */
  hold<T>(exchange: HttpExchange, id: RequestId | undefined, work: Promise<T>): Promise<T>;
  /** A call is over. */
  onCallOver(): void;
}

interface Running {
  readonly call: Call;
  readonly reply: PostReply;
}

/** The calls of a session that are running, each with the reply that it belongs to. An id with its type names one call. */
export class PostCalls {
  readonly #owner: CallOwner;
  readonly #running = new Map<RequestId, Running>();
  readonly #early: EarlyCancels;

  constructor(owner: CallOwner) {
    this.#owner = owner;
    this.#early = new EarlyCancels(owner.host.clock);
  }

  get size(): number {
    return this.#running.size;
  }

  /** Where what belongs to a call goes; undefined once the call is over. */
  replyOf(call: Call): PostReply | undefined {
    const entry = this.#running.get(call.id);
    return entry?.call === call ? entry.reply : undefined;
  }

  /** Serves the requests of one POST. `onStarted` is called when they run. */
  serve(
    exchange: HttpExchange,
    requests: readonly RpcRequest[],
    kind: ReplyKind,
    batch: boolean,
    onStarted?: () => void,
  ): void {
    const entries = this.#register(exchange, requests, kind, batch);
    if (entries === undefined) return;
    const { reply } = entries[0] as Running;
    const start = () => {
      for (const { call } of entries) if (this.#early.take(call.id)) this.cancel({ requestId: call.id });
      for (const entry of entries) this.#run(entry);
      onStarted?.();
    };
    const fail = (error: unknown) => {
      for (const entry of entries) if (this.#release(entry)) entry.call.end.abort(error);
      reply.stream?.end();
      refuseFailed(exchange, this.#owner.host, error, batch ? undefined : requests[0]?.id);
      this.#owner.onCallOver();
    };
    try {
      const opening = reply.open();
      if (opening === undefined) start();
      else
        this.#owner
          .hold(exchange, batch ? undefined : requests[0]?.id, opening)
          .then(start)
          .catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  /** The reply ends first, so that nothing which a handler says when its signal fires is written. */
  cancel(params: Params | undefined): void {
    const id = params?.requestId;
    if (!isRequestId(id)) return;
    const entry = findByEither(this.#running, id);
    if (entry === undefined) return this.#early.keep(id);
    if (!this.#owner.protocol.cancellable(entry.call)) return;
    this.#release(entry);
    this.#early.onOver(entry.call.id);
    entry.reply.drop();
    const reason = cancelledBy(params);
    entry.call.end.abort(reason);
    this.#owner.host.debug("call cancelled", {
      method: entry.call.method,
      id: entry.call.id,
      reason: reason.message,
    });
    this.#owner.onCallOver();
  }

  endAll(why: HttpRefusal, reason: Error): void {
    const running = [...this.#running.values()];
    this.#running.clear();
    for (const { call, reply } of running) reply.fail(why.status, formatFailure(call.id, why.error));
    for (const { call } of running) call.end.abort(reason);
  }

  /** Turns requests into calls that are known by their id from here on; answers the exchange if that is impossible. */
  #register(
    exchange: HttpExchange,
    requests: readonly RpcRequest[],
    kind: ReplyKind,
    batch: boolean,
  ): Running[] | undefined {
    const { host, era, protocol } = this.#owner;
    const origin = this.#owner.originOf(exchange);
    const calls: Call[] = [];
    for (const request of requests) {
      if (this.#running.has(request.id) || calls.some((call) => call.id === request.id)) {
        return refuse(exchange, host, invalidRequest("a request with this id is still running"), request.id);
      }
      try {
        calls.push(protocol.decode(request, origin));
      } catch (error) {
        if (!(error instanceof RpcError)) return refuseFailed(exchange, host, error, request.id);
        return refuse(exchange, host, { status: 400, error: era.encodeError(error, undefined) }, request.id);
      }
    }
    const reply = this.#owner.createReply(exchange, kind, calls.length, batch);
    return calls.map((call) => {
      const entry = { call, reply };
      this.#running.set(call.id, entry);
      return entry;
    });
  }

  #run(entry: Running): void {
    if (!this.#isCurrent(entry)) return;
    this.#owner.host.run(entry.call).then((outcome) => this.#settle(entry, outcome));
  }

  /** A call that was cancelled, or whose session ended, is not here any more: what came of it is dropped. */
  #settle(entry: Running, outcome: Outcome): void {
    if (!this.#release(entry)) return;
    const { call, reply } = entry;
    this.#early.onOver(call.id);
    if (outcome.kind === "dropped") reply.fail(shuttingDown.status, formatFailure(call.id, shuttingDown.error));
    else if (!reply.answer(toFrame(call, outcome))) this.#reportLost(call);
    call.afterAnswer?.();
    this.#owner.onCallOver();
  }

  #reportLost(call: Call): void {
    const lost = new ConnectionError(`The client dropped its connection before ${call.method} was answered`, {
      delivery: "answer_lost",
    });
    this.#owner.host.report(lost, { where: "http", method: call.method, id: call.id });
  }

  #isCurrent(entry: Running): boolean {
    return this.#running.get(entry.call.id) === entry;
  }

  #release(entry: Running): boolean {
    return this.#isCurrent(entry) && this.#running.delete(entry.call.id);
  }
}

export function toFrame(call: Call, outcome: Exclude<Outcome, { kind: "dropped" }>): string {
  return outcome.kind === "result" ? formatResult(call.id, outcome.result) : formatFailure(call.id, outcome.error);
}
