import type { Cluster } from "../../../../cluster/cluster.js";
import { ClusterError } from "../../../../cluster/error.js";
import type { HttpExchange } from "../../../../http/exchange.js";
import { PROCESS_GONE } from "../../../../protocol/jsonrpc/errors.js";
import { formatFailure } from "../../../../protocol/jsonrpc/format.js";
import type { RequestId, RpcNotification, RpcResponse } from "../../../../protocol/jsonrpc/message.js";
import {
  type FollowingSession,
  type SessionChange,
  type SessionPlace,
  type SessionSharing,
  type SharedSession,
  STANDALONE,
  type StreamPlace,
  type Takeover,
} from "../shared-sessions.js";
import { replyOver } from "../stream.js";
import { Control, type ControlMessage } from "./control.js";
import { EarlyMessages } from "./early-messages.js";
import { followStream } from "./follow.js";
import { Holders } from "./holders.js";
import { Nodes } from "./nodes.js";
import { Questions } from "./questions.js";
import { RecentChanges } from "./recent-changes.js";
import { RecentFrames } from "./recent-frames.js";
import { SessionLog } from "./session-log.js";
import { ClusterSessions } from "./sessions.js";
import { Sweeper } from "./sweeper.js";

/** Connects the sessions of an endpoint with the other processes of a cluster. */
export function shareSessions<Session extends SharedSession>(cluster: Cluster, place: SessionPlace<Session>) {
  const shared = new ClusterSharing(cluster, place);
  return { sessions: shared.sessions, shared };
}

/** Milliseconds after which clients connect to another process when this one shuts down. */
const HAND_OVER_MS = 100;
/** Maximum number of sessions that a message to all clients names. */
const MAX_NAMED = 1_000;

class ClusterSharing<Session extends SharedSession> implements SessionSharing {
  readonly log: SessionLog | undefined;
  readonly sessions: ClusterSessions<Session>;
  readonly #cluster: Cluster;
  readonly #place: SessionPlace<Session>;
  readonly #control: Control;
  readonly #questions: Questions;
  readonly #holders: Holders;
  readonly #nodes: Nodes;
  readonly #sweeper: Sweeper;
  readonly #early: EarlyMessages;
  readonly #recent: RecentChanges;
  readonly #frames: RecentFrames;
  /** Sessions whose standalone streams this process took over, by the process that wrote them before. */
  readonly #takenFrom = new Map<string, Set<string>>();
  readonly #stop: readonly (() => void)[];

