import { type Clock, pause } from "../call/clock.js";
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

/** The end of an attempt that another one has overtaken. Nobody gets to see it. */
const SUPERSEDED = new WrongEraError("the server answered in another era", undefined);

/** One era's attempt to open a connection. It is given up without a word to the server. */
export class Attempt {
  /** Handled: a rejection that nobody looks at is harmless. */
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

  /** Whether the server has answered its first question, whatever the answer is. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  /** Whether this is the error that it failed with. */
  failedWith(error: unknown): boolean {
    return this.#failure === error;
  }

  /** Whether nothing comes of it, and no answer, for so long. */
  async isSilentFor(ms: number): Promise<boolean> {
    const settled = new AbortController();
    const settle = () => settled.abort();
    this.connection.then(settle, settle);
    await pause(this.#clock, ms, settled.signal);
    return !settled.signal.aborted && !this.#isAnswered;
  }

  /** Lets another era have the connection, unless the server speaks this one: rejects then. */
  async giveWay(): Promise<void> {
    if (!this.#isAnswered) return this.giveUp();
    const isWrong = (error: unknown) => error instanceof WrongEraError;
    if (!(await this.connection.then(() => false, isWrong))) throw SUPERSEDED;
  }

  giveUp(): void {
    this.#lifetime.abort(SUPERSEDED);
  }

  /**
   * The connection of whichever is answered: this one, or `other`, which asks the same channel beside it. Where both are,
   * it is this one. A server that refuses the other is waited for a little longer.
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

  /** The other era may have been listening meanwhile. */
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
