import { AbortSwitch } from "../../call/abort-switch.js";
import { untilAborted } from "../../call/abortable.js";
import type { ExtensionClient } from "../../client/extensions.js";
import { tooManyQuestions } from "../../client/input-rounds.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import type { InputRequests, InputResponses } from "../../protocol/types/index.js";
import { TaskError } from "../error.js";

/** Parts of a task's run that its input requests use. */
export interface InputHost {
  readonly taskId: string;
  readonly client: ExtensionClient;
  readonly maxInputRequests: number;
  /** Keys that this run, or another run of the task in this client, has taken. */
  readonly taken: Set<string>;
  /** Sends responses to the server. */
  update(responses: InputResponses): Promise<void>;
  /** Ends the run, since a request cannot be answered. */
  fail(error: unknown): void;
}

/**
 * Input requests of one task. Each is handled once, by its key, however often the server lists it. Those that appear
 * together are answered together.
 */
export class TaskInput {
  readonly #host: InputHost;
  /** Keys that this run has taken and not answered. */
  readonly #open = new Set<string>();
  readonly #end = new AbortSwitch();

  constructor(host: InputHost) {
    this.#host = host;
  }

  /** Handles the requests that are new. Leaves those that the client cannot handle at once to a later poll. */
  take(requests: InputRequests): void {
    const { maxInputRequests: most, taskId, taken, client, fail } = this.#host;
    const fresh = Object.entries(requests).filter(([key]) => !taken.has(key));
    if (taken.size + fresh.length > most) {
      const message = `The task ${taskId} sent more than ${most} input requests (limits.maxInputRequests of tasksClient)`;
      return fail(new TaskError("task_input_limit", message, taskId));
    }
    const { maxQuestions } = client.limits;
    if (fresh.length > maxQuestions) return fail(tooManyQuestions("tools/call", maxQuestions));
    const next = fresh.slice(0, client.freeQuestions);
    if (next.length === 0) return;
    for (const [key] of next) {
      taken.add(key);
      this.#open.add(key);
    }
    this.#answer(Object.fromEntries(next)).catch((error: unknown) => {
      if (!this.#end.aborted) fail(error);
    });
  }

  /** Leaves these requests to the caller, who answers them. */
  skip(keys: readonly string[]): void {
    for (const key of keys) this.#host.taken.add(key);
  }

  /** Aborts the handlers that still run. Another run of the task may take their requests. */
  close(reason: unknown): void {
    this.#end.abort(reason);
    for (const key of this.#open) this.#host.taken.delete(key);
  }

  async #answer(requests: InputRequests): Promise<void> {
    const answers = Object.entries(requests).map(async ([key, { method, params }]) => {
      return [key, await this.#host.client.answerInput(method, params as Params | undefined, this.#end)] as const;
    });
    const responses = Object.fromEntries(await untilAborted(Promise.all(answers), this.#end));
    await this.#host.update(responses as unknown as InputResponses);
    for (const key of Object.keys(requests)) this.#open.delete(key);
  }
}

/** Keys of input requests that the runs of one client have taken, per task. */
export class TakenKeys {
  readonly #tasks = new Map<string, { readonly keys: Set<string>; runs: number }>();

  /** Returns the keys for a run of a task. `close` must follow. */
  open(taskId: string): Set<string> {
    const task = this.#tasks.get(taskId) ?? { keys: new Set(), runs: 0 };
    this.#tasks.set(taskId, task);
    task.runs++;
    return task.keys;
  }

  /** Forgets the keys of a task after its last run. */
  close(taskId: string): void {
    const task = this.#tasks.get(taskId);
    if (task !== undefined && --task.runs === 0) this.#tasks.delete(taskId);
  }
}
