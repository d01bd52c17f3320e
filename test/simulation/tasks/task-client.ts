import type { Message } from "../history.js";
import type { SseEvent } from "../http.js";
import type { World } from "../world.js";
import { TOOLS } from "./plan.js";
import { answerOf, type SeenTask, type TaskHistory, type TaskTruth } from "./task-history.js";

const VERSION = "2026-07-28";
const EXTENSION = "io.modelcontextprotocol/tasks";
const CAPABILITIES = { elicitation: {}, extensions: { [EXTENSION]: {} } };
const META = {
  "io.modelcontextprotocol/protocolVersion": VERSION,
  "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
};
const UNKNOWN_TASK = -32602;

interface Subscription {
  /** Time of day from which changes must be told. */
  since: number;
  /** Last state that was told. */
  last: SeenTask | undefined;
}

/** Client of one task. Each of its requests goes to any node. */
export class TaskClient {
  readonly #world: World;
  readonly #history: TaskHistory;
  readonly #task: TaskTruth;
  #requests = 0;
  /** Subscriptions that are open. */
  readonly subscriptions = new Set<Subscription>();

  constructor(world: World, history: TaskHistory, task: TaskTruth) {
    this.#world = world;
    this.#history = history;
    this.#task = task;
  }

  get task(): TaskTruth {
    return this.#task;
  }

  /** Creates the task, and follows it to its end. */
  async run(): Promise<void> {
    const task = this.#task;
    const { plan } = task;
    const beganAt = this.#world.now();
    const params = { name: plan.tool, arguments: { task: task.number } };
    const message = await this.#request("tools/call", params, plan.tool);
    this.#history.count(`task calls ${plan.tool}`);
    if (message?.result === undefined) {
      task.settled = "unknown";
      if (message?.error !== undefined && !this.#world.wasTroubled(beganAt))
        this.#history.violate("serves", `the call of ${plan.tool} gets ${JSON.stringify(message.error)}`);
      return;
    }
    if (message.result.resultType === "input_required") {
      task.settled = "asked";
      this.#history.count("task calls that ask in their request");
      return;
    }
    if (message.result.resultType !== "task") return this.#endDirectly(message);
    task.id = message.result.taskId as string;
    this.#history.count("tasks known");
    if (plan.watches) this.#watch();
    if (plan.cancelMs !== undefined) this.#world.sleep(plan.cancelMs).then(() => this.#cancel());
    await this.#follow();
    task.settled = "task";
  }

  #endDirectly({ result }: Message): void {
    const { plan, number } = this.#task;
    this.#task.settled = "direct";
    this.#history.count("task calls answered directly");
    if (!("promoteAfterMs" in TOOLS[plan.tool]))
      this.#history.violate("own outcome", `call ${number} of ${plan.tool} gets ${JSON.stringify(result)}`);
  }

  /** Polls until the task has ended, or nobody will answer its question. */
  async #follow(): Promise<void> {
    const { dice } = this.#world;
    const isUnsettled = () => this.#task.outcome === undefined && !this.#world.isOver;
    while (isUnsettled()) {
      await this.#world.sleep(dice.chance(70) ? dice.between(1, 800) : dice.between(500, 4_000));
      const seen = await this.get();
      if (seen?.status !== "input_required") continue;
      if (!this.#task.plan.answers) return;
      await this.#answer(Object.keys(seen.inputRequests ?? {}));
    }
  }

  /** Reads the task by way of some node. */
  async get(): Promise<SeenTask | undefined> {
    const { last, cancelledAt, taken } = this.#task;
    const before = { last, cancelledAt, taken: new Set(taken) };
    const result = await this.#ask("tasks/get", {});
    if (result !== undefined) this.#history.read(this.#task, result as unknown as SeenTask, before);
    return result as SeenTask | undefined;
  }

  /** Answers questions, together or one after the other, sometimes twice. */
  async #answer(wireKeys: readonly string[]): Promise<void> {
    const { dice } = this.#world;
    const groups = dice.chance(50) ? [wireKeys] : wireKeys.map((key) => [key]);
    for (const keys of groups) {
      const send = async () => {
        const answers = keys.map((key) => [key, { action: "accept", content: { value: answerOf(this.#task, key) } }]);
        const result = await this.#ask("tasks/update", { inputResponses: Object.fromEntries(answers) });
        if (result !== undefined) for (const key of keys) this.#task.taken.add(key);
      };
      this.#history.count("task answers");
      await Promise.all(dice.chance(20) ? [send(), send()] : [send()]);
    }
  }

  async #cancel(): Promise<void> {
    const task = this.#task;
    if (this.#world.isOver) return;
    task.cancelAskedAt = this.#world.now();
    this.#history.count("task cancellations");
    const result = await this.#ask("tasks/cancel", {});
    if (result !== undefined) task.cancelledAt = this.#world.now();
  }

  /** Keeps a subscription to the task open until the run closes. */
  async #watch(): Promise<void> {
    const { dice } = this.#world;
    while (!this.#world.isOver && this.#task.outcome === undefined) {
      const subscription: Subscription = { since: Number.POSITIVE_INFINITY, last: undefined };
      const onMessage = ({ method, params }: Message) => {
        if (method === "notifications/subscriptions/acknowledged")
          subscription.since = this.#world.scheduler.timeOfDay();
        if (method !== "notifications/tasks") return;
        const seen = params as unknown as SeenTask;
        this.#history.tell(this.#task, seen, subscription.last);
        subscription.last = seen;
      };
      const params = { notifications: { taskIds: [this.#task.id] } };
      const flight = await this.#send("subscriptions/listen", params, undefined, onMessage);
      this.#history.count("task subscriptions");
      this.subscriptions.add(subscription);
      if (dice.chance(20)) this.#world.sleep(dice.between(100, 5_000)).then(() => flight?.break(5));
      await flight?.over;
      this.subscriptions.delete(subscription);
      await this.#world.sleep(dice.between(10, 1_000));
    }
  }

  /** Repeats a request about the task until it is answered. Returns undefined if the run is over before. */
  async #ask(method: string, params: object): Promise<Message["result"]> {
    const { dice } = this.#world;
    while (!this.#world.isOver) {
      const beganAt = this.#world.now();
      const message = await this.#request(method, { ...params, taskId: this.#task.id }, this.#task.id);
      if (message?.result !== undefined) return message.result;
      const isTroubled = this.#world.wasTroubled(beganAt);
      if (message?.error !== undefined && (message.error.code === UNKNOWN_TASK || !isTroubled)) {
        this.#history.violate("serves", `${method} of task ${this.#task.number}: ${JSON.stringify(message.error)}`);
        return undefined;
      }
      await this.#world.sleep(dice.between(50, 700));
    }
    return undefined;
  }

  /** Sends a request. Returns its response, or undefined if there is none. */
  async #request(method: string, params: object, name: string | undefined): Promise<Message | undefined> {
    let response: Message | undefined;
    const flight = await this.#send(method, params, name, (message) => {
      if (message.method === undefined) response = message;
    });
    await flight?.over;
    return response;
  }

  #send(method: string, params: object, name: string | undefined, onMessage: (message: Message) => void) {
    const message = { id: ++this.#requests, method, params: { ...params, _meta: META } };
    const headers = {
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": name }),
    };
    const onEvent = ({ data }: SseEvent) => {
      if (data !== "") onMessage(JSON.parse(data) as Message);
    };
    return this.#world.send({ method: "POST", principal: this.#task.principal, message, headers, onEvent });
  }
}
