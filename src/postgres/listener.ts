import { pause, runWithin, untilAborted } from "../call/abortable.js";
import { type Backoff, backoffMs } from "../call/backoff.js";
import type { Clock } from "../call/clock.js";
import { ClusterError, unavailable } from "../cluster/error.js";
import { hexDigits } from "../cluster/operations.js";
import type { StoreEvents } from "../cluster/store.js";
import { fromStored, toStored } from "../cluster/text.js";
import { Wake } from "../cluster/wake.js";
import type { Connection, Listening, PostgresClient } from "./connection.js";
import { failureOf } from "./failure.js";
import type { Names } from "./schema.js";

/** Delays between attempts to start, and to open a lost connection again. */
const RETRY: Backoff = { delayMs: 50, maxDelayMs: 2_000 };

/** Number of attempts to send a notification before the server counts as away, and the time between them. */
const LOOKS = 3;
const LOOK_AGAIN_MS = 50;

export interface ListenerOptions {
  readonly client: PostgresClient;
  readonly connection: Connection;
  readonly names: Names;
  readonly clock: Clock;
  /** Maximum duration of an attempt to open the connection, and of the way of a notification. */
  readonly timeoutMs: number;
  /** Prepares the server before the connection is opened. Called until it succeeds. */
  readonly prepare: () => Promise<void>;
  readonly events: Pick<StoreEvents, "onText" | "onMissed">;
}

