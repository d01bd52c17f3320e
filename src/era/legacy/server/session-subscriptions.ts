// Modern has no twin of this name: there `listen.ts` has one subscription for each request.

import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { Change } from "../../../store/change-bus.js";
import { ChangeOutbox } from "../../change-outbox.js";
import { assertMayOpen, countOpen, ownerOf, release, retain } from "../../open-subscriptions.js";
import type { Call, CallOrigin, ServerRuntime } from "../../server-era.js";
import { keepOrigin } from "./kept-client.js";

/** The session whose client watches. */
export interface SubscribingSession {
  notify(method: string, params: Params | undefined): void | Promise<void>;
  /** Makes a call that stands for the one which asked. */
  callOf(method: string, params: Params, origin: CallOrigin): Call;
}

/** The resources that the client of a session watches, and the changes that are on their way to it. */
export class SessionSubscriptions {
  readonly #runtime: ServerRuntime;
  readonly #session: SubscribingSession;
  /** By URI, the sender of the request that asked last. */
  readonly #watched = new Map<string, CallOrigin>();
  readonly #outbox: ChangeOutbox;

  constructor(runtime: ServerRuntime, session: SubscribingSession) {
    this.#runtime = runtime;
    this.#session = session;
    // No more changes wait than the client watches, so there is no overflow.
    const most = Number.POSITIVE_INFINITY;
    this.#outbox = new ChangeOutbox(
      (...told) => this.#tell(...told),
      runtime.clock,
      most,
      () => {},
    );
  }

  /** Watches a resource. The client hears of it as the sender of the request that asked last. */
  add(uri: string, origin: CallOrigin): void {
    const before = this.#watched.get(uri);
    const owner = ownerOf(origin, this);
    if (before === undefined) assertMayOpen(this.#runtime, owner, 1, [uri]);
    else countOpen(this.#runtime, ownerOf(before, this), -1);
    countOpen(this.#runtime, owner, 1);
    this.#watched.set(uri, keepOrigin(origin));
    if (before === undefined) retain(this.#runtime, uri);
  }

  remove(uri: string): void {
    const origin = this.#watched.get(uri);
    if (origin === undefined) return;
    this.#watched.delete(uri);
    countOpen(this.#runtime, ownerOf(origin, this), -1);
    release(this.#runtime, uri);
  }

  /** Tells of a change, of a resource if it is watched by a client that may see it. */
  send(change: Change): void {
    if (change.kind !== "resource") return this.#outbox.add(change);
    const { uri } = change;
    const origin = this.#watched.get(uri);
    if (origin === undefined) return;
    const call = this.#session.callOf("resources/subscribe", { uri }, origin);
    this.#runtime.ifSeen(call, uri, () => this.#outbox.add(change));
  }

  close(): void {
    for (const uri of [...this.#watched.keys()]) this.remove(uri);
    this.#outbox.close();
  }

  /** A resource may not be watched any more when its change has its turn. */
  #tell(method: string, { uri }: Params): void | Promise<void> {
    if (uri === undefined) return this.#session.notify(method, undefined);
    if (this.#watched.has(uri as string)) return this.#session.notify(method, { uri });
  }
}
