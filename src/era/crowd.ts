import { type Addressed, addressOf } from "./caller.js";
import type { ServerRuntime } from "./server-era.js";

/** Part of what callers without a principal may have. Beyond it, what they have is counted for their addresses too. */
export const CROWD = 0.5;

/**
 * What callers without a principal have beyond half of what all of them may have, by their addresses. An address may have
 * a part of the rest, so that no stranger keeps all of it. To find the addresses takes time, so it is not done before.
 */
export class Crowd<Member> {
  readonly #runtime: Pick<ServerRuntime, "options" | "report">;
  readonly #addresses = new Map<Member, string>();
  readonly #counts = new Map<string, number>();
  /** Number of members. A field, since each call asks for it. */
  size = 0;

  constructor(runtime: Pick<ServerRuntime, "options" | "report">) {
    this.#runtime = runtime;
  }

  /** Returns the address for which a further member counts. Undefined if it is not known. */
  addressFor(origin: Addressed): string | undefined {
    try {
      return addressOf(this.#runtime, origin);
    } catch (error) {
      this.#runtime.report(error, { where: "remoteOf" });
      return undefined;
    }
  }

  /** Number of members of an address. */
  countOf(address: string): number {
    return this.#counts.get(address) ?? 0;
  }

  has(member: Member, address: string): boolean {
    return this.#addresses.get(member) === address;
  }

  add(member: Member, address: string): void {
    this.#addresses.set(member, address);
    this.size++;
    this.#counts.set(address, this.countOf(address) + 1);
  }

  /** Removes a member, if it was added. */
  remove(member: Member): void {
    const address = this.#addresses.get(member);
    if (address === undefined) return;
    this.#addresses.delete(member);
    this.size--;
    const left = this.countOf(address) - 1;
    if (left > 0) this.#counts.set(address, left);
    else this.#counts.delete(address);
  }
}