  constructor(cluster: Cluster, place: SessionPlace<Session>) {
    const { runtime, resumable } = place;
    const { clock, limits } = runtime;
    const report = (error: unknown) => runtime.report(error, { where: "cluster" });
    this.#cluster = cluster;
    this.#place = place;
    this.#holders = new Holders(cluster, clock);
    const holds = (session: string) => this.#holders.isOwn(session);
    const enlist = () => this.#nodes.enlist();
    this.log = resumable ? new SessionLog({ cluster, clock, limits, enlist, holds, report }) : undefined;
    this.#control = new Control(cluster, clock, (message, from) => this.#receive(message, from), report);
    this.#questions = new Questions(cluster, this.#control, clock, enlist, report);
    this.#early = new EarlyMessages(clock);
    this.#frames = new RecentFrames(clock);
    this.#recent = new RecentChanges(clock, 2 * limits.sessionCacheMs);
    this.sessions = new ClusterSessions({
      cluster,
      place,
      report,
      onOpened: (session) => this.#onOpened(session),
      onKept: (session) => this.#onKept(session),
      onChanged: (session, change) => this.#control.publish({ kind: "changed", session, change }),
      onWatched: (session, uris) => this.#onWatched(session, uris),
      onWatchChanged: (session, uri, isWatched) => this.#control.publish({ kind: "watched", session, uri, isWatched }),
      onEnded: (id) => this.#onEnded(id),
      onExtended: ({ sessionId }) => this.#try(() => this.#holders.keep(sessionId)),
      onUnused: ({ sessionId }) => this.#giveUp(sessionId),
      onLeft: (session) => this.#onLeft(session),
      onClosed: () => this.#close(),
    });
    const { nodeLeaseMs: leaseMs, sessionIdleMs } = limits;
    this.#nodes = new Nodes({
      cluster,
      clock,
      leaseMs,
      report,
      onDead: (node) => this.#onDead(node),
      leavesNothing: () => this.log?.hasUnended !== true,
      onReturned: () => this.#questions.readAll(),
    });
    this.#sweeper = new Sweeper({
      cluster,
      clock,
      leaseMs,
      sessionIdleMs,
      report,
      end: (session) => this.sessions.endListed(session),
      finish: (key) => this.sessions.finish(key),
    });
    runtime.urlElicitations.onUnknown = (id) => this.#control.publish({ kind: "elicited", id });
    this.#stop = [
      cluster.bus.onGap(() => this.#onGap()),
      runtime.onLog((message) => this.#control.publish({ kind: "log", message, sent: this.#connected() })),
      runtime.changes.subscribe((change) => this.#recent.add(change)),
      runtime.onClosing(() => this.#handOver()),
    ];
    this.#join();
  }

  save(session: SharedSession, change: SessionChange): Promise<void> {
    return this.sessions.save(session.sessionId, change);
  }

  forward(session: SharedSession, message: RpcNotification): void {
    const token = message.params?.progressToken;
    if (message.method === "notifications/progress" && !this.#questions.isElsewhere(token)) return;
    this.#control.publish({ kind: "notification", session: session.sessionId, message });
  }

  answer(session: SharedSession, response: RpcResponse): Promise<void> {
    return this.#questions.answer(session, response);
  }

  fail(session: SharedSession, id: RequestId | undefined, problem: string): void {
    if (this.#questions.isElsewhere(id))
      this.#control.publish({ kind: "failed", session: session.sessionId, id, problem });
  }

  openQuestion(session: SharedSession): Promise<string> {
    return this.#questions.open(session);
  }

  closeQuestion(id: string): void {
    this.#questions.end(id);
  }

  async takeOver(session: SharedSession): Promise<Takeover> {
    const id = session.sessionId;
    this.#frames.begin(id);
    if (this.#place.runtime.draining)
      throw new ClusterError("unavailable", "This process shuts down; another one takes the stream over");
    try {
      const { missed, isSent } = await this.#succeed(id);
      // From now on this process tells the client of changes, so that it must know what the client has asked for.
      await this.sessions.reread(id);
      if (this.log === undefined) return { missed: false };
      const lastId = await this.log.takeOver(id, (frames) => this.#frames.onStored(id, frames));
      if (await this.#holders.isOwn(id)) return { missed, sentId: isSent ? lastId : undefined };
    } catch (error) {
      this.#giveUp(id, true);
      throw error;
    } finally {
      // The session may have ended meanwhile.
      if (this.sessions.local(id) === undefined) this.#onLeft(session);
    }
    throw new ClusterError("fenced", "A newer GET stream of this session has taken the place of this one");
  }

  onListening({ sessionId }: SharedSession): void {
    this.#control.publish({ kind: "listening", session: sessionId, turn: this.#holders.turnOf(sessionId) });
  }

  isNew({ sessionId }: SharedSession, frame: string): boolean {
    return this.#frames.isNew(sessionId, frame);
  }

  passOn(session: SharedSession, frame: string): void {
    this.#frames.forget(session.sessionId, frame);
    this.#control.publish({ kind: "frame", session: session.sessionId, frame });
  }

  onLost(session: SharedSession, frame: string): void {
    this.passOn(session, frame);
    this.#giveUp(session.sessionId);
  }

  async follow(session: FollowingSession, exchange: HttpExchange, place: StreamPlace): Promise<void> {
    if (this.log === undefined || (await this.log.isOver(session.sessionId, place))) replyOver(exchange);
    else followStream(this.log, session, exchange, place);
  }

  /**
   * Notes that this process writes the standalone stream of a session. `missed` is true if the process that wrote it before
   * has died, so that changes may not have been written. If its death is noticed later, `#onDead` makes up for it. `isSent`
   * is true if another process may have sent messages.
   */
  async #succeed(session: string): Promise<{ missed: boolean; isSent: boolean }> {
    const former = await this.#holders.succeed(session, () => this.sessions.isOpen(session));
    const { node, listens: isSent = false } = former ?? {};
    if (node === undefined || node === this.#cluster.node) return { missed: false, isSent: false };
    if (!(await this.#nodes.isListed(node))) return { missed: true, isSent };
    const taken = this.#takenFrom.get(node) ?? new Set<string>();
    this.#takenFrom.set(node, taken.add(session));
    return { missed: false, isSent };
  }

  /**
   * Stores that no process writes a stream. `isLossy` is true if nobody has written it for a while: a process that has
   * taken it over since is told that changes may have been missed.
   */
  #giveUp(session: string, isLossy = false): void {
    this.#try(async () => {
      const isStored = await this.#holders.giveUp(session);
      if (!isLossy) return;
      if (!isStored) this.#control.publish({ kind: "missed", session });
      // The end of the session may have come before a write of this process whose reply was lost.
      else if (!(await this.sessions.isOpen(session))) await this.#holders.delete(session);
    });
  }

  async #onOpened(session: SharedSession): Promise<void> {
    const id = session.sessionId;
    if (this.log === undefined) return;
    await this.log.create(id);
    await this.#holders.succeed(id);
    await this.log.claim(id, STANDALONE);
  }

  #onKept(session: SharedSession): void {
    for (const message of this.#early.take(session.sessionId)) session.receiveFromPeer(message);
  }

  /** Tells the client of resources that changed just before this process learned of their subscriptions. */
  #onWatched({ protocol }: SharedSession, uris: Iterable<string>): void {
    for (const uri of uris) if (this.#recent.has(uri)) protocol.subscriptions.send({ kind: "resource", uri });
  }

  async #onEnded(id: string): Promise<void> {
    this.#control.publish({ kind: "ended", session: id });
    await this.log?.drop(id);
    await this.#holders.delete(id);
  }

  #onLeft({ sessionId }: SharedSession): void {
    this.log?.release(sessionId);
    this.#holders.leave(sessionId);
    this.#frames.leave(sessionId);
    for (const [node, taken] of this.#takenFrom)
      if (taken.delete(sessionId) && taken.size === 0) this.#takenFrom.delete(node);
  }

  #receive(message: ControlMessage, from: string): void {
    if (message.kind === "log") {
      const sent = new Set(message.sent);
      for (const { sessionId, protocol } of this.sessions.values())
        if (protocol.isReady && !sent.has(sessionId)) protocol.log(message.message);
    } else if (message.kind === "elicited") this.#complete(message.id);
    else if (message.kind === "dead") this.#resync(message.node);
    else this.#receiveFor(this.sessions.local(message.session), message, from);
  }

  #receiveFor(session: SharedSession | undefined, message: SessionMessage, from: string): void {
    if (message.kind === "changed") return this.sessions.onChanged(message.session, message.change);
    if (message.kind === "watched")
      return this.sessions.onWatchChanged(message.session, message.uri, message.isWatched);
    if (message.kind === "ended") {
      this.sessions.onEnded(message.session);
      return this.#place.runtime.onSessionEnd?.(message.session);
    }
    if (session === undefined) {
      if (message.kind === "notification") this.#early.keep(message.session, message.message);
      return;
    }
    switch (message.kind) {
      case "notification":
        return session.receiveFromPeer(message.message);
      case "listening":
        if (message.turn > this.#holders.turnOf(message.session)) session.standalone.release();
        return;
      case "frame":
        if (session.standalone.held && this.#frames.isNewPassedOn(message.session, message.frame, from))
          void session.standalone.send(message.frame);
        return;
      case "missed":
        if (session.standalone.held) session.resync();
        return;
      case "answered":
        return this.#questions.onAnswered(message.id);
      case "failed":
        return session.failQuestion(message.id, message.problem);
    }
  }

  /**
   * Returns the sessions whose clients get a message to all from this process, since they must not get it again where
   * they listen next. A log tells the next writer of the messages that it stores.
   */
  #connected(): readonly string[] {
    if (this.log !== undefined) return [];
    const connected: string[] = [];
    for (const { sessionId, standalone } of this.sessions.values()) {
      if (standalone.connected) connected.push(sessionId);
      if (connected.length === MAX_NAMED) break;
    }
    return connected;
  }

  /** Completes a URL elicitation of this process whose completion was reported in another one. */
  #complete(id: string): void {
    const { urlElicitations } = this.#place.runtime;
    if (urlElicitations.has(id)) urlElicitations.complete(id);
  }

  async #onDead(node: string): Promise<void> {
    await this.log?.endStreamsOf(node, describeLoss);
    await this.#questions.forget(node);
    this.#control.publish({ kind: "dead", node });
    this.#resync(node);
  }

  /**
   * Tells clients that everything may have changed if a process died whose streams this one had taken over. A stream may
   * have been taken over again since. The process may have stored answers that it did not announce.
   */
  #resync(node: string): void {
    this.#questions.readAll();
    const taken = this.#takenFrom.get(node) ?? [];
    this.#takenFrom.delete(node);
    for (const id of taken) {
      const session = this.sessions.local(id);
      if (session?.standalone.held) session.resync();
      else this.#control.publish({ kind: "missed", session: id });
    }
  }

  #onGap(): void {
    this.#join();
    this.#nodes.onGap();
    this.#catchUp();
  }

  /** Joins the other processes. Messages before that are missed. */
  #join(): void {
    if (this.#control.isJoined) return;
    const report = (error: unknown) => this.#place.runtime.report(error, { where: "cluster" });
    this.#control.join().then(() => this.#catchUp(), report);
  }

  /** Reads everything again about which messages may have been missed. */
  #catchUp(): void {
    this.#questions.readAll();
    this.sessions.onGap();
  }

  #try(work: () => Promise<void>): void {
    work().catch((error: unknown) => this.#place.runtime.report(error, { where: "cluster" }));
  }

  /**
   * Closes the streams for messages outside calls, so that their clients connect to another process. From now on this
   * process learns of no changes.
   */
  #handOver(): void {
    for (const { sessionId, standalone } of this.sessions.values()) {
      standalone.detach(HAND_OVER_MS);
      if (standalone.held) this.#giveUp(sessionId);
    }
  }

  async #close(): Promise<void> {
    for (const stop of this.#stop) stop();
    this.#place.runtime.urlElicitations.onUnknown = undefined;
    this.#early.clear();
    this.#holders.close();
    await this.log?.settled();
    const closed = await Promise.allSettled([
      this.#questions.close(),
      this.#nodes.close(),
      this.#sweeper.close(),
      this.#control.close(),
    ]);
    for (const result of closed)
      if (result.status === "rejected") this.#place.runtime.report(result.reason, { where: "cluster" });
  }
}

type SessionMessage = Extract<ControlMessage, { readonly session: string }>;

/** Writes the error of a request whose process has died. */
function describeLoss(id: RequestId): string {
  const message = "The process that served this request has died; the request may have been carried out in part";
  return formatFailure(id, { code: PROCESS_GONE, message });
}
