// The modern era has no such file: a modern exchange carries one call and needs no table.

import { cancelledBy } from "../../../call/abort-switch.js";
import type { DeadlineQueue } from "../../../call/deadline-queue.js";
import type { HttpExchange } from "../../../http/exchange.js";
import { ConnectionError } from "../../../protocol/errors.js";
import { PROCESS_GONE, Refusal } from "../../../protocol/jsonrpc/errors.js";
import { formatFailure, formatResult } from "../../../protocol/jsonrpc/format.js";
import { findByEither, idKey } from "../../../protocol/jsonrpc/inflight-table.js";
import type { Params, RequestId, RpcRequest } from "../../../protocol/jsonrpc/message.js";
import { isRequestId } from "../../../protocol/jsonrpc/parse.js";
import { SmallMap } from "../../../protocol/jsonrpc/small-map.js";
import { type HttpRefusal, refuse, refuseFailed } from "../../refuse.js";
import type { Call, CallOrigin, Outcome, ServerEra, ServerRuntime } from "../../server-era.js";
import { type EarlyCancel, EarlyCancels, MAX_KEPT_ID_CHARS } from "./early-cancels.js";
import { invalidRequest, shuttingDown, toUnbegun } from "./refusals.js";
import type { PostReply, ReplyKind } from "./reply.js";
import type { LegacySession } from "./session.js";
import type { SessionStream } from "./stream.js";

/** Maximum number of ended calls that are remembered. The oldest are dropped first. */
const MAX_ENDED = 64;

/** Session to which the calls belong. */
export interface CallOwner {
  readonly era: ServerEra;
  readonly runtime: ServerRuntime;
  readonly protocol: LegacySession;
  createReply(exchange: HttpExchange, kind: ReplyKind, ids: readonly RequestId[], batch: boolean): PostReply;
  originOf(exchange: HttpExchange): CallOrigin;
  /** Waits for the work. If the session ends first, the exchange is answered. */
  hold<T>(exchange: HttpExchange, id: RequestId | undefined, work: Promise<T>): Promise<T>;
  /** Called when a call is over. */
  onCallOver(): void;
}

interface Running {
  readonly call: Call;
  readonly reply: PostReply;
}

/** Exchange and reply that report a failure before the calls run. */
interface Start {
  readonly exchange: HttpExchange;
  readonly reply: PostReply;
  readonly id: RequestId | undefined;
}

/** Running calls of a session with their replies. The id, including its type, identifies a call. */
export class PostCalls {
  readonly #owner: CallOwner;
  readonly #running = new SmallMap<RequestId, Running>();
  readonly #ended = new EndedCalls();
  readonly #early: EarlyCancels;

  constructor(owner: CallOwner, cancels: DeadlineQueue<EarlyCancel>) {
    this.#owner = owner;
    this.#early = new EarlyCancels(cancels);
  }

  get size(): number {
    return this.#running.size;
  }

  /** Returns the reply of a call, or undefined if the call is over. */
  replyOf(call: Call): PostReply | undefined {
    const entry = this.#running.get(call.id);
    return entry?.call === call ? entry.reply : undefined;
  }

  /** Serves a POST with one request. */
  serve(exchange: HttpExchange, request: RpcRequest, kind: ReplyKind): void {
    const call = this.#decode(exchange, request, this.#owner.originOf(exchange));
    if (call === undefined) return;
    const reply = this.#owner.createReply(exchange, kind, [call.id], false);
    const entry = { call, reply };
    this.#running.add(call.id, entry);
    this.#start([entry], { exchange, reply, id: request.id });
  }

  /** Serves a POST with a batch. `onStarted` is called when the requests run. */
  serveBatch(exchange: HttpExchange, requests: readonly RpcRequest[], kind: ReplyKind, onStarted: () => void): void {
    const origin = this.#owner.originOf(exchange);
    const calls: Call[] = [];
    const ids = new Set<RequestId>();
    for (const request of requests) {
      if (ids.has(request.id)) return this.#refuseReused(exchange, request.id);
      ids.add(request.id);
      const call = this.#decode(exchange, request, origin);
      if (call === undefined) return;
      calls.push(call);
    }
    const reply = this.#owner.createReply(exchange, kind, [...ids], true);
    const entries = calls.map((call) => ({ call, reply }));
    for (const entry of entries) this.#running.set(entry.call.id, entry);
    this.#start(entries, { exchange, reply, id: undefined }, onStarted);
  }

