import { setTimeout as sleep } from "node:timers/promises";
import { Follower } from "./follow.mjs";
import { Waiter } from "./waiting.mjs";

const PRINCIPALS = 8;
/** Number of tasks that clients follow at once. */
const AT_ONCE = 80;
/** Number of clients of 2025-11-25 that wait for the result of a task in a request. */
const WAITERS = 8;
/** Shares of tasks. */
const SHARES = { fragile: 0.15, promoted: 0.15, asks: 0.5, cancelled: 0.07 };

/** Clients that start tasks, answer their questions and follow them until all have an outcome. */
export class Load {
  /** Tasks that clients know, with all that they saw of each. */
  tasks = [];
  /** Numbers of calls whose outcome is unknown: a task may exist. */
  uncertain = [];
  errors = new Map();
  isOver = false;
  #nodes;
  #ports;
  #random;
  #numbers = 0;
  /** Tasks of clients of 2025-11-25 that wait for the result, with all that was said about it. */
  waits = [];
  /** Sessions that such clients ended, with the status of the response. */
  ends = [];
  #byNumber = new Map();
  #followers = [];

  constructor(nodes, random) {
    this.#nodes = nodes;
    this.#ports = nodes.ports;
    this.#random = random;
  }

  /** Runs so many tasks. Resolves when each has an outcome, or when the load is over. */
  async run(count) {
    for (let index = 0; index < 2 * PRINCIPALS; index++) this.#followers.push(await this.#open(index));
    let left = count;
    const lane = async () => {
      while (left-- > 0 && !this.isOver) await this.#one();
    };
    const lanes = Promise.all(Array.from({ length: AT_ONCE }, lane));
    let isDone = false;
    const world = {
      nodes: this.#nodes,
      random: this.#random,
      waits: this.waits,
      ends: this.ends,
      uncertain: this.uncertain,
      number: () => this.#numbers++,
    };
    const waiters = Array.from({ length: WAITERS }, (_, index) => new Waiter(world, `w${index}`));
    const waiting = Promise.all(waiters.map((waiter) => waiter.run(() => isDone || this.isOver)));
    await lanes;
    isDone = true;
    await waiting;
  }

  /** Reads each task again through each worker. */
  async readAgain() {
    for (const port of this.#ports) {
      for (let principal = 0; principal < PRINCIPALS; principal++) {
        const own = this.tasks.filter((task) => task.principal === `p${principal}`);
        const follower = await this.#open(2 * principal, () => [port]);
        for (const task of own) await follower.follow(task, undefined, () => false);
        await follower.close();
      }
    }
  }

  async close() {
    this.isOver = true;
    await Promise.all(this.#followers.splice(0).map((follower) => follower.close()));
  }

  /** Followers with an odd index watch by notifications. */
  #open(index, ports = () => this.#anyPorts()) {
    return Follower.open({
      principal: `p${index >> 1}`,
      isWatching: index % 2 === 1,
      ports,
      onElicit: ({ message }) => ({ action: "accept", content: { value: this.#byNumber.get(Number(message))?.token } }),
      onError: (error) => this.errors.set(`${error}`, (this.errors.get(`${error}`) ?? 0) + 1),
    });
  }

  #anyPorts() {
    const rest = [...this.#ports];
    return this.#ports.map(() => rest.splice(Math.floor(Math.random() * rest.length), 1)[0]);
  }

  async #one() {
    const random = this.#random;
    const kind = random.next();
    const tool =
      kind < SHARES.fragile ? "fragile" : kind < SHARES.fragile + SHARES.promoted ? "promoted" : "restartable";
    const args = {
      steps: 3 + random.below(3),
      stepMs: 400 + random.below(900),
      asks: tool === "restartable" && random.chance(SHARES.asks),
    };
    const cancelMs = random.chance(SHARES.cancelled) ? 200 + random.below(3_000) : undefined;
    const index = random.below(this.#followers.length);
    const task = await this.#start(index, tool, args);
    if (task === undefined) return;
    const cancelling = cancelMs === undefined ? undefined : this.#cancel(task, cancelMs);
    await this.#followers[index].follow(task, task.handle, () => this.isOver);
    await cancelling;
    task.handle = undefined;
  }

  /** Starts a task. A call whose outcome is unknown is made again, as another task. */
  async #start(index, tool, args) {
    while (!this.isOver) {
      const number = this.#numbers++;
      const task = { number, tool, ...args, token: `t${number}`, principal: `p${index >> 1}`, seen: [] };
      task.isWatched = index % 2 === 1;
      this.#byNumber.set(number, task);
      try {
        task.handle = await this.#followers[index].start(tool, { number, ...args });
        task.id = task.handle.id;
        if (task.id === undefined) throw new Error("the call ended without a task");
        this.tasks.push(task);
        return task;
      } catch (error) {
        this.uncertain.push({ number, problem: error.message });
        await sleep(100);
      }
    }
  }

  async #cancel(task, ms) {
    await sleep(ms);
    while (task.cancelledAt === undefined && !this.isOver) {
      try {
        task.isCancelAsked = true;
        await task.handle?.cancel();
        task.cancelledAt = Date.now();
      } catch {
        await sleep(100);
      }
    }
  }
}
