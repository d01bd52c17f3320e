import { unref } from "../../call/clock.js";
import { type Dispatcher, isNodesOwn } from "./dispatcher.js";

/** Dispatcher with one connection. */
interface Line extends Dispatcher {
  close(): Promise<void>;
  destroy(): Promise<void>;
}

/** Time for which connections beyond the maximum are kept, since the next calls may need them. */
const SPARE_MS = 1_000;

/**
 * Connections of a client. Node's own dispatcher keeps each idle connection for as long as the server allows, which may
 * be minutes, and never closes those of a client that has ended. So each connection has a dispatcher of the same class.
 * The one that was used last is taken first.
 */
export class Connections {
  readonly #maxIdle: number;
  readonly #idle: Line[] = [];
  #isKept = true;
  /** Minimum number of idle connections since the last sweep. They were not needed. */
  #leastIdle = 0;
  #sweeper: ReturnType<typeof setTimeout> | undefined;

  constructor(maxIdle: number) {
    this.#maxIdle = maxIdle;
  }

  /** Sets whether idle connections are kept. Without that, they close now, and others as soon as they are idle. */
  keepIdle(isKept: boolean): void {
    this.#isKept = isKept;
    if (!isKept) this.#keep(0);
  }

  /** Takes a connection of the same kind as those of the dispatcher. Undefined if only the dispatcher itself will do. */
  take(dispatcher: Dispatcher): Line | undefined {
    if (!isNodesOwn(dispatcher)) return undefined;
    const idle = this.#idle.pop();
    this.#leastIdle = Math.min(this.#leastIdle, this.#idle.length);
    return idle ?? new (dispatcher.constructor as new (options: object) => Line)({ connections: 1 });
  }

  /** Takes a connection back. One with a broken request is not used again. */
  give(line: Line, isUsable: boolean): void {
    if (!isUsable) return end(line.destroy());
    if (!this.#isKept) return end(line.close());
    this.#idle.push(line);
    if (this.#sweeper === undefined && this.#idle.length > this.#maxIdle) this.#watch();
  }

  #watch(): void {
    this.#leastIdle = this.#idle.length;
    this.#sweeper = setTimeout(() => {
      this.#sweeper = undefined;
      this.#keep(Math.max(this.#maxIdle, this.#idle.length - this.#leastIdle));
      if (this.#idle.length > this.#maxIdle) this.#watch();
    }, SPARE_MS);
    unref(this.#sweeper);
  }

  /** Closes the idle connections beyond a number, those first that were unused longest. */
  #keep(most: number): void {
    for (const line of this.#idle.splice(0, Math.max(0, this.#idle.length - most))) end(line.close());
  }
}

function end(closing: Promise<void>): void {
  closing.catch(() => {});
}
