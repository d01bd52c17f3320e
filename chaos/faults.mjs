import { setTimeout as sleep } from "node:timers/promises";

/** Carries out a plan of faults. `done` has each fault with its nodes and its times. */
export class Faults {
  done = [];
  #error;
  #nodes;
  #engine;
  #running;
  #random;

  /** `running` knows the calls that run on each node. */
  constructor({ nodes, engine, running, random }) {
    this.#nodes = nodes;
    this.#engine = engine;
    this.#running = running;
    this.#random = random;
  }

  /** Faults that failed, or that have not ended. */
  get problems() {
    const open = this.done.filter(({ until }) => until === undefined);
    return open.map(
      ({ kind, nodes }) => `fault "${kind}" of ${nodes.join(", ") || "the engine"} did not end: ${this.#error}`,
    );
  }

  async run(plan, isOver) {
    for (const fault of plan) {
      if (isOver()) return;
      try {
        await this.#carryOut(fault);
      } catch (error) {
        this.#error = error.stack;
        return;
      }
      await sleep(fault.restMs);
    }
  }

  async #carryOut({ kind, count, ms }) {
    const slots = this.#pick(count);
    const nodes = slots.map((slot) => this.#nodes.nameOf(slot));
    if (kind === "rollback") return this.#rollBack(ms);
    // The kill of a node without calls does not count.
    if (kind === "kill") await this.#running.untilBusy(nodes);
    const done = { kind, nodes, at: Date.now(), until: undefined };
    this.done.push(done);
    if (kind === "engine") await this.#engine.outage({ ms, nodes: this.#nodes, fault: done, random: this.#random });
    else if (kind === "full") await this.#fill(ms, done);
    else if (kind === "stop") await this.#stop(slots, ms);
    else await this.#kill(slots, ms);
    done.until = Date.now();
  }

  async #fill(ms, done) {
    await this.#engine.fill();
    done.at = Date.now();
    await sleep(ms);
    await this.#engine.free();
  }

  /** Saves the state of the engine, and brings it back after a time: what was written in between is lost. */
  async #rollBack(ms) {
    const lostFrom = Date.now();
    // An engine that does not run while it is copied is away.
    const copy = { kind: "engine", nodes: [], at: lostFrom, until: undefined, isCopy: true };
    if (this.#engine.stopsToSave) this.done.push(copy);
    await this.#engine.save();
    copy.until = Date.now();
    const copiedAt = copy.until;
    await sleep(ms);
    const done = {
      kind: "rollback",
      nodes: [],
      at: Date.now(),
      until: undefined,
      lostFrom,
      copiedAt,
      lostAt: Number.POSITIVE_INFINITY,
    };
    this.done.push(done);
    await this.#engine.rollBack({ nodes: this.#nodes, fault: done });
    done.until = Date.now();
    done.lostAt = done.backAt ?? done.until;
  }

  async #kill(slots, ms) {
    await Promise.all(slots.map((slot) => this.#nodes.kill(slot)));
    await sleep(ms);
    await Promise.all(slots.map((slot) => this.#nodes.startNode(slot)));
  }

  async #stop(slots, ms) {
    for (const slot of slots) this.#nodes.pause(slot);
    await sleep(ms);
    for (const slot of slots) this.#nodes.resume(slot);
  }

  #pick(count) {
    const slots = [...this.#nodes.slots];
    return Array.from({ length: count }, () => slots.splice(this.#random.below(slots.length), 1)[0]);
  }
}

/** Kills an engine that is a process, and starts it again. */
export function restartOf(engine) {
  return async ({ ms }) => {
    await engine.kill();
    await sleep(ms);
    await engine.start();
  };
}
