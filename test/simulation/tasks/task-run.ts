import { connect } from "../engine/store.js";
import type { SimProcess } from "../process.js";
import { Run, type RunOptions } from "../run.js";
import { withoutSafeguard } from "./breaks.js";
import { planTask } from "./plan.js";
import { checkSettled, findLeftovers, isSettled } from "./task-checks.js";
import { TaskClient } from "./task-client.js";
import { TaskHistory } from "./task-history.js";
import { LEASE_MS, TaskNode, TTL_MS } from "./task-node.js";

/** Time in which clients create tasks, and faults happen. */
const ACTIVE_MS = 15_000;
/** Time after the last fault in which everything settles. */
const SETTLE_MS = 75_000;
/** Time after which no timer is left of a closed node. */
const CLOSED_MS = 20_000;

/** Run of servers whose tools run as tasks. */
export class TaskRun extends Run<TaskHistory> {
  readonly #clients: TaskClient[] = [];

  constructor(seed: number, options: RunOptions) {
    super(seed, options, TaskHistory);
  }

  protected override createNode(process: SimProcess): TaskNode {
    const cluster = connect(this.engine, process);
    return new TaskNode(process, cluster, withoutSafeguard(cluster, this.broken), this.history);
  }

  protected override async playAll(): Promise<void> {
    const { world, history, engine } = this;
    this.faults.plan(ACTIVE_MS);
    history.isCalm = this.faults.kinds.length === 0;
    for (let left = this.dice.whole(1, 3); left > 0; left--) this.#createTasks(this.dice.pick(["anna", "bert"]));
    await this.until(ACTIVE_MS, () => {
      this.faults.heal();
      history.note("all faults are over");
      world.isClosing = true;
    });
    // A process that was replaced loses its leases.
    await this.until(ACTIVE_MS + 2 * LEASE_MS, () => {});
    await this.passUntil(
      ACTIVE_MS + SETTLE_MS,
      () => this.#clients.every(isSettled),
      () => {},
    );
    await this.#readAgain();
    await this.until(this.scheduler.now() + 6_000, () => checkSettled(history, engine, this.#clients));
    world.isOver = true;
    const isEmpty = () => findLeftovers(history, engine).length === 0;
    await this.passUntil(ACTIVE_MS + TTL_MS + SETTLE_MS, isEmpty, () => {
      for (const leftover of findLeftovers(history, engine)) history.violate("nothing left", leftover);
    });
    await this.#close();
  }

  /** Creates tasks one after another, without waiting for them. */
  async #createTasks(principal: string): Promise<void> {
    const { world, history } = this;
    const { dice } = world;
    while (!world.isClosing) {
      await world.sleep(dice.between(100, 4_000));
      const client = new TaskClient(world, history, history.task(principal, planTask(dice)));
      this.#clients.push(client);
      client.run();
    }
  }

  /** Reads all tasks that have ended once more. */
  async #readAgain(): Promise<void> {
    for (const client of this.#clients) if (client.task.outcome !== undefined) client.get();
  }

  /** Closes all nodes. No timer may be left then. */
  async #close(): Promise<void> {
    const { history, scheduler } = this;
    const running = history.nodes.filter(({ isReachable }) => isReachable);
    if (history.violations.length > 0) return;
    for (const node of running) node.drain().catch((error) => history.violate("drains", `${node.name}: ${error}`));
    await this.until(scheduler.now() + CLOSED_MS, () => {
      if (scheduler.pending > 0) history.violate("nothing left", `${scheduler.pending} timers are left`);
    });
  }
}
