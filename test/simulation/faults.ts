import type { SimEngine } from "./engine/engine.js";
import type { SimNode } from "./node.js";
import type { World } from "./world.js";

/** Time after the end of a fault during which its effects are seen. */
const AFTERMATH_MS = 15_000;

const KINDS = ["cuts", "weather", "crash", "pause", "link", "restart", "drain"] as const;

type Kind = (typeof KINDS)[number];

/** Faults of a run, by the seed. Some runs have none. */
export class Faults {
  readonly #world: World;
  readonly #engine: SimEngine;
  readonly #start: (slot: number) => void;
  readonly kinds: readonly Kind[];
  readonly #ends: (() => void)[] = [];
  #isHealed = false;

  /** `start` starts a node in the place of another. */
  constructor(world: World, engine: SimEngine, start: (slot: number) => void) {
    this.#world = world;
    this.#engine = engine;
    this.#start = start;
    const isCalm = world.dice.chance(12);
    this.kinds = isCalm ? [] : KINDS.filter(() => world.dice.chance(35));
  }

  /** Plans the faults until a time. */
  plan(endAt: number): void {
    const { dice, scheduler } = this.#world;
    for (const kind of this.kinds) {
      if (kind === "cuts") this.#world.cuts = dice.between(2, 25);
      else if (kind === "weather") this.#changeWeather();
      else
        for (let left = dice.whole(1, 3); left > 0; left--)
          scheduler.schedule(() => !this.#isHealed && this.#strike(kind), dice.between(300, endAt));
    }
  }

  /** Ends all faults. */
  heal(): void {
    this.#isHealed = true;
    const { weather } = this.#engine;
    Object.assign(weather, { lostReplies: 0, lostTexts: 0, slow: 0, slowMs: 0 });
    this.#world.cuts = 0;
    this.#world.network.slow = 0;
    for (const end of this.#ends.splice(0)) end();
  }

  #changeWeather(): void {
    const { dice, network } = this.#world;
    const { weather } = this.#engine;
    if (dice.chance(50)) weather.lostReplies = dice.between(0.2, 3);
    if (dice.chance(60)) weather.lostTexts = dice.between(0.5, 8);
    weather.slow = dice.between(0, 10);
    weather.slowMs = dice.between(5, 300);
    network.slow = dice.between(0, 10);
    this.#ends.push(this.#trouble(undefined));
  }

  #strike(kind: Exclude<Kind, "cuts" | "weather">): void {
    const { dice, nodes, history } = this.#world;
    const slot = dice.below(nodes.length);
    const node = nodes[slot];
    if (kind === "restart") return this.#restart();
    if (node === undefined || node.isClosed || !node.process.isRunning) return;
    history.count(`faults ${kind}`);
    history.note(`fault: ${kind} of ${node.name}`);
    if (kind === "crash") this.#crash(node, slot);
    else if (kind === "pause") this.#pause(node);
    else if (kind === "link") this.#cutLink(node);
    else this.#drain(node, slot);
  }

  #crash(node: SimNode, slot: number): void {
    const over = this.#trouble(node.name);
    this.#engine.cut(node.process);
    node.process.crash();
    this.#later(this.#world.dice.between(50, 6_000), () => {
      over();
      this.#start(slot);
    });
  }

  #pause(node: SimNode): void {
    const { dice } = this.#world;
    const over = this.#trouble(node.name);
    node.process.pause();
    this.#later(dice.chance(50) ? dice.between(100, 8_000) : dice.between(10_000, 16_000), () => {
      over();
      this.#world.history.note(`${node.name} continues`);
      node.process.resume(dice.chance(50) ? "timers" : "arrivals");
    });
  }

  #cutLink(node: SimNode): void {
    const { dice } = this.#world;
    const over = this.#trouble(node.name);
    this.#engine.cut(node.process);
    this.#later(dice.chance(70) ? dice.between(20, 3_000) : dice.between(3_000, 20_000), () => {
      over();
      this.#engine.mend(node.process);
    });
  }

  #restart(): void {
    const { dice, history } = this.#world;
    if (!this.#engine.isUp) return;
    history.count("faults restart");
    history.note("fault: the engine is away");
    const over = this.#trouble(undefined);
    this.#engine.stop();
    this.#later(dice.chance(70) ? dice.between(20, 3_000) : dice.between(3_000, 15_000), () => {
      over();
      history.note("the engine is back");
      this.#engine.start();
    });
  }

  #drain(node: SimNode, slot: number): void {
    const over = this.#trouble(node.name);
    node.drain().catch((error) => this.#world.history.violate("drains", `${node.name}: ${error}`));
    this.#later(this.#world.dice.between(2_500, 6_000), () => {
      over();
      this.#start(slot);
    });
  }

  /** Begins a trouble that ends some time after its cause. */
  #trouble(node: string | undefined): () => void {
    const over = this.#world.trouble(node);
    return () => void this.#world.scheduler.schedule(over, AFTERMATH_MS);
  }

  /** Ends a fault after a time, or when all faults end. */
  #later(ms: number, end: () => void): void {
    let isOver = false;
    const once = () => {
      if (isOver) return;
      isOver = true;
      end();
    };
    this.#world.scheduler.schedule(once, ms);
    this.#ends.push(once);
  }
}
