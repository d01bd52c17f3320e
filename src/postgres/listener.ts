import { followSignal, pause, runWithin, untilAborted } from "../call/abortable.js";
import { type Backoff, backoffMs } from "../call/backoff.js";
import { unref } from "../call/clock.js";
import { ClusterError } from "../cluster/error.js";
import type { Listening, PostgresClient } from "./client.js";
import type { Engine } from "./engine.js";
import { failureOf } from "./failure.js";

/** Delays between attempts to reopen a lost connection. */
const REOPEN: Backoff = { delayMs: 50, maxDelayMs: 2000 };

/** Number of attempts to send a notification before a connection counts as lost, and the time between them. */
const LOOKS = 3;
const LOOK_AGAIN_MS = 50;

/** Minimum delay of a heartbeat from which this process counts as stopped for a time. */
const PAUSE_MS = 1_000;

export interface ListenerOptions {
  readonly client: PostgresClient;
  readonly engine: Engine;
  readonly channel: string;
  readonly node: string;
  /** Interval of heartbeats. A connection that brings none for three intervals is looked at. */
  readonly heartbeatMs: number;
  /** Maximum duration of an attempt to open the connection. */
  readonly timeoutMs: number;
  readonly heard: (payload: string) => void;
  /** Called when the connection was reopened, after which everything that was missed is over. */
  readonly reopened: () => void;
}

/**
 * Connection that listens to the notifications of all processes. It reopens itself. While that fails, the server counts
 * as away, and statements fail at once.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #stop = new AbortController();
  #listening: Listening | undefined;
  #isReopening = false;
  #isLooking = false;
  #heardAt = 0;
  readonly #probes = new Set<() => void>();
  #watch: unknown;

  constructor(options: ListenerOptions) {
    this.#options = options;
    options.engine.onFailure(() => this.look());
  }

  get isUp(): boolean {
    return this.#listening !== undefined;
  }

  /** Opens the connection for the first time. Rejects if it hears nothing, as behind a pooler that hides LISTEN. */
  async open(): Promise<void> {
    await this.#attempt();
    this.#schedule();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#options.engine.clock.cancel(this.#watch);
    const listening = this.#listening;
    this.#listening = undefined;
    await listening?.close().catch(() => {});
  }

  readonly #heard = (payload: string): void => {
    const { engine, heard } = this.#options;
    this.#heardAt = engine.clock.now();
    if (payload.startsWith("p ")) {
      if (payload === `p ${this.#options.node}`) for (const tell of this.#probes) tell();
    } else heard(payload);
  };

  /** Opens a connection that listens, and waits until it hears a notification that was sent by another connection. */
  async #attempt(): Promise<void> {
    const { client, engine, channel, timeoutMs: ms } = this.#options;
    const broken = new AbortController();
    const unfollow = followSignal(this.#stop.signal, () => broken.abort(this.#stop.signal.reason));
    const limits = { clock: engine.clock, signal: broken.signal, ms };
    let listening: Listening | undefined;
    const lost = () => {
      broken.abort(new Error("the connection was lost"));
      if (listening !== undefined && this.#listening === listening) this.#reopen();
    };
    const opening = client.listen(channel, this.#heard, lost);
    try {
      listening = await runWithin({ ...limits, late: () => silent(ms) }, () => opening);
      await untilAborted(this.#hearProbe(), limits.signal);
      this.#listening = listening;
    } catch (error) {
      opening.then((late) => late.close()).catch(() => {});
      throw failureOf(error, "listen", true);
    } finally {
      unfollow();
    }
  }

  /** Sends a notification by another connection and waits until it is heard. */
  async #hearProbe(): Promise<void> {
    const { engine, channel, node } = this.#options;
    let tell = () => {};
    const heard = new Promise<void>((resolve) => {
      tell = resolve;
    });
    this.#probes.add(tell);
    try {
      const text = "select pg_notify($1::text, $2::text)::text as done";
      await engine.attempt({ operation: "notify", text, isRead: true }, [channel, `p ${node}`]);
      const signal = this.#stop.signal;
      const late = () => hidden(channel, this.#options.timeoutMs);
      await runWithin({ clock: engine.clock, signal, ms: this.#options.timeoutMs, late }, () => heard);
    } finally {
      this.#probes.delete(tell);
    }
  }

  #reopen(): void {
    const lost = this.#listening;
    this.#listening = undefined;
    lost?.close().catch(() => {});
    if (!this.#isReopening && !this.#stop.signal.aborted) this.#reopenUntilUp().catch(() => {});
  }

  async #reopenUntilUp(): Promise<void> {
    const { engine, reopened } = this.#options;
    const { signal } = this.#stop;
    this.#isReopening = true;
    try {
      for (let failures = 0; !signal.aborted; failures++) {
        try {
          await this.#attempt();
          engine.isAway = false;
          break;
        } catch {
          engine.isAway = true;
          await pause(engine.clock, backoffMs(Math.min(failures, 10), REOPEN), signal);
        }
      }
    } finally {
      this.#isReopening = false;
    }
    if (!signal.aborted) reopened();
  }

  /** Finds out after a failed statement, or a silence, if the server answers and the connection still listens. */
  look(): void {
    if (this.#listening === undefined || this.#isLooking || this.#stop.signal.aborted) return;
    this.#isLooking = true;
    const listening = this.#listening;
    void this.#answers().then((isUp) => {
      this.#isLooking = false;
      const { engine } = this.#options;
      if (this.#listening === listening) {
        if (isUp) engine.isAway = false;
        else this.#reopen();
      } else if (engine.isAway) this.look(); // A statement failed after the connection was reopened.
    });
  }

  /**
   * Tries several times to send a notification, since a pool may have several connections that are lost and not found
   * yet. One that was sent and not heard decides.
   */
  async #answers(): Promise<boolean> {
    const { clock } = this.#options.engine;
    for (let i = 0; i < LOOKS; i++) {
      if (i > 0) await pause(clock, LOOK_AGAIN_MS, this.#stop.signal);
      if (this.#stop.signal.aborted) return true;
      const failure = await this.#hearProbe().then(
        () => undefined,
        (error: ClusterError) => error.failure,
      );
      if (failure === undefined) return true;
      if (failure === "refused") return false;
    }
    return false;
  }

  /**
   * Looks at a connection that has been silent for three intervals, though heartbeats of this process come by it too. A
   * busy process may not have read them yet. Reopens the connection after this process was stopped, since others may have
   * taken it for lost.
   */
  #schedule(): void {
    const { engine, heartbeatMs } = this.#options;
    const { clock } = engine;
    const due = clock.now() + heartbeatMs;
    this.#watch = clock.schedule(() => {
      const wasStopped = clock.now() - due > Math.max(PAUSE_MS, 2 * heartbeatMs);
      if (wasStopped && this.#listening !== undefined) this.#reopen();
      else if (clock.now() - this.#heardAt > 3 * heartbeatMs) this.look();
      this.#schedule();
    }, heartbeatMs);
    unref(this.#watch);
  }
}

const silent = (ms: number) =>
  new ClusterError("unavailable", `PostgreSQL, listen: no answer within ${ms} ms (option timeoutMs).`);

function hidden(channel: string, ms: number): ClusterError {
  return new ClusterError(
    "refused",
    `postgresCluster: a notification to the channel ${channel} did not arrive within ${ms} ms at the connection that listens. A pooler in transaction or statement mode hides LISTEN. Pass a client with a direct connection as the option listener.`,
  );
}
