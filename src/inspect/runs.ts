import { toFailure, VerbError } from "./failure.js";
import type { InspectLimits } from "./limits.js";
import type { OpenRun, RunEnd, VerbName } from "./protocol.js";

/** What a run is about. */
export interface RunInfo {
  readonly connection: number;
  readonly verb: VerbName;
  readonly name?: string | undefined;
}

/** Where a recording is now. */
export interface Position {
  readonly t: number;
  readonly line: number;
}

/** What runs need of their surroundings. */
export interface RunsEnds {
  readonly position: () => Position;
  readonly redact: (end: RunEnd) => RunEnd;
  readonly onChange: () => void;
}

interface Running extends OpenRun {
  readonly end: AbortController;
  other?: number | undefined;
}

/** End of a run with its position among all ends. */
interface Ended {
  readonly index: number;
  readonly lastLine: number;
  readonly text: string;
}

/** Runs of verbs that take long, and the latest of their ends. */
export class Runs {
  readonly #limits: Pick<InspectLimits, "maxRuns" | "maxKeptRuns" | "maxKeptRunBytes">;
  readonly #ends: RunsEnds;
  readonly #running = new Map<number, Running>();
  #ended: Ended[] = [];
  #size = 0;
  #last = 0;
  #count = 0;

  constructor(limits: InspectLimits, ends: RunsEnds) {
    this.#limits = limits;
    this.#ends = ends;
  }

  /** Runs that have not ended. */
  get open(): readonly OpenRun[] {
    return [...this.#running.values()].map(toOpenRun);
  }

  /** Begins a run. Its end is told with what `work` resolves or rejects with. */
  start(info: RunInfo, work: (signal: AbortSignal) => Promise<unknown>): number {
    if (this.#running.size >= this.#limits.maxRuns)
      throw new VerbError("too_many", `${this.#limits.maxRuns} runs are open: wait for one, or cancel one`);
    const run = ++this.#last;
    const { t, line } = this.#ends.position();
    const running: Running = { run, ...info, from: t, line, end: new AbortController() };
    this.#running.set(run, running);
    this.#ends.onChange();
    const { signal } = running.end;
    const done = async () => {
      try {
        return { result: await work(signal) };
      } catch (error) {
        return { error: toFailure(signal.aborted ? signal.reason : error) };
      }
    };
    void done().then((outcome) => this.#end(running, outcome));
    return run;
  }

  /** Says that two runs are the same call in two eras. */
  pair(one: number, two: number): void {
    const [first, second] = [this.#running.get(one), this.#running.get(two)];
    if (first !== undefined) first.other = two;
    if (second !== undefined) second.other = one;
  }

  cancel(run: number, reason = "the user cancelled it"): void {
    const running = this.#running.get(run);
    if (running === undefined) throw new VerbError("unknown_run", `run ${run} is not open`);
    running.end.abort(new VerbError("cancelled", reason));
  }

  /** Cancels all runs, of a connection if one is named. */
  cancelAll(reason: string, connection?: number): void {
    for (const running of this.#running.values())
      if (connection === undefined || running.connection === connection)
        running.end.abort(new VerbError("cancelled", reason));
  }

  /** Returns the text of the end with an index, or of the first that is still kept. */
  at(index: number): Ended | undefined {
    const oldest = this.#ended[0]?.index ?? this.#count;
    return this.#ended[Math.max(index, oldest) - oldest];
  }

  #end(running: Running, outcome: Pick<RunEnd, "result" | "error">): void {
    this.#running.delete(running.run);
    const { t, line } = this.#ends.position();
    const end: RunEnd = { ...toOpenRun(running), to: t, lastLine: line, ...outcome };
    this.#keep(line, JSON.stringify(this.#ends.redact(end)));
    this.#ends.onChange();
  }

  #keep(lastLine: number, text: string): void {
    this.#ended.push({ index: this.#count++, lastLine, text });
    this.#size += text.length;
    const { maxKeptRuns, maxKeptRunBytes } = this.#limits;
    while (this.#ended.length > 1 && (this.#ended.length > maxKeptRuns || this.#size > maxKeptRunBytes))
      this.#size -= this.#ended.shift()!.text.length;
  }
}

function toOpenRun({ end: _, ...run }: Running): OpenRun {
  return run;
}
