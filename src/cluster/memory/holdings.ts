import { AbortSwitch } from "../../call/abort-switch.js";
import { ClusterError } from "../error.js";
import { type Expiries, Expiring } from "./expiries.js";

/** Right of a node, such as a lease or a job. It ends with the node, or some time after the node was cut off. */
export class Holding extends Expiring {
  readonly #lost = new AbortSwitch();

  /** True after the right was released or lost. */
  isOver = false;

  constructor(
    readonly holdings: Holdings,
    readonly name: string,
    readonly ttlMs: number,
    readonly free: () => void,
  ) {
    super();
    holdings.add(this);
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Ends the right after `ttlMs`, although its node is connected, unless it is renewed again. Returns false if it is over. */
  renew(ttlMs: number): boolean {
    this.holdings.expireIn(this, ttlMs);
    return !this.isOver;
  }

  /** Ends the right without telling its holder. */
  end(): void {
    this.isOver = true;
    this.holdings.remove(this);
  }

  /** Takes the right from its holder. The holder is told before anyone else can have it. */
  expire(): void {
    this.end();
    this.#lost.abort(new ClusterError("fenced", `${this.name} is lost: its node was closed or cut off for too long`));
    this.free();
  }
}

/** Rights of a node. While it is connected they need no renewal. */
export class Holdings {
  readonly #expiries: Expiries;
  readonly #all = new Set<Holding>();

  constructor(expiries: Expiries) {
    this.#expiries = expiries;
  }

  add(holding: Holding): void {
    this.#all.add(holding);
  }

  remove(holding: Holding): void {
    this.#all.delete(holding);
    this.#expiries.remove(holding);
  }

  expireIn(holding: Holding, ttlMs: number): void {
    this.#expiries.catchUp();
    if (!holding.isOver) this.#expiries.set(holding, ttlMs);
  }

  cut(): void {
    for (const holding of this.#all) this.#expiries.set(holding, holding.ttlMs);
  }

  mend(): void {
    this.#expiries.catchUp();
    for (const holding of this.#all) this.#expiries.remove(holding);
  }

  close(): void {
    for (const holding of this.#all) holding.expire();
  }
}
