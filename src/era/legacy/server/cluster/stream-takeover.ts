import type { Clock } from "../../../../call/clock.js";
import type { BroadcastId } from "../shared-sessions.js";
import type { Holder } from "./session-record.js";

/** Time for which the new writer of a stream waits until the former one tells what it has written. */
const WAIT_MS = 1_000;

const NONE: ReadonlySet<string> = new Set();

/** Number of the last message of each process. */
export type Numbers = ReadonlyMap<string, number>;

/** Process that wrote a stream before. */
export interface FormerWriter {
  /** Undefined if no process has written the stream. */
  readonly name: string | undefined;
  /** Last message of each sender that it had received when it left the stream, if it said so. */
  readonly received?: Holder["received"];
}

/** What tells which messages are in the stream already. */
interface Before {
  readonly former: string | undefined;
  /** Messages in the log. */
  readonly stored: ReadonlySet<string>;
  /** True if the former writer left the stream. A message that it had received then may not be in the log. */
  readonly isLeft: boolean;
}

/**
 * State of a takeover:
 *
 * ```
 * claiming ---> waiting ---> writing
 *     |            |
 *     +--> lost <--+
 * ```
 */
type State =
  /** The record of the session is being changed, and the log claimed. */
  | { readonly name: "claiming" }
  /** This process is the writer. The former one has not told what it has written. */
  | { readonly name: "waiting"; readonly before: Before; readonly timer: unknown }
  /** This process writes. The former writer has told, or does not answer. */
  | { readonly name: "writing"; readonly before: Before }
  /** Another process has taken the stream over before this one wrote to it. It needs what the former writer tells. */
  | { readonly name: "lost"; readonly former: string | undefined };

export interface StreamTakeoverOptions {
  readonly clock: Clock;
  /** Writes those of the messages that are kept. */
  write(isMissing: (id: BroadcastId) => boolean): void;
  /** Tells the other processes which messages are in a stream that this one has lost. */
  tell(written: Numbers): void;
  /** Called if the former writer does not tell what it has written. */
  onSilent(former: string): void;
}

/** Messages to all clients in a standalone stream that moves to this process. */
export class StreamTakeover {
  readonly #options: StreamTakeoverOptions;
  #state: State = { name: "claiming" };
  /** What other processes have told. The former writer may tell before it is known. */
  readonly #told = new Map<string, Numbers>();
  /** Messages that came before this process wrote, and those that it has written. */
  readonly #came = new Set<string>();
  readonly #own = new Set<string>();

  constructor(options: StreamTakeoverOptions) {
    this.#options = options;
  }

  /** True while messages wait, since it is not known which of them are in the stream. */
  get isOpen(): boolean {
    return this.#state.name === "claiming" || this.#state.name === "waiting";
  }

  get isLost(): boolean {
    return this.#state.name === "lost";
  }

  /** Messages that the former writer has told of. */
  get written(): Numbers | undefined {
    return "before" in this.#state ? this.#numbersOf(this.#state.before.former) : undefined;
  }

  /** Takes note that this process is the writer. `stored` has the messages that are in the log, if there is one. */
  taken({ name: former, received }: FormerWriter, stored?: ReadonlySet<string>): void {
    if (former !== undefined && received !== undefined) this.#told.set(former, new Map(received));
    if (this.#state.name === "lost") return this.#passOn(former);
    const before = { former, stored: stored ?? NONE, isLeft: received !== undefined && stored !== undefined };
    if (former === undefined || this.#told.has(former)) return this.#write(before);
    const timer = this.#options.clock.schedule(() => {
      this.#write(before);
      this.#options.onSilent(former);
    }, WAIT_MS);
    this.#state = { name: "waiting", before, timer };
  }

  /** Takes what another process has written to the stream. */
  onTold(from: string, written: Numbers): void {
    this.#told.set(from, written);
    const state = this.#state;
    if (state.name === "lost" && from === state.former) this.#passOn(from);
    else if ("before" in state && from === state.before.former) this.#write(state.before);
  }

  /**
   * Takes note that another process has taken the stream over. It gets what the `former` writer tells, as soon as it does.
   * Returns false if this process has written to the stream, so that it has to tell that itself.
   */
  lose(former?: string): boolean {
    const state = this.#state;
    if (state.name === "writing") return false;
    this.close();
    if (state.name !== "lost") this.#passOn("before" in state ? state.before.former : former);
    return true;
  }

  /** True if a message that comes now is to be written. Otherwise it waits, or is in the stream. */
  isDue(id: BroadcastId): boolean {
    if (this.isOpen) this.#came.add(textOf(id));
    return this.#state.name === "writing" && this.#isMissing(this.#state.before, id, true);
  }

  /** True for a message that has come since the takeover began, and waited. */
  hasWaited(id: BroadcastId): boolean {
    return this.#came.has(textOf(id));
  }

  /** Ends the waiting for the former writer. */
  close(): void {
    if (this.#state.name === "waiting") this.#options.clock.cancel(this.#state.timer);
  }

  #passOn(former: string | undefined): void {
    this.#state = { name: "lost", former };
    const written = this.#numbersOf(former);
    if (written !== undefined) this.#options.tell(written);
  }

  /** Writes the messages that the former writer has not written. One that tells late is believed then. */
  #write(before: Before): void {
    this.close();
    this.#state = { name: "writing", before };
    this.#options.write((id) => this.#isMissing(before, id, this.hasWaited(id)));
  }

  /**
   * True if a message is in the stream neither by this process nor by another one. It is noted as written. `isRecent` is
   * true for one that came since the takeover began. An earlier one is missing only if the former writer, or the log, says
   * so.
   */
  #isMissing({ former, stored, isLeft }: Before, id: BroadcastId, isRecent: boolean): boolean {
    const text = textOf(id);
    if (this.#own.has(text) || stored.has(text)) return false;
    const last = this.#numbersOf(former)?.get(id.from);
    const isMissing = (isLeft && isRecent) || (last === undefined ? isRecent : id.number > last);
    if (isMissing) this.#own.add(text);
    return isMissing;
  }

  #numbersOf(writer: string | undefined): Numbers | undefined {
    return writer === undefined ? undefined : this.#told.get(writer);
  }
}

/** Returns the id as text. It contains no space, as the names of processes do not. */
export function textOf({ from, number }: BroadcastId): string {
  return `${from}:${number}`;
}
