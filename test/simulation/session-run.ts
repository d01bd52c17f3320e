import { checkLeftovers, checkSettled, findLeftovers } from "./checks.js";
import { finish, runClient } from "./client.js";
import { connect } from "./engine/store.js";
import { History } from "./history.js";
import { createSessionServer, RESOURCES, SESSION_IDLE_MS, SimNode } from "./node.js";
import type { SimProcess } from "./process.js";
import { Run, type RunOptions } from "./run.js";
import type { ClientSession } from "./session.js";

/** Time in which clients begin calls, and faults happen. */
const ACTIVE_MS = 15_000;
/** Time after the last fault in which everything settles. */
const SETTLE_MS = 60_000;
/** Time after which nothing of a session is left that its client has not used. */
const EXPIRE_MS = 5 * SESSION_IDLE_MS;

/** Run of servers whose clients have sessions. */
export class SessionRun extends Run<History> {
  readonly #sessions: ClientSession[] = [];
  #broadcasts = 0;

  constructor(seed: number, options: RunOptions) {
    super(seed, options, History);
    this.engine.onText = (text) => this.#onText(text);
  }

  protected override createNode(process: SimProcess): SimNode {
    const { isResumable } = this.world;
    const node = new SimNode(process, connect(this.engine, process), this.history, (node) =>
      createSessionServer(node, isResumable),
    );
    node.isCalmSince = (since) => !this.world.wasTroubled(since, node.name);
    return node;
  }

  protected override async playAll(): Promise<void> {
    const world = this.world;
    this.faults.plan(ACTIVE_MS);
    const clients: Promise<void>[] = [];
    for (let left = this.dice.whole(2, 4); left > 0; left--)
      clients.push(runClient(world, this.dice.pick(["anna", "bert"]), this.#sessions));
    this.#publish();
    await this.until(ACTIVE_MS, () => {
      this.faults.heal();
      this.history.note("all faults are over");
      world.isClosing = true;
    });
    await this.until(ACTIVE_MS + SETTLE_MS / 3, () => {
      for (const uri of RESOURCES) this.#change(uri);
    });
    await this.until(ACTIVE_MS + SETTLE_MS / 2, () => {});
    const isSettled = () => this.history.calls.every(({ settled, isRead }) => settled !== undefined && isRead);
    await this.passUntil(ACTIVE_MS + SETTLE_MS, isSettled, () => {
      checkSettled(world, this.engine, this.faults.kinds.length === 0);
      this.#close();
    });
    const isEmpty = () => findLeftovers(world, this.engine).length === 0;
    await this.passUntil(ACTIVE_MS + SETTLE_MS + EXPIRE_MS, isEmpty, () => checkLeftovers(world, this.engine));
    world.isOver = true;
  }

  /** Announces changes and sends messages to all clients, from any node. */
  async #publish(): Promise<void> {
    const { dice } = this.world;
    while (!this.world.isClosing) {
      await this.world.sleep(dice.between(100, 2_000));
      if (dice.chance(60)) this.#change(dice.pick(RESOURCES));
      else this.#broadcast();
    }
  }

  #change(uri: string): void {
    const node = this.#runningNode();
    this.history.note(`${node?.name} changes ${uri}`);
    node?.server.changes.resourceUpdated(uri);
  }

  #broadcast(): void {
    const node = this.#runningNode();
    if (node === undefined) return;
    const data = { from: node.name, number: ++this.#broadcasts };
    this.history.broadcasts.push({ ...data, at: this.scheduler.now() });
    node.server.log("info", data);
  }

  #runningNode(): SimNode | undefined {
    const running = this.world.nodes.filter(({ process, isClosed }) => process.isRunning && !isClosed);
    return running.length === 0 ? undefined : this.dice.pick(running);
  }

  /** Notes a change that a node has published. */
  #onText(text: string): void {
    const [, change] = /^m \S+ \d+ changes\n(.*)$/.exec(text) ?? [];
    if (change === undefined) return;
    const { kind, uri } = JSON.parse(change) as { readonly kind: string; readonly uri?: string };
    if (kind === "resource" && uri !== undefined) this.history.changes.push({ uri, at: this.scheduler.now() });
  }

  /** Lets the clients end their sessions, or leave them to expire. */
  #close(): void {
    for (const session of this.#sessions) {
      if (!session.isOpen || session.record.isLeft) continue;
      if (this.dice.chance(50)) session.leave();
      else finish(this.world, session);
    }
  }
}
