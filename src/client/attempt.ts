import { pause } from "../call/abortable.js";
import type { Clock } from "../call/clock.js";
import { CallLifetime, type LifetimeLimits } from "../call/lifetime.js";
import {
  type ClientEra,
  type ClientRuntime,
  type Connection,
  type OpenOptions,
  WrongEraError,
} from "../era/client-era.js";
import type { TransportReceiver, TransportTarget } from "../era/transport.js";
import { RpcError } from "../protocol/errors.js";

/** Reason for ending an attempt when another attempt has succeeded. It is never reported. */
const SUPERSEDED = new WrongEraError("the server answered in another era", undefined);

/** Attempt to open a connection in one era. Giving it up sends nothing to the server. */
export class Attempt {
  /** Its rejection is always handled, so that an ignored failure is harmless. */
  readonly connection: Promise<Connection>;
  readonly #wire: TransportTarget;
  readonly #clock: Clock;
  readonly #lifetime: CallLifetime;
  readonly #receiver: TransportReceiver | undefined;
  #isAnswered = false;
  #failure: unknown;

  constructor(
    era: ClientEra,
    wire: TransportTarget,
    runtime: ClientRuntime,
    open: OpenOptions,
    limits: LifetimeLimits,
  ) {
    this.#wire = wire;
    this.#clock = runtime.clock;
    this.#lifetime = new CallLifetime("connect", limits, runtime.clock);
    const onAnswer = () => {
      this.#isAnswered = true;
    };
    this.connection = this.#run(() => era.open(wire, runtime, { ...open, onAnswer }, this.#lifetime));
    this.connection.catch(() => {});
    this.#receiver = wire.kind === "channel" ? wire.transport.receiver : undefined;
  }

  /** True if the server has responded to the first request, with a result or an error. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** True if the attempt failed with this error. */
  failedWith(error: unknown): boolean {
    return this.#failure === error;
  }

  /** True if there is no response and no failure for `ms` milliseconds. */
  async isSilentFor(ms: number): Promise<boolean> {
    const settled = new AbortController();
    const settle = () => settled.abort();
    this.connection.then(settle, settle);
    await pause(this.#clock, ms, settled.signal);
    return !settled.signal.aborted && !this.#isAnswered;
  }

  /** Gives up this attempt in favour of another era. Rejects if the server speaks this one. */
  async giveWay(): Promise<void> {
    if (!this.#isAnswered) return this.giveUp();
    const isWrong = (error: unknown) => error instanceof WrongEraError;
    if (!(await this.connection.then(() => false, isWrong))) throw SUPERSEDED;
  }

  giveUp(): void {
    this.#lifetime.abort(SUPERSEDED);
  }

  /**
   * Returns the connection of the attempt that gets a response: this one, or `other`, which uses the same channel in
   * parallel. This one wins if both do. If the server refuses the other, waits a little longer for this one.
   */
  async orElse(other: Attempt, patienceMs: number): Promise<Connection> {
    const ours = this.connection.then(
      (connection) => this.#takeOver(connection, other),
      (error) => {
        const isLeftOpen = error === SUPERSEDED || (error instanceof WrongEraError && !this.#isDown);
        if (!isLeftOpen) throw error;
        return other.connection;
      },
    );
    const theirs = other.connection.catch(async (error: unknown) => {
      if (this.#isAnswered || this.#isDown) return ours;
      if (error instanceof RpcError && !(await this.isSilentFor(patienceMs))) return ours;
      throw error;
    });
    try {
      return await Promise.race([ours, theirs]);
    } finally {
      this.giveUp();
      other.giveUp();
    }
  }

  get #isDown(): boolean {
    return this.#wire.kind === "channel" && this.#wire.transport.closed;
  }

  /** Restores the receiver of the channel, which the other era may have replaced. */
  #takeOver(connection: Connection, other: Attempt): Connection {
    other.giveUp();
    if (this.#wire.kind === "channel" && this.#receiver !== undefined) this.#wire.transport.receiver = this.#receiver;
    return connection;
  }

  async #run(open: () => Promise<Connection>): Promise<Connection> {
    try {
      this.#lifetime.throwIfAborted();
      return await open();
    } catch (error) {
      this.#failure = error;
      throw error;
    } finally {
      this.#lifetime.close();
    }
  }
}
