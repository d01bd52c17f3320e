import { untilAborted } from "../../call/abortable.js";
import { ignoreErrors } from "../../call/maybe-promise.js";
import type { ExtensionClient } from "../../client/extensions.js";
import { RpcError } from "../../protocol/errors.js";
import { INVALID_PARAMS, METHOD_NOT_FOUND } from "../../protocol/jsonrpc/errors.js";
import type { RpcNotification } from "../../protocol/jsonrpc/message.js";
import type { SubscriptionFilter } from "../../protocol/types/index.js";
import { type DetailedTask, TASK_CHANGED } from "../types.js";
import type { ResolvedOptions } from "./options.js";
import { toDetailedTask } from "./shape.js";
import type { TaskWire } from "./wire.js";

const NOTHING = () => {};
const REFUSALS: ReadonlySet<number> = new Set([METHOD_NOT_FOUND, INVALID_PARAMS]);

/** Subscriptions of one client to tasks. They only make calls end sooner, so each failure leaves polling alone. */
export class TaskListener {
  readonly #client: ExtensionClient;
  readonly #options: ResolvedOptions;
  #open = 0;
  /** True after the server showed that it does not report on tasks. */
  #isRefused = false;

  constructor(client: ExtensionClient, options: ResolvedOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Subscribes to a task. Returns a function that ends the subscription. */
  listen(wire: TaskWire, onTask: (task: DetailedTask) => void): () => void {
    const { notifications, limits } = this.#options;
    if (!notifications || wire.isBare || this.#isRefused || this.#open >= limits.maxSubscriptions) return NOTHING;
    const end = new AbortController();
    this.#open++;
    void this.#follow(wire.id, onTask, end.signal).finally(() => this.#open--);
    return () => end.abort();
  }

  async #follow(id: string, onTask: (task: DetailedTask) => void, end: AbortSignal): Promise<void> {
    const onOther = ({ method, params }: RpcNotification) => {
      if (method === TASK_CHANGED && params?.taskId === id && !end.aborted)
        ignoreErrors(() => onTask(toDetailedTask(TASK_CHANGED, params)));
    };
    const filter = { taskIds: [id] } as SubscriptionFilter;
    let over = NOTHING;
    const ended = new Promise<void>((resolve) => {
      over = resolve;
    });
    const events = { onChange: NOTHING, onMissed: NOTHING, onEnd: over, onOther };
    try {
      const subscription = await this.#client.listen(filter, events, { signal: end });
      const { taskIds } = subscription.honoured as { readonly taskIds?: unknown };
      this.#isRefused = !Array.isArray(taskIds);
      if (Array.isArray(taskIds) && taskIds.includes(id)) await untilAborted(ended, end).catch(NOTHING);
      await subscription.close();
    } catch (error) {
      // After other failures, such as a lost connection, the next task tries again.
      this.#isRefused ||= error instanceof RpcError && REFUSALS.has(error.rpcCode);
    }
  }
}
