import { AbortSwitch } from "../../call/abort-switch.js";
import { untilAborted } from "../../call/abortable.js";
import type { ExtensionClient } from "../../client/extensions.js";
import type { Params } from "../../protocol/jsonrpc/message.js";
import type { InputRequests, InputResponses } from "../../protocol/types/index.js";
import { TaskError } from "../error.js";

/** Parts of a task's run that its input requests use. */
export interface InputHost {
  readonly taskId: string;
  readonly client: ExtensionClient;
  readonly maxInputRequests: number;
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
  readonly #seen = new Set<string>();
  readonly #end = new AbortSwitch();

  constructor(host: InputHost) {
    this.#host = host;
  }

  /** Handles the requests that are new. */
  take(requests: InputRequests): void {
    const fresh = Object.entries(requests).filter(([key]) => !this.#seen.has(key));
    if (fresh.length === 0) return;
    for (const [key] of fresh) this.#seen.add(key);
    const { maxInputRequests: most, taskId } = this.#host;
    if (this.#seen.size > most) {
      const message = `The task ${taskId} sent more than ${most} input requests (limits.maxInputRequests of tasks)`;
      return this.#host.fail(new TaskError("task_input_limit", message, taskId));
    }
    this.#answer(Object.fromEntries(fresh)).catch((error: unknown) => {
      if (!this.#end.aborted) this.#host.fail(error);
    });
  }

  /** Leaves these requests to the caller, who answers them. */
  skip(keys: readonly string[]): void {
    for (const key of keys) this.#seen.add(key);
  }

  /** Aborts the handlers that still run. */
  close(reason: unknown): void {
    this.#end.abort(reason);
  }

  async #answer(requests: InputRequests): Promise<void> {
    const answers = Object.entries(requests).map(async ([key, { method, params }]) => {
      return [key, await this.#host.client.answerInput(method, params as Params | undefined, this.#end)] as const;
    });
    const responses = Object.fromEntries(await untilAborted(Promise.all(answers), this.#end));
    await this.#host.update(responses as unknown as InputResponses);
  }
}
