// The modern era has no file of this name: `listen.ts` serves one subscription per request there.

import { INVALID_PARAMS } from "../../../protocol/jsonrpc/errors.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { Change } from "../../../store/change-bus.js";
import { ChangeOutbox } from "../../change-outbox.js";
import {
  assertMayOpen,
  assertWithin,
  countOpen,
  ownerOf,
  release,
  retain,
  type SubscriptionOwner,
} from "../../open-subscriptions.js";
import type { Call, CallOrigin, ServerRuntime } from "../../server-era.js";
import { keepOrigin } from "./kept-client.js";

/** Session whose client subscribes. */
export interface SubscribingSession {
  notify(method: string, params: Params | undefined): void | Promise<void>;
  /** Creates a call that represents the request of the subscription. */
  callOf(method: string, params: Params, origin: CallOrigin): Call;
}

interface Watched {
  /** Caller for which the subscription is counted. */
  readonly owner: SubscriptionOwner;
  /** Origin of the last subscribe request. Undefined if another process served that request. */
  readonly origin: CallOrigin | undefined;
}

/** Resources that the client of a session watches, and the changes that wait for it. */
export class SessionSubscriptions {
  readonly #runtime: ServerRuntime;
  readonly #session: SubscribingSession;
  readonly #watched = new Map<string, Watched>();
  /** Number of characters of all URIs. */
  #chars = 0;
  readonly #outbox: ChangeOutbox;
  /** Origin of the request that listens in this process. Access to resources that have no other origin is checked with it. */
  listener: CallOrigin = {};

  constructor(runtime: ServerRuntime, session: SubscribingSession) {
    this.#runtime = runtime;
    this.#session = session;
    // At most one change per list and per watched resource waits, so there is no overflow.
    const most = Number.POSITIVE_INFINITY;
    this.#outbox = new ChangeOutbox(
      (...told) => this.#tell(...told),
      runtime.clock,
      most,
      () => {},
    );
  }

  get uris(): readonly string[] {
    return [...this.#watched.keys()];
  }

  /** Takes the subscriptions that are stored, which other processes have checked. */
  restore(uris: ReadonlySet<string>): void {
    for (const uri of this.uris) if (!uris.has(uri)) this.remove(uri);
    for (const uri of uris) this.change(uri, true);
  }

  /** Takes a change that another process has checked. */
  change(uri: string, isWatched: boolean): void {
    if (!isWatched) return this.remove(uri);
    if (this.#watched.has(uri)) return;
    const owner = this.#ownerOf(this.listener);
    countOpen(this.#runtime, owner, 1);
    this.#set(uri, { owner, origin: undefined });
    retain(this.#runtime, uri);
  }

  /** Subscribes to a resource. Access is checked with the origin of the last request. */
  add(uri: string, origin: CallOrigin): void {
    const before = this.#watched.get(uri);
    const owner = this.#ownerOf(origin);
    if (before === undefined) {
      assertMayOpen(this.#runtime, owner, 1, [uri]);
      const chars = this.#chars + uri.length;
      assertWithin(this.#runtime.limits, "maxSubscribedChars", chars, INVALID_PARAMS, "characters in subscribed URIs");
    } else countOpen(this.#runtime, before.owner, -1);
    countOpen(this.#runtime, owner, 1);
    this.#set(uri, { owner, origin: keepOrigin(origin) });
    if (before === undefined) retain(this.#runtime, uri);
  }

  remove(uri: string): void {
    const watched = this.#watched.get(uri);
    if (watched === undefined) return;
    countOpen(this.#runtime, watched.owner, -1);
    this.#watched.delete(uri);
    this.#chars -= uri.length;
    release(this.#runtime, uri);
  }

  /** Sends a change. A change of a resource is sent if the client watches it and may see it. */
  send(change: Change): void {
    if (change.kind !== "resource") return this.#outbox.add(change);
    const { uri } = change;
    const watched = this.#watched.get(uri);
    if (watched === undefined) return;
    const call = this.#session.callOf("resources/subscribe", { uri }, watched.origin ?? this.listener);
    this.#runtime.ifSeen(call, uri, () => this.#outbox.add(change));
  }

  #set(uri: string, watched: Watched): void {
    if (!this.#watched.has(uri)) this.#chars += uri.length;
    this.#watched.set(uri, watched);
  }

  #ownerOf(origin: CallOrigin): SubscriptionOwner {
    return ownerOf(this.#runtime, origin, this, origin.sessionId !== undefined);
  }

  close(): void {
    for (const uri of [...this.#watched.keys()]) this.remove(uri);
    this.#outbox.close();
  }

  /** Writes a change. Its resource may have been unsubscribed while the change waited. */
  #tell(method: string, { uri }: Params): void | Promise<void> {
    if (uri === undefined) return this.#session.notify(method, undefined);
    if (this.#watched.has(uri as string)) return this.#session.notify(method, { uri });
  }
}