/**
 * Texts to all processes by NOTIFY, and the connection that hears them. It is opened again after each loss. While that
 * fails, the server counts as away.
 *
 * A payload is a header, then `=` and a text, `@` and the number of a row with a text, or `?` for a probe. A process knows its
 * own payloads by their headers, so that it notices when it hears nothing. No two payloads are equal.
 */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #statements: ReturnType<typeof statementsOf>;
  readonly #stop = new AbortController();
  /** Wakes when it must be found out if the server answers. */
  readonly #look = new Wake();
  readonly #name = hexDigits(8);
  readonly #awaited = new Map<string, () => void>();
  #sent = 0;
  /** Fires when the connection that hears is lost. Undefined while there is none. */
  #lost: AbortController | undefined;
  /** Payloads that wait to be delivered. */
  #payloads: string[] = [];
  /** Payload that was heard last. */
  #newest = "";
  #isDelivering = false;
  #isPrepared = false;
  #running: Promise<void> | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#statements = statementsOf(options.names);
  }

  get isUp(): boolean {
    return this.#lost?.signal.aborted === false;
  }

  /** Opens the connection. Settles after the first attempt. */
  open(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#running = this.#run((problem) => (problem === undefined ? resolve() : reject(problem)));
    });
  }

  /** Sends texts. Resolves when this process has heard them, or knows that it hears nothing. */
  async send(texts: readonly string[]): Promise<void> {
    const { connection, timeoutMs } = this.#options;
    const { send } = this.#statements;
    await connection.usable(send.operation);
    // Others hear them even while this process does not.
    const lost = this.#lost ?? new AbortController();
    if (this.#lost === undefined) lost.abort(wasLost());
    const late = () => {
      lost.abort(unavailable(`no notification was heard within ${timeoutMs} ms`));
      return lost.signal.reason;
    };
    try {
      await this.#hear(texts.length, lost.signal, late, async (header) => {
        await connection.run(send, undefined, [header, JSON.stringify(texts.map(toStored))]);
      });
    } catch (error) {
      if (error !== lost.signal.reason) throw error;
    }
  }

  /** Finds out if the server answers and the connection still hears. */
  look(): void {
    this.#look.wake();
  }

  /** Opens the connection anew. */
  reopen(): void {
    this.#lost?.abort(unavailable("the connection that listens to PostgreSQL is opened anew"));
  }

  async close(): Promise<void> {
    const closed = unavailable("the cluster is closed");
    this.#stop.abort(closed);
    this.#lost?.abort(closed);
    await this.#running;
  }

  async #run(onTried: (problem?: ClusterError) => void): Promise<void> {
    const { clock, connection, events } = this.#options;
    const { signal } = this.#stop;
    for (let [tries, failures] = [0, 0]; !signal.aborted; tries++, failures++) {
      try {
        await untilAborted(this.#prepare(), signal);
        const { listening, lost } = await this.#open();
        failures = 0;
        this.#lost = lost;
        connection.up();
        if (tries > 0) events.onMissed();
        onTried();
        try {
          await this.#watch(lost.signal);
        } finally {
          this.#lost = undefined;
          this.#payloads = [];
          lost.abort(wasLost());
          await listening.close().catch(() => {});
        }
      } catch (error) {
        const problem = failureOf(error, "connect", true);
        connection.down(problem);
        onTried(problem);
      }
      await pause(clock, backoffMs(failures, RETRY), signal);
    }
  }

  async #prepare(): Promise<void> {
    if (this.#isPrepared) return;
    await this.#options.prepare();
    this.#isPrepared = true;
  }

  /** Opens a connection that listens, and waits until it hears a notification that was sent by another connection. */
  async #open(): Promise<{ listening: Listening; lost: AbortController }> {
    const { client, clock, names, timeoutMs: ms } = this.#options;
    const { signal } = this.#stop;
    const lost = new AbortController();
    const late = () => unavailable(`listen: PostgreSQL did not answer within ${ms} ms`);
    const opening = client.listen(names.channel, this.#heard, () => lost.abort(wasLost()));
    try {
      const listening = await runWithin({ clock, signal, ms, late }, () => opening);
      await untilAborted(untilAborted(this.#probe(lost.signal), lost.signal), signal);
      return { listening, lost };
    } catch (error) {
      opening.then((listening) => listening.close()).catch(() => {});
      throw failureOf(error, "listen", true);
    }
  }

  /** Resolves when the connection is lost. Rejects when the server does not answer. */
  async #watch(lost: AbortSignal): Promise<void> {
    const { clock, connection } = this.#options;
    for (;;) {
      await this.#look.wait(clock, Number.POSITIVE_INFINITY, [lost]);
      if (lost.aborted) return;
      await untilAborted(this.#answer(lost), lost);
      connection.up();
    }
  }

  /**
   * Resolves when the server answers. Tries several times, since a pool may have several connections that are lost and not
   * found yet. A notification that was sent and not heard decides.
   */
  async #answer(lost: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        return await this.#probe(lost);
      } catch (error) {
        if (tries === LOOKS || lost.aborted || !(error instanceof ClusterError) || error.failure === "refused")
          throw error;
      }
      await pause(clock, LOOK_AGAIN_MS, lost);
    }
  }

  /** Sends a notification by another connection, and resolves when it is heard. */
  async #probe(lost: AbortSignal): Promise<void> {
    const { connection, names, timeoutMs } = this.#options;
    const late = () => hidden(names.channel, timeoutMs);
    await this.#hear(1, lost, late, async (header) => {
      await connection.attempt(this.#statements.probe, [`${header}1?`]);
    });
  }

  /** Sends payloads with a header and numbers from 1, and resolves when the last one is heard. */
  async #hear(
    count: number,
    lost: AbortSignal,
    late: () => ClusterError,
    send: (header: string) => Promise<void>,
  ): Promise<void> {
    const { clock, timeoutMs: ms } = this.#options;
    const header = `${this.#name}.${++this.#sent}.`;
    const heard = new Promise<void>((resolve) => this.#awaited.set(header + count, resolve));
    try {
      await send(header);
      await runWithin({ clock, signal: lost, ms, late }, () => heard);
    } finally {
      this.#awaited.delete(header + count);
    }
  }

  readonly #heard = (payload: string): void => {
    // A library that has added its listener twice after a loss delivers each payload twice in a row. All payloads differ.
    if (payload === this.#newest) return;
    this.#newest = payload;
    this.#payloads.push(payload);
    if (!this.#isDelivering) void this.#deliver();
  };

  /** Delivers payloads in order. Those that come while a stored text is read wait. */
  async #deliver(): Promise<void> {
    const { events } = this.#options;
    this.#isDelivering = true;
    for (let payload = this.#payloads.shift(); payload !== undefined; payload = this.#payloads.shift()) {
      const [, header = "", kind, rest = ""] = /^([^=@?]*)([=@?])(.*)$/s.exec(payload) ?? [];
      // What comes before the connection counts as open is missed.
      const lost = this.#lost?.signal;
      try {
        const text = kind === "@" && lost !== undefined ? await this.#read(rest, lost) : rest;
        if (kind !== "?" && lost?.aborted === false) events.onText(fromStored(text));
      } catch {
        // The row is gone or cannot be read, or the text is of no process of this release.
        if (lost?.aborted === false) events.onMissed();
      }
      this.#awaited.get(header)?.();
    }
    this.#isDelivering = false;
  }

  async #read(id: string, lost: AbortSignal): Promise<string> {
    const { connection } = this.#options;
    const [row] = await untilAborted(connection.run(this.#statements.read, id, [id]), lost);
    if (row === undefined) throw new ClusterError("missed", `message ${id} is not kept any more`);
    return row.text ?? "";
  }
}

function statementsOf({ of, channel }: Names) {
  return {
    probe: { operation: "notify", isRead: true, text: `select pg_notify('${channel}', $1::text)::text as done` },
    send: {
      operation: "send messages",
      text: `select ${of("notify_2")}('${channel}', $1::text || x.place, x.text)::text as done
        from jsonb_array_elements_text($2::text::jsonb) with ordinality as x(text, place) order by x.place`,
    },
    read: {
      operation: "read a message",
      isRead: true,
      text: `select text from ${of("messages")} where id = $1::bigint`,
    },
  };
}

const wasLost = () => unavailable("the connection that listens to PostgreSQL was lost");

function hidden(channel: string, ms: number): ClusterError {
  return new ClusterError(
    "refused",
    `postgresCluster: a notification to the channel ${channel} did not arrive within ${ms} ms at the connection that listens; a pooler in transaction or statement mode hides LISTEN: pass a client with a direct connection as the option listener`,
  );
}
