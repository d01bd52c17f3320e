import type { Cluster } from "../../../../cluster/cluster.js";
import { ClusterError } from "../../../../cluster/error.js";
import type { HttpExchange } from "../../../../http/exchange.js";
import { PROCESS_GONE } from "../../../../protocol/jsonrpc/errors.js";
import { formatFailure } from "../../../../protocol/jsonrpc/format.js";
import type { Params, RequestId, RpcNotification } from "../../../../protocol/jsonrpc/message.js";
import { isRequestId } from "../../../../protocol/jsonrpc/parse.js";
import type { HttpSession } from "../http-session.js";
import {
  type BroadcastId,
  type FollowingSession,
  type SessionChange,
  type SessionSharing,
  STANDALONE,
  type StreamPosition,
  type Takeover,
} from "../shared-sessions.js";
import { replyOver } from "../stream.js";
import { Broadcasts } from "./broadcasts.js";
import { Control, type ControlMessage, type QuestionProgress } from "./control.js";
import { EarlyCancels, RecentChanges } from "./early.js";
import { followStream } from "./follow.js";
import { Holders, NOBODY } from "./holders.js";
import { Nodes } from "./nodes.js";
import { Questions } from "./questions.js";
import { Retries } from "./retries.js";
import { SessionLog } from "./session-log.js";
import type { Holder, SessionRecord } from "./session-record.js";
import { ClusterSessions, type SharedEndpoint, type SharedSessions } from "./sessions.js";
import type { FormerWriter } from "./stream-takeover.js";
import { Sweeper } from "./sweeper.js";

/** Connects the sessions of an endpoint with the other processes of a cluster. */
export function shareSessions(cluster: Cluster, endpoint: SharedEndpoint): SharedSessions {
  const shared = new ClusterSharing(cluster, endpoint);
  return { sessions: shared.sessions, shared };
}

/** Milliseconds after which clients connect to another process when this one shuts down. */
const HAND_OVER_MS = 100;
/** Turn of the process that opens a session with a log. */
const FIRST = { turn: 1, listens: false };
/** Maximum length of a text of a client that other processes get: the reason of a cancellation, a message of progress. */
const MAX_TEXT_CHARS = 1_024;

class ClusterSharing implements SessionSharing {
  readonly log: SessionLog | undefined;
  readonly sessions: ClusterSessions;
  readonly questions: Questions;
  readonly #cluster: Cluster;
  readonly #endpoint: SharedEndpoint;
  readonly #control: Control;
  readonly #holders: Holders;
  readonly #nodes: Nodes;
  readonly #sweeper: Sweeper;
  readonly #early: EarlyCancels;
  readonly #changes: RecentChanges;
  readonly #broadcasts: Broadcasts;
  /** Sessions whose standalone streams this process took over, by the process that wrote them before. */
  readonly #takenFrom = new Map<string, Set<string>>();
  readonly #stop: readonly (() => void)[];

