/** Message of JSON-RPC as clients receive it. */
export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export type CallKind = "echo" | "work" | "ask";

/** Run of a handler, recorded outside of the server. */
interface HandlerRun {
  readonly node: string;
  readonly beganAt: number;
  /** Number of notices that the handler has sent. */
  sent: number;
  endedAt: number | undefined;
}

/** Call of a client, with everything that the client and the handler saw. */
export interface CallRecord {
  readonly number: number;
  readonly kind: CallKind;
  readonly session: SessionRecord;
  readonly requestId: number;
  /** Text that a result must contain. */
  readonly secret: string;
  readonly steps: number;
  readonly beganAt: number;
  readonly answers: Message[];
  /** Numbers of the log messages and of the progress that the client received. */
  readonly notices: number[];
  readonly progress: number[];
  /** Texts that the client gave as answers to questions of the call. */
  readonly given: Set<string>;
  run: HandlerRun | undefined;
  cancelledAt: number | undefined;
  /** How the call ended for the client. */
  settled: string | undefined;
  /** True after the client has read the streams of the call to their end. */
  isRead: boolean;
}

/** Session of a client, as the client and the author of the server saw it. */
export interface SessionRecord {
  readonly id: string;
  readonly principal: string;
  readonly openedAt: number;
  /** Ids of the events that the client received. */
  readonly events: Set<string>;
  /** Time at which a change of each resource was told last. */
  readonly updates: Map<string, number>;
  /** Resources with the time from which changes must be told. */
  readonly watched: Map<string, number>;
  /** Numbers of the broadcasts that the client received, by sender. */
  readonly broadcasts: Map<string, number[]>;
  /** Time from which events of the standalone stream must arrive. Infinity while none must. */
  listensSince: number;
  /** Time at which the client learned that the session has ended. */
  endedAt: number | undefined;
  /** True after the client has begun to end the session, or has left it to expire. */
  isEnding: boolean;
  isLeft: boolean;
}

export interface Violation {
  readonly invariant: string;
  readonly text: string;
  readonly at: number;
}

/** What happened in a run, and the invariants that it broke. */
export class History {
  readonly calls: CallRecord[] = [];
  readonly sessions = new Map<string, SessionRecord>();
  readonly violations: Violation[] = [];
  /** Number of calls of `onOpen` and `onEnd` by session. */
  readonly opens = new Map<string, number>();
  readonly ends = new Map<string, number>();
  /** Changes of resources that the engine has received. */
  readonly changes: { readonly uri: string; readonly at: number }[] = [];
  /** Broadcasts by sender. */
  readonly broadcasts: { readonly from: string; readonly number: number; readonly at: number }[] = [];
  /** Counts of what happened, to show that a run is not empty. */
  readonly counts: Record<string, number> = {};
  readonly #now: () => number;
  readonly #trace: (text: () => string) => void;
  #hash = 0;

  constructor(now: () => number, trace: (text: () => string) => void) {
    this.#now = now;
    this.#trace = trace;
  }

  now(): number {
    return this.#now();
  }

  /** Number that depends on all notes and their times. */
  get hash(): number {
    return this.#hash >>> 0;
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  note(text: string): void {
    let hash = Math.imul(this.#hash ^ Math.round(this.#now() * 100), 0x01000193);
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    this.#hash = hash;
    this.#trace(() => text);
  }

  violate(invariant: string, text: string): void {
    this.note(`VIOLATION ${invariant}: ${text}`);
    this.violations.push({ invariant, text, at: this.#now() });
  }

  call(session: SessionRecord, kind: CallKind, requestId: number, secret: string, steps: number): CallRecord {
    const call: CallRecord = {
      number: this.calls.length,
      kind,
      session,
      requestId,
      secret,
      steps,
      beganAt: this.#now(),
      answers: [],
      notices: [],
      progress: [],
      given: new Set(),
      run: undefined,
      cancelledAt: undefined,
      settled: undefined,
      isRead: false,
    };
    this.calls.push(call);
    return call;
  }

  session(id: string, principal: string): SessionRecord {
    const session: SessionRecord = {
      id,
      principal,
      openedAt: this.#now(),
      events: new Set(),
      updates: new Map(),
      watched: new Map(),
      broadcasts: new Map(),
      listensSince: Number.POSITIVE_INFINITY,
      endedAt: undefined,
      isEnding: false,
      isLeft: false,
    };
    if (this.sessions.has(id)) this.violate("own session", `two clients have the session ${id}`);
    this.sessions.set(id, session);
    return session;
  }

  settle(call: CallRecord, how: string): void {
    if (call.settled !== undefined) return;
    call.settled = how;
    this.count(`settled ${how}`);
    this.note(`call ${call.number} settles: ${how}`);
  }
}
