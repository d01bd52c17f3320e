import type { AuthInfo } from "./auth-info.js";

/** What was found out about tokens, each until its time is over. Bounded: when it is full, the oldest make room. */
export class KeptTokens {
  readonly #kept = new Map<string, { readonly info: AuthInfo; readonly untilMs: number }>();
  readonly #max: number;
  readonly #now: () => number;

  constructor(max: number, now: () => number) {
    this.#max = max;
    this.#now = now;
  }

  find(token: string): AuthInfo | undefined {
    const kept = this.#kept.get(token);
    if (kept === undefined || kept.untilMs > this.#now()) return kept?.info;
    this.#kept.delete(token);
    return undefined;
  }

  /** Keeps it for so long, but not beyond the token's end. */
  keep(info: AuthInfo, ms: number): void {
    const now = this.#now();
    const { token, expiresAt } = info;
    const end = typeof expiresAt === "number" ? expiresAt * 1000 : Number.POSITIVE_INFINITY;
    const untilMs = Math.min(now + ms, end);
    if (!(untilMs > now && this.#max > 0)) return;
    this.#kept.delete(token);
    if (this.#kept.size >= this.#max) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(token, { info, untilMs });
  }
}