  constructor(cluster: Cluster, endpoint: SharedEndpoint) {
    const { runtime, resumable } = endpoint;
    const { clock, limits } = runtime;
    const { node } = cluster;
    const report = (error: unknown) => runtime.report(error, { where: "cluster" });
    const local = (session: string) => this.sessions.local(session);
    const enlist = () => this.#nodes.enlist();
    this.#cluster = cluster;
    this.#endpoint = endpoint;
    const retries = new Retries(clock);
    this.#holders = new Holders({
      node,
      retries,
      record: (session) => this.sessions.record(session),
      inUse: (record) => this.sessions.inUse(record),
    });
    const holds = (session: string) => this.#isHolder(session);
    this.log = resumable ? new SessionLog({ cluster, clock, limits, retries, enlist, holds, report }) : undefined;
    const control = new Control(cluster, clock, (message, from) => this.#receive(message, from), report);
    this.#control = control;
    this.questions = new Questions({ cluster, control, retries, enlist, local, report });
    this.#early = new EarlyCancels(clock);
    this.#changes = new RecentChanges(clock, 2 * limits.sessionCacheMs);
    this.#broadcasts = new Broadcasts({
      node,
      clock,
      local,
      sessions: () => this.sessions.values(),
      tell: (session, numbers) => void control.publish({ kind: "written", session, numbers: [...numbers] }),
      onSilent: (session, former) => this.#try(() => this.#onSilent(session, former)),
    });
    this.sessions = new ClusterSessions({
      cluster,
      endpoint,
      retries,
      firstHolder: resumable ? { node, ...FIRST } : undefined,
      onOpened: (id) => this.#onOpened(id),
      clear: async (id) => this.log?.drop(id),
      onKept: (session) => this.#onKept(session),
      onRead: (session, record) => this.#onRead(session, record),
      onWatched: (session, uris) => this.#onWatched(session, uris),
      announce: (message) => control.publish(message),
      onUnused: (id) => this.#giveUp(id),
      onLeft: (id) => this.#onLeft(id),
      onClosed: () => this.#close(),
      report,
    });
    const { nodeLeaseMs: leaseMs, sessionIdleMs } = limits;
    this.#nodes = new Nodes({
      cluster,
      clock,
      leaseMs,
      report,
      onDead: (dead) => this.#onDead(dead),
      leavesNothing: () => this.log?.hasUnended !== true,
      onReturned: () => this.questions.readAll(),
    });
    this.#sweeper = new Sweeper({
      cluster,
      clock,
      leaseMs,
      sessionIdleMs,
      report,
      end: (session) => this.sessions.endListed(session),
      finish: (session) => this.sessions.finish(session),
    });
    runtime.urlElicitations.onUnknown = (id) => control.publish({ kind: "elicited", id });
    this.#stop = [
      cluster.bus.onGap(() => this.#onGap()),
      runtime.onLog((message) => control.publish({ kind: "log", number: this.#broadcasts.send(message), message })),
      runtime.changes.subscribe((change) => this.#changes.add(change)),
      runtime.onClosing(() => this.#leaveStreams()),
    ];
    this.#join();
  }

  save(session: string, change: SessionChange): Promise<void> {
    return this.sessions.save(session, change);
  }

  forward(session: string, { method, params = {} }: RpcNotification): void {
    const message = method === "notifications/progress" ? this.#progressOf(session, params) : cancelOf(session, params);
    if (message !== undefined) this.#control.publish(message);
  }

  async takeOver(session: string): Promise<Takeover> {
    if (this.#endpoint.runtime.draining)
      throw new ClusterError("unavailable", "This process shuts down; another one takes the stream over");
    this.#broadcasts.begin(session);
    try {
      const { former, missed, isSent } = await this.#succeed(session);
      if (this.log === undefined) {
        // From now on this process tells the client of changes, so that it must know what the client has asked for.
        await this.sessions.readWatched(session);
        this.#broadcasts.taken(session, former);
        return { missed: false };
      }
      const { lastId, broadcasts } = await this.log.takeOver(session);
      if (await this.#isHolder(session)) {
        this.#broadcasts.taken(session, former, broadcasts);
        return { missed, sentId: isSent ? lastId : undefined };
      }
      this.#broadcasts.lose(session, former);
    } catch (error) {
      this.#broadcasts.fail(session);
      this.#giveUp(session, true);
      throw error;
    } finally {
      // The session may have ended meanwhile.
      if (this.sessions.local(session) === undefined) this.#onLeft(session);
    }
    throw new ClusterError("fenced", "A newer GET stream of this session has replaced this one");
  }

  onListening(session: string): void {
    if (this.sessions.record(session).isAlone) return;
    this.#control.publish({ kind: "listening", session, turn: this.#holders.turnOf(session) });
  }

  handOver(session: string, frame: string, broadcast: BroadcastId | undefined): void {
    if (broadcast === undefined) this.#control.publish({ kind: "frame", session, frame });
    else this.#broadcasts.onUnwritten(session, broadcast);
  }

  onLost(session: string): void {
    const local = this.sessions.local(session);
    if (local !== undefined) this.#tellWritten(local);
    this.#giveUp(session);
  }

  async follow(session: FollowingSession, exchange: HttpExchange, place: StreamPosition): Promise<void> {
    if (this.log === undefined || (await this.log.isOver(session.sessionId, place))) replyOver(exchange);
    else followStream(this.log, session, exchange, place);
  }

  #progressOf(session: string, { progressToken, progress, total, message }: Params): ControlMessage | undefined {
    if (!this.questions.isElsewhere(progressToken)) return undefined;
    const sent: QuestionProgress = {
      progressToken,
      progress: Number(progress),
      ...(typeof total === "number" && { total }),
      ...(typeof message === "string" && { message: message.slice(0, MAX_TEXT_CHARS) }),
    };
    return { kind: "progress", session, progress: sent };
  }

  /**
   * Notes that this process writes the standalone stream of a session. `former` is the process that wrote it before and may
   * still write, or said what it had received. `missed` is true if no process has written it for a while. `isSent` is true
   * if another process may have sent messages.
   */
  async #succeed(session: string): Promise<{ former: FormerWriter; missed: boolean; isSent: boolean }> {
    const { node, listens = false, received } = (await this.#holders.take(session)) ?? {};
    if (node === undefined || node === this.#cluster.node)
      return { former: { name: undefined }, missed: false, isSent: false };
    if (node === NOBODY) return { former: { name: received && NOBODY, received }, missed: true, isSent: listens };
    const taken = this.#takenFrom.get(node) ?? new Set<string>();
    this.#takenFrom.set(node, taken.add(session));
    return { former: { name: node }, missed: false, isSent: listens };
  }

  /** Tells the client that everything may have changed if the process is dead that wrote its stream before. */
  async #onSilent(session: string, former: string): Promise<void> {
    const taken = this.#takenFrom.get(former);
    // If its death is noticed later, `#onDead` does it.
    if (taken?.has(session) !== true || (await this.#nodes.isListed(former))) return;
    if (taken.delete(session)) this.#resyncSession(session);
  }

  /**
   * Stores that no process writes a stream. `isLossy` is true if nobody has written it for a while: a process that has
   * taken it over since is told that changes may have been missed. `received` has the messages to all clients that were not.
   */
  #giveUp(session: string, isLossy = false, received?: Holder["received"]): void {
    this.#try(async () => {
      const isStored = await this.#holders.giveUp(session, received);
      if (isLossy && !isStored) this.#control.publish({ kind: "missed", session });
    });
  }

  /** True if no other process has taken the stream over since this one did. Reads the record of the session. */
  async #isHolder(session: string): Promise<boolean> {
    return this.#holders.isOwn(session, (await this.sessions.read(session))?.holder);
  }

  async #onOpened(session: string): Promise<void> {
    if (this.log === undefined) return;
    this.#holders.begin(session, FIRST);
    await this.log.create(session);
    await this.log.claim(session, STANDALONE);
  }

  #onKept(session: HttpSession): void {
    for (const message of this.#early.take(session.sessionId)) session.receiveFromPeer(message);
  }

  /** Stops writing a stream that another process has taken over, in case that the announcement was missed. */
  #onRead(session: HttpSession, { holder }: SessionRecord): void {
    if (session.standalone.held && this.#holders.isLost(session.sessionId, holder)) this.#release(session);
  }

  /** Stops writing a stream that another process has taken over. */
  #release(session: HttpSession): void {
    if (session.standalone.held) this.#tellWritten(session);
    session.standalone.release();
  }

  #tellWritten({ sessionId, standalone }: HttpSession): void {
    this.#try(() => this.#broadcasts.release(sessionId, standalone.settled()));
  }

  /** Tells the client of resources that changed just before this process learned of their subscriptions. */
  #onWatched({ protocol }: HttpSession, uris: Iterable<string>): void {
    for (const uri of uris) if (this.#changes.has(uri)) protocol.subscriptions.send({ kind: "resource", uri });
  }

  #onLeft(session: string): void {
    this.log?.release(session);
    this.#holders.leave(session);
    this.#broadcasts.leave(session);
    for (const [node, taken] of this.#takenFrom)
      if (taken.delete(session) && taken.size === 0) this.#takenFrom.delete(node);
  }

  #receive(message: ControlMessage, from: string): void {
    switch (message.kind) {
      case "log":
        return this.#broadcasts.receive({ from, number: message.number }, message.message);
      case "elicited":
        return this.#complete(message.id);
      case "dead":
        return this.#resync(message.node);
      case "changed":
        return this.sessions.onChanged(message.session, message.change);
      case "watched":
        return this.sessions.onWatchChanged(message.session, message.uri, message.isWatched);
      case "ended":
        this.sessions.onEnded(message.session);
        return this.#endpoint.runtime.onSessionEnd?.(message.session);
      case "used":
        return this.sessions.onUsed(message.session);
      case "written":
        return this.#broadcasts.onTold(message.session, from, new Map(message.numbers));
    }
    const session = this.sessions.local(message.session);
    if (session !== undefined) this.#receiveFor(session, message);
    else if (message.kind === "cancelled") this.#early.keep(message.session, message.id);
  }

  #receiveFor(session: HttpSession, message: LocalMessage): void {
    switch (message.kind) {
      case "cancelled":
        return void session.receiveFromPeer(cancelled(message.id, message.reason));
      case "progress":
        return void session.receiveFromPeer(notification("notifications/progress", { ...message.progress }));
      case "listening":
        if (message.turn > this.#holders.turnOf(message.session)) this.#release(session);
        return;
      case "frame":
        if (session.standalone.held) void session.standalone.send(message.frame);
        return;
      case "missed":
        if (session.standalone.held) session.resync();
        return;
      case "answered":
        return this.questions.onAnswered(message.id);
      case "failed":
        return void session.failQuestion(message.id, message.problem);
    }
  }

  /** Completes a URL elicitation of this process whose completion was reported in another one. */
  #complete(id: string): void {
    const { urlElicitations } = this.#endpoint.runtime;
    if (urlElicitations.has(id)) urlElicitations.complete(id);
  }

  async #onDead(node: string): Promise<void> {
    await this.log?.endStreamsOf(node, describeLoss);
    await this.questions.forget(node);
    this.#control.publish({ kind: "dead", node });
    this.#resync(node);
  }

  /**
   * Tells clients that everything may have changed if a process died whose streams this one had taken over. The process may
   * have stored answers that it did not announce.
   */
  #resync(node: string): void {
    this.questions.readAll();
    const taken = this.#takenFrom.get(node) ?? [];
    this.#takenFrom.delete(node);
    for (const session of taken) this.#resyncSession(session);
  }

  /** Tells a client that everything may have changed. Its stream may have been taken over again. */
  #resyncSession(id: string): void {
    const session = this.sessions.local(id);
    if (session?.standalone.held) session.resync();
    else this.#control.publish({ kind: "missed", session: id });
  }

  #onGap(): void {
    this.#join();
    this.#catchUp();
  }

  /** Joins the other processes. Messages before that are missed. */
  #join(): void {
    if (this.#control.isJoined) return;
    this.#try(() => this.#control.join().then(() => this.#catchUp()));
  }

  /** Reads everything again about which messages may have been missed. */
  #catchUp(): void {
    this.questions.readAll();
    this.sessions.onGap();
  }

  #try(work: () => Promise<void>): void {
    work().catch((error: unknown) => this.#endpoint.runtime.report(error, { where: "cluster" }));
  }

  /**
   * Closes the streams for messages outside calls, so that their clients connect to another process. From now on this
   * process learns of no changes.
   */
  #leaveStreams(): void {
    for (const { sessionId, standalone } of this.sessions.values()) {
      standalone.detach(HAND_OVER_MS);
      if (standalone.held) this.#giveUp(sessionId, false, this.#broadcasts.received(sessionId));
    }
  }

  async #close(): Promise<void> {
    const { runtime } = this.#endpoint;
    for (const stop of this.#stop) stop();
    runtime.urlElicitations.onUnknown = undefined;
    this.#early.clear();
    this.#broadcasts.close();
    await this.log?.settled();
    const closed = await Promise.allSettled([
      this.questions.shutDown(),
      this.#nodes.close(),
      this.#sweeper.close(),
      this.#control.close(),
    ]);
    for (const result of closed) if (result.status === "rejected") runtime.report(result.reason, { where: "cluster" });
  }
}

/** Message that concerns a session of this process. */
type LocalMessage = Extract<
  ControlMessage,
  { readonly kind: "cancelled" | "progress" | "listening" | "frame" | "missed" | "answered" | "failed" }
>;

function notification(method: string, params: Params): RpcNotification {
  return { jsonrpc: "2.0", method, params };
}

function cancelled(requestId: RequestId, reason?: string): RpcNotification {
  return notification("notifications/cancelled", reason === undefined ? { requestId } : { requestId, reason });
}

/** Returns what other processes need of a cancellation. Undefined if it names no request. */
function cancelOf(session: string, { requestId, reason }: Params): ControlMessage | undefined {
  if (!isRequestId(requestId) || String(requestId).length > MAX_TEXT_CHARS) return undefined;
  const cancel = { kind: "cancelled", session, id: requestId } as const;
  return typeof reason === "string" ? { ...cancel, reason: reason.slice(0, MAX_TEXT_CHARS) } : cancel;
}

/** Writes the error of a request whose process has died. */
function describeLoss(id: RequestId): string {
  const message = "The process that served this request has died; the request may have been carried out in part";
  return formatFailure(id, { code: PROCESS_GONE, message });
}
