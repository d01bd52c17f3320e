import type { Clock } from "../call/clock.js";
import type { News } from "./messages.js";
import type { Session } from "./session.js";

/** Maximum number of rows that one statement reads. */
const PAGE = 500;

/** Number of looks without a change after which the next ones are further apart, and the factor of their interval. */
const QUIET_LOOKS = 200;
const QUIET_FACTOR = 8;

export interface WatcherOptions {
  readonly session: Session;
  readonly clock: Clock;
  readonly pollMs: number;
  /** Called with texts of other processes. */
  readonly tell: (news: News) => void;
}

/**
 * Finds texts that were sent, in the thread. `data_version` tells if another connection has changed the file. It is asked
 * less often after a second in which nothing happened.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #dataVersion: () => unknown;
  readonly #textsAfter: (id: number) => readonly { readonly id: number; readonly text: string }[];
  #version: unknown;
  /** Number of the last text that was told. */
  #told: number;
  #timer: unknown;
  /** Number of looks since something happened. */
  #quiet = 0;

  constructor(options: WatcherOptions) {
    this.#options = options;
    const { session } = options;
    const version = session.prepare("pragma data_version");
    const texts = session.prepare<{ id: number; text: string }>(
      `select id, text from {texts} where id > ? order by id limit ${PAGE}`,
    );
    this.#dataVersion = () => version.get()?.data_version;
    this.#textsAfter = (id) => texts.all(id);
    this.#version = this.#dataVersion();
    this.#told = Number(session.prepare("select max(id) as id from {texts}").get()?.id);
    this.#plan();
  }

  /** Returns the texts since the last look. Their numbers have no holes, so that a missing one was deleted. */
  look(): News | undefined {
    const texts: string[] = [];
    let isMissed = false;
    for (let isMore = true; isMore; ) {
      const page = this.#textsAfter(this.#told);
      for (const { id, text } of page) {
        isMissed ||= id !== this.#told + 1;
        this.#told = id;
        texts.push(text);
      }
      isMore = page.length === PAGE;
    }
    return texts.length > 0 ? { texts, isMissed } : undefined;
  }

  /** Looks often again, since this process does something. */
  stir(): void {
    const wasQuiet = this.#quiet >= QUIET_LOOKS;
    this.#quiet = 0;
    if (!wasQuiet) return;
    this.close();
    this.#plan();
  }

  close(): void {
    this.#options.clock.cancel(this.#timer);
  }

  #plan(): void {
    const { clock, pollMs } = this.#options;
    const ms = this.#quiet < QUIET_LOOKS ? pollMs : pollMs * QUIET_FACTOR;
    this.#timer = clock.schedule(() => {
      this.#poll();
      this.#plan();
    }, ms);
  }

  #poll(): void {
    this.#quiet++;
    const version = this.#dataVersion();
    if (version === this.#version) return;
    this.#version = version;
    this.#quiet = 0;
    const news = this.look();
    if (news !== undefined) this.#options.tell(news);
  }
}