  /**
   * Cancels a call. Drops the reply first, so that nothing that the handler sends on abort is written. Without a
   * running call, keeps the cancellation, since its request may arrive later, and returns false. One that arrives after
   * the end of its call is not kept, since the id may be used again.
   */
  cancel(params: Params | undefined): boolean {
    const id = params?.requestId;
    if (!isRequestId(id)) return true;
    const entry = findByEither(this.#running, id);
    if (entry === undefined) {
      if (!this.#ended.has(id)) this.#early.keep(id);
      return false;
    }
    if (!this.#owner.protocol.cancellable(entry.call)) return true;
    this.#release(entry);
    this.#ended.add(entry.call.id);
    entry.reply.drop();
    const reason = cancelledBy(params);
    entry.call.end.abort(reason);
    this.#owner.runtime.debug("call cancelled", {
      method: entry.call.method,
      id: entry.call.id,
      reason: reason.message,
    });
    this.#owner.onCallOver();
    return true;
  }

  /** Ends the calls of a stream that was lost. Their errors reach a client that resumes the stream elsewhere. */
  abandon(stream: SessionStream, reason: unknown): void {
    const error = { code: PROCESS_GONE, message: "The server lost the stream of this request" };
    for (const entry of this.#running.values()) {
      if (entry.reply.stream !== stream || !this.#release(entry)) continue;
      entry.reply.fail(formatFailure(entry.call.id, error));
      entry.call.end.abort(reason);
    }
    this.#owner.onCallOver();
  }

  endAll(why: HttpRefusal, toReason: () => Error): void {
    const running = this.#running.values();
    this.#running.clear();
    this.#early.clear();
    for (const { call, reply } of running) reply.fail(formatFailure(call.id, why.error));
    for (const { call } of running) call.end.abort(toReason());
  }

  /** Decodes a request. Answers the exchange and returns undefined if the request is refused. */
  #decode(exchange: HttpExchange, request: RpcRequest, origin: CallOrigin): Call | undefined {
    const { runtime, era, protocol } = this.#owner;
    if (this.#running.has(request.id)) return this.#refuseReused(exchange, request.id);
    const call = protocol.decode(request, origin);
    if (!(call instanceof Refusal)) return call;
    return refuse(exchange, runtime, { status: 400, error: era.encodeError(call, undefined) }, request.id);
  }

  #refuseReused(exchange: HttpExchange, id: RequestId): undefined {
    refuse(
      exchange,
      this.#owner.runtime,
      invalidRequest("another request of this session or batch has the same id"),
      id,
    );
  }

  /** Runs calls when their reply is ready to be written to. */
  #start(entries: readonly Running[], start: Start, onStarted?: () => void): void {
    try {
      const opening = start.reply.open();
      if (opening === undefined) return this.#runAll(entries, onStarted);
      this.#owner
        .hold(start.exchange, start.id, opening)
        .then(() => this.#runAll(entries, onStarted))
        .catch((error) => this.#failStart(entries, start, error));
    } catch (error) {
      this.#failStart(entries, start, error);
    }
  }

  #failStart(entries: readonly Running[], { exchange, reply, id }: Start, error: unknown): void {
    for (const entry of entries) if (this.#release(entry)) entry.call.end.abort(error);
    reply.stream?.end();
    const refusal = toUnbegun(error);
    if (refusal === undefined || exchange.answered) refuseFailed(exchange, this.#owner.runtime, error, id);
    else refuse(exchange, this.#owner.runtime, refusal, id);
    this.#owner.onCallOver();
  }

  #runAll(entries: readonly Running[], onStarted: (() => void) | undefined): void {
    if (this.#early.kept.size > 0) this.#cancelEarly(entries);
    for (const entry of entries) this.#run(entry);
    onStarted?.();
  }

  /** Cancels the calls whose cancellations came before them. */
  #cancelEarly(entries: readonly Running[]): void {
    for (const { call } of entries) if (this.#early.take(call.id)) this.cancel({ requestId: call.id });
  }

  #run(entry: Running): void {
    if (!this.#isCurrent(entry)) return;
    const outcome = this.#owner.runtime.run(entry.call);
    if (!(outcome instanceof Promise)) return this.#settle(entry, outcome);
    if (this.#isCurrent(entry)) entry.reply.wait();
    outcome.then((outcome) => this.#settle(entry, outcome));
  }

  /** Writes the outcome of a call. The outcome is discarded if the call was cancelled or its session ended. */
  #settle(entry: Running, outcome: Outcome): void {
    if (!this.#release(entry)) return;
    const { call, reply } = entry;
    this.#ended.add(call.id);
    if (outcome.kind === "dropped") reply.fail(formatFailure(call.id, shuttingDown.error));
    else if (!reply.answer(toFrame(call, outcome), "busy" in outcome ? outcome.busy : undefined))
      this.#reportLost(call);
    call.afterAnswer?.();
    this.#owner.onCallOver();
  }

  #reportLost(call: Call): void {
    const lost = new ConnectionError(`The client closed its connection before the response to ${call.method}`, {
      delivery: "answer_lost",
    });
    this.#owner.runtime.report(lost, { where: "http", method: call.method, id: call.id }, "warn");
  }

  #isCurrent(entry: Running): boolean {
    return this.#running.get(entry.call.id) === entry;
  }

  #release(entry: Running): boolean {
    return this.#isCurrent(entry) && this.#running.delete(entry.call.id);
  }
}

/**
 * Ids of calls that ended last, so that a late cancellation is told from an early one. Every call is added but few are
 * cancelled, so they are in a ring that only a cancellation searches.
 */
export class EndedCalls {
  readonly #ids: RequestId[] = [];
  #next = 0;

  add(id: RequestId): void {
    if (typeof id === "string" && id.length > MAX_KEPT_ID_CHARS) return;
    this.#ids[this.#next] = id;
    this.#next = (this.#next + 1) % MAX_ENDED;
  }

  /** True if a call with this id, in either spelling, has just ended. */
  has(id: RequestId): boolean {
    const key = idKey(id);
    return this.#ids.some((ended) => idKey(ended) === key);
  }
}

export function toFrame(call: Call, outcome: Exclude<Outcome, { kind: "dropped" }>): string {
  return outcome.kind === "result" ? formatResult(call.id, outcome.result) : formatFailure(call.id, outcome.error);
}
