import type { Bus } from "../../../cluster/cluster.js";
import type { TaskRecord } from "../record.js";
import type { SoughtTask } from "../workers.js";

const TOPIC = "tasks";

/** Message between processes: a task has changed, or is to be run by a process that can. */
export type TaskMessage = Pick<TaskRecord, "id" | "stage"> | SoughtTask;

export interface TaskMessagesOptions {
  readonly bus: Bus;
  /** Called with each message, also with those of this process. */
  readonly hear: (message: TaskMessage) => void;
  /** Called when messages may have been missed: after a gap, and when this process begins to hear them. */
  readonly onMissed: () => void;
  readonly report: (error: unknown) => void;
  /** Reports an error, and does some work again later. */
  readonly retry: (key: string, error: unknown, work: () => void) => void;
}

/** Messages about tasks between the processes of a cluster. */
export class TaskMessages {
  readonly #options: TaskMessagesOptions;
  /** Messages on their way to other processes. */
  readonly #telling = new Set<Promise<void>>();
  #joined: Promise<void> | undefined;
  #leave: (() => void)[] = [];
  #isOver = false;

  constructor(options: TaskMessagesOptions) {
    this.#options = options;
  }

  /** Hears the messages of other processes from now on. Idempotent. */
  join(): Promise<void> {
    this.#joined ??= this.#subscribe().catch((error) => {
      this.#joined = undefined;
      throw error;
    });
    return this.#joined;
  }

  /** Sends a message to all processes. It is sent again if that fails, unless a later one has the same key. */
  tell(key: string, message: TaskMessage): void {
    const { bus, retry } = this.#options;
    const telling = (async () => bus.publish(TOPIC, JSON.stringify(message)))()
      .catch((error: unknown) => retry(key, error, () => this.tell(key, message)))
      .finally(() => this.#telling.delete(telling));
    this.#telling.add(telling);
  }

  /** Resolves when the messages of this process are sent. */
  async told(): Promise<void> {
    await Promise.all(this.#telling);
  }

  /** Hears no more messages. A subscription that is under way ends when it is complete. */
  stop(): void {
    this.#isOver = true;
    for (const leave of this.#leave.splice(0)) leave();
  }

  async #subscribe(): Promise<void> {
    const { bus, hear, onMissed, report } = this.#options;
    const leave = await bus.subscribe(TOPIC, (text) => {
      try {
        hear(JSON.parse(text) as TaskMessage);
      } catch (error) {
        report(error);
      }
    });
    this.#leave.push(() => void (async () => leave())().catch(report), bus.onGap(onMissed));
    if (this.#isOver) this.stop();
    else onMissed();
  }
}
