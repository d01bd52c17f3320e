import type { Clock } from "../call/clock.js";
import type { Prepared, Session } from "./database.js";
import type { Message, News, Watched } from "./messages.js";

/** Maximum number of rows that one statement reads. */
const PAGE = 500;

/** Number of looks without a change after which the next ones are further apart, and the factor of their interval. */
const QUIET_LOOKS = 200;
const QUIET_FACTOR = 8;

export interface WatcherOptions {
  readonly session: Session;
  readonly clock: Clock;
  readonly pollMs: number;
  readonly tell: (news: News) => void;
}

const NOTHING: Watched = { topics: [], logs: false, jobs: false };

/**
 * Finds changes of the file, in the thread. `data_version` tells if another connection has changed it. It is asked only
 * while this process waits for something, and less often after a second in which nothing happened.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly #statements: Readonly<Record<"version" | "counters" | "logs" | "messages", Prepared>>;
  #watched = NOTHING;
  #topics = new Set<string>();
  #version: unknown;
  /** Values of the counters up to which changes were told. */
  #told = { version: 0, message: 0, jobs: 0 };
  #timer: unknown;
  /** Number of looks since something happened. */
  #quiet = 0;

  constructor(options: WatcherOptions) {
    this.#options = options;
    const { database, of } = options.session;
    this.#statements = {
      version: database.prepare("pragma data_version"),
      counters: database.prepare(`select name, value from ${of("counters")}`),
      logs: database.prepare(`select id, changed from ${of("logs")} where changed > ? order by changed limit ${PAGE}`),
      messages: database.prepare(`select id, sender, topic, text from ${of("messages")} where id > ?
        order by id limit ${PAGE}`),
    };
  }

  /** Replaces what is watched. Changes of a kind are told from the moment at which it is watched. */
  watch(watched: Watched): void {
    const before = this.#watched;
    this.#watched = watched;
    this.#topics = new Set(watched.topics);
    const now = this.#counters();
    if (!before.logs) this.#told.version = now.version;
    if (before.topics.length === 0) this.#told.message = now.message;
    if (!before.jobs) this.#told.jobs = now.jobs;
    if (!this.#isWatching) this.close();
    else if (this.#timer === undefined) {
      this.#version = this.#dataVersion();
      this.#plan();
    }
  }

  /** Tells the changes since the last look. */
  look(): void {
    if (!this.#isWatching) return;
    const now = this.#counters();
    const { jobs } = this.#watched;
    const isChanged = jobs && now.jobs > this.#told.jobs;
    this.#told.jobs = now.jobs;
    const logs = this.#changedLogs(now.version);
    const { messages, isGap } = this.#newMessages(now.message);
    if (isChanged || isGap || logs.length > 0 || messages.length > 0)
      this.#options.tell({ messages, isGap, logs, jobs: isChanged });
  }

  /** Looks often again, since this process does something. */
  stir(): void {
    const wasQuiet = this.#quiet >= QUIET_LOOKS;
    this.#quiet = 0;
    if (!wasQuiet || this.#timer === undefined) return;
    this.close();
    this.#plan();
  }

  close(): void {
    this.#options.clock.cancel(this.#timer);
    this.#timer = undefined;
  }

  get #isWatching(): boolean {
    const { topics, logs, jobs } = this.#watched;
    return logs || jobs || topics.length > 0;
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
    this.#quiet = 0;
    this.look();
    this.#version = version;
  }

  #dataVersion(): unknown {
    return this.#statements.version.get()?.data_version;
  }

  #counters(): { version: number; message: number; jobs: number } {
    const counters = { version: 0, message: 0, jobs: 0 };
    return Object.assign(
      counters,
      Object.fromEntries(this.#statements.counters.all().map(({ name, value }) => [name, Number(value)])),
    );
  }

  #changedLogs(version: number): number[] {
    const found: number[] = [];
    const isWatched = this.#watched.logs;
    while (isWatched && this.#told.version < version) {
      const page = this.#statements.logs.all(this.#told.version);
      found.push(...page.map(({ id }) => Number(id)));
      if (page.length < PAGE) break;
      this.#told.version = Number(page.at(-1)?.changed);
    }
    this.#told.version = Math.max(this.#told.version, version);
    return found;
  }

  /** Returns the messages up to a number. The numbers have no holes, so that a missing one was deleted. */
  #newMessages(last: number): { messages: Message[]; isGap: boolean } {
    const messages: Message[] = [];
    let isGap = false;
    while (this.#topics.size > 0 && this.#told.message < last) {
      const page = this.#statements.messages.all(this.#told.message) as unknown as readonly Message[];
      for (const message of page) {
        isGap ||= message.id !== this.#told.message + 1;
        this.#told.message = message.id;
        if (this.#topics.has(message.topic)) messages.push(message);
      }
      if (page.length === PAGE) continue;
      isGap ||= this.#told.message < last;
      break;
    }
    this.#told.message = Math.max(this.#told.message, last);
    return { messages, isGap };
  }
}
