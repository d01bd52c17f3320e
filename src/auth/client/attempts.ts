import { AuthError } from "../../protocol/auth-error.js";
import type { Attempt } from "./code-flow.js";
import type { AuthRecords } from "./store.js";

/** Attempts that nobody has finished for this long are void. */
const ATTEMPT_MS = 3_600_000;
/** How many users may be away at the same time for one MCP server. */
const MAX_OPEN = 32;

type Open = readonly Pick<Attempt, "state" | "startedAt">[];

/** Users who have been sent away, each by the state that the answer will carry. Those who never come back are forgotten. */
export class Attempts {
  readonly #records: AuthRecords;
  readonly #now: () => number;

  constructor(records: AuthRecords, now: () => number) {
    this.#records = records;
    this.#now = now;
  }

  async save(attempt: Attempt): Promise<void> {
    const { state, startedAt, server } = attempt;
    await this.#records.write("attempt", state, attempt);
    const before = await this.#open(server);
    const open = before.filter((each) => !this.#isVoid(each)).slice(1 - MAX_OPEN);
    await this.#records.write("attempts", server, [...open, { state, startedAt }]);
    for (const each of before) if (!open.includes(each)) await this.#records.drop("attempt", each.state);
  }

  async drop({ state, server }: Attempt): Promise<void> {
    await this.#records.drop("attempt", state);
    const rest = (await this.#open(server)).filter((each) => each.state !== state);
    if (rest.length === 0) await this.#records.drop("attempts", server);
    else await this.#records.write("attempts", server, rest);
  }

  /** The attempt that an answer belongs to. */
  async find(params: URLSearchParams): Promise<Attempt> {
    const state = params.get("state");
    const attempt = state === null ? undefined : await this.#records.read<Attempt>("attempt", state);
    if (attempt !== undefined && !this.#isVoid(attempt)) return attempt;
    if (attempt !== undefined) await this.drop(attempt);
    throw new AuthError("callback", "The answer belongs to no attempt that is known here");
  }

  async #open(server: string): Promise<Open> {
    return (await this.#records.read<Open>("attempts", server)) ?? [];
  }

  #isVoid({ startedAt }: Pick<Attempt, "startedAt">): boolean {
    return this.#now() - startedAt >= ATTEMPT_MS;
  }
}
