import { setTimeout as delay } from "node:timers/promises";
import { ConnectionError } from "bowline/client";
import { KINDS } from "./calls.mjs";
import { clientLimits } from "./limits.mjs";
import { answerTo, Questions } from "./questions.mjs";
import { isOutage } from "./tally.mjs";

const AT_ONCE = 8;
const CALLS_OF_CALM = 48;
const OUTAGES_OF_STORM = 3;
/** Minimum duration of a round, so that a fast wire does not use the whole machine. */
const ROUND_MS = 1_000;
/** Pause after a lost call of a storm, since a closed server refuses thousands of calls in a moment. */
const LOST_MS = 25;
/** Maximum time until everything that a round began has ended on the server too. */
const SETTLE_MS = 60_000;
const PATIENT = { timeoutMs: 240_000, reconnect: { firstDelayMs: 10, maxDelayMs: 100, maxFruitless: 1_000 } };
/** Counters of past events, which do not return to zero. */
const CUMULATIVE = new Set(["refused"]);

/**
 * One server on one wire with its client. Its rounds are: calm, in which nothing may be lost; a storm of outages, in
 * which connections may be lost; a flood. After each, the server holds what it held before.
 */
export class Lane {
  stormy = false;
  questions = new Questions();
  client;
  /** Current activity of the lane, for the report of a hang. */
  doing = "opening";
  #world;
  #spec;
  #floods;
  #env;
  #keys = 0;
  /** Keys of calls whose errors say that a retry is safe. Their handlers must never run. */
  #unsent = new Map();
  #restStats;
  #kinds;

  /** `env` is shared with the world. `ran` counts the runs of calls with keys. */
  constructor(spec, env, { random, tally, floods }) {
    this.#spec = spec;
    this.#env = env;
    this.random = random;
    this.tally = tally;
    this.#floods = floods;
    this.#kinds = KINDS.filter(({ only }) => only === undefined || only(spec)).flatMap((kind) =>
      Array.from({ length: kind.share }, () => kind),
    );
  }

  get name() {
    return this.#spec.name;
  }

  get era() {
    return this.#spec.era;
  }

  get wire() {
    return this.#spec.wire;
  }

  /** True if questions and calls share one channel in the legacy era, where a question does not name its call. */
  get sharesChannel() {
    return this.era === "legacy" && this.wire !== "http" && this.wire !== "fetch";
  }

  /** True if the calls of a client belong to one session or channel. */
  get hasSessions() {
    return this.era === "legacy" || this.wire === "memory" || this.wire === "stdio";
  }

  get world() {
    return this.#world;
  }

  /** True if every flood has been made at least once. */
  get isWarm() {
    return this.tally.rounds > Math.max(1, this.#floods.length);
  }

  async open() {
    this.#world = await this.#spec.open(this.#env);
    this.client = await this.dial();
    await this.client.callTool("echo", { text: "" });
    await delay(100);
    this.#restStats = gauges(await this.#world.stats(this.client));
  }

  async run(isOver) {
    while (!isOver()) {
      const begun = performance.now();
      await this.#round();
      this.tally.rounds++;
      this.doing = "pausing";
      await delay(Math.max(0, ROUND_MS - (performance.now() - begun)));
    }
    this.doing = "resting";
  }

  async #round() {
    this.doing = "calm";
    await this.#calm();
    if (this.#spec.outages) await this.#storm();
    const flood = this.#floods[this.tally.rounds % this.#floods.length];
    if (flood !== undefined) {
      this.doing = `flood of ${flood.name}`;
      await flood.run(this);
      await this.settle();
    }
  }

  async #calm() {
    let left = CALLS_OF_CALM;
    await this.#workers(() => left-- > 0);
    await this.settle();
  }

  /** Makes calls while connections are cut, servers are closed and processes are killed. */
  async #storm() {
    this.stormy = true;
    let raging = true;
    const working = this.#workers(() => raging);
    for (let outage = 0; outage < OUTAGES_OF_STORM; outage++) {
      this.doing = `outage ${outage + 1} of a storm`;
      await delay(this.random.below(60));
      await this.#outage();
    }
    raging = false;
    this.doing = "the end of a storm";
    await working;
    await this.#redialIfOver();
    await this.settle();
    this.stormy = false;
  }

  /** Causes an outage. Tries again if there is nothing to break. */
  async #outage() {
    for (let attempt = 0; attempt < 50; attempt++) {
      try {
        await this.#world.outage(this.random, this.client);
        this.tally.outages++;
        return;
      } catch (error) {
        if (!(error instanceof ConnectionError)) return this.tally.surprise("outage", error);
        await delay(50);
      }
    }
    this.tally.surprise("outage", "could not be made");
  }

  async #workers(goesOn) {
    const work = async () => {
      while (goesOn()) {
        await this.random.pick(this.#kinds).make(this);
        if (this.stormy) await Promise.all([this.#redialIfOver(), delay(LOST_MS)]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  /** Replaces a client whose connection cannot be restored. */
  #redialIfOver() {
    if (this.client.version !== undefined) return;
    this.#redialing ??= this.#redial().finally(() => {
      this.#redialing = undefined;
    });
    return this.#redialing;
  }

  #redialing;

  async #redial() {
    await this.client.close();
    for (let attempt = 0; attempt < 200; attempt++) {
      try {
        this.client = await this.dial();
        return;
      } catch (error) {
        if (!isOutage(error)) return this.tally.surprise("connect", error);
        await delay(20);
      }
    }
    this.tally.surprise("connect", "the server cannot be reached any more");
  }

  /** Connects another client of the same kind. */
  dial(options, place) {
    return this.#world.connect(
      {
        ...this.#spec.client,
        ...PATIENT,
        warnDeprecated: false,
        limits: clientLimits,
        onElicit: this.questions.answer,
        onError: (error) => this.#env.onReport(error),
        ...options,
      },
      place,
    );
  }

  nextKey() {
    return `${this.name} ${this.#keys++}`;
  }

  answerTo = answerTo;

  /**
   * Makes a call and records how it ended. `run` gets the client and returns the problem of the result. A call with a
   * key runs at most once, and never if its error says that a retry is safe.
   */
  async attempt(name, { key, ...allowed }, run) {
    this.tally.calls++;
    const calm = !this.stormy;
    try {
      const problem = await run(this.client);
      if (problem === undefined) this.tally.ok++;
      else this.tally.surprise(name, problem);
      if (key !== undefined && problem === undefined) this.#assertRan(name, key);
    } catch (error) {
      this.tally.fail(name, error, { ...allowed, lost: !calm || this.stormy });
      if (key !== undefined && error?.retrySafe === true) this.#unsent.set(key, `${name}: ${error.message}`);
    }
  }

  #assertRan(name, key) {
    const runs = this.#env.ran?.get(key);
    if (this.#env.ran !== undefined && runs !== 1) this.tally.surprise(name, `answered after ${runs ?? 0} runs`);
  }

  /** Resolves when the server holds what it held in the beginning. */
  async settle() {
    const before = this.doing;
    this.doing = `${before}: settling`;
    const begun = performance.now();
    for (let wait = 1; ; wait = Math.min(200, wait * 2)) {
      const problem = await this.#unrest();
      if (problem === undefined) break;
      if (performance.now() - begun > SETTLE_MS) {
        this.tally.surprise("settle", `after ${before} ${problem}`);
        break;
      }
      await delay(wait);
    }
    this.#assertUnsent();
    this.#env.ran?.clear();
    this.doing = before;
  }

  async #unrest() {
    try {
      if (this.stormy) await this.client.ping();
      if (this.client.pending > 0) return `the client has ${this.client.pending} calls under way`;
      if (this.questions.open > 0) return `${this.questions.open} questions are open`;
      const stats = gauges(await this.#world.stats(this.client));
      const odd = Object.keys(stats).filter((key) => stats[key] !== (this.#restStats[key] ?? 0));
      if (this.stormy && this.era === "legacy" && odd.includes("subscriptions")) await this.#letGo();
      return odd.length === 0
        ? undefined
        : odd.map((key) => `${key} is ${stats[key]}, not ${this.#restStats[key]}`).join(", ");
    } catch (error) {
      if (this.stormy && error instanceof ConnectionError) await this.#redialIfOver();
      return `the server does not answer: ${error.message}`;
    }
  }

  /** Opens and closes a watch. This releases resources of a watch whose end did not reach the server. */
  async #letGo() {
    const watch = await this.client.watch({ resources: ["soak://item/rest"] }, { resubscribe: false });
    await watch.close();
  }

  #assertUnsent() {
    for (const [key, message] of this.#unsent)
      if (this.#env.ran?.has(key)) this.tally.surprise("a call that is safe to repeat has run", message);
    this.#unsent.clear();
  }

  /** Closes idle connections and returns what is held. */
  async rest() {
    await this.settle();
    await this.#world.rest();
    return { stats: gauges(await this.#world.stats(this.client)), child: await this.#world.census?.(this.client) };
  }

  async close() {
    await this.client.close();
    await this.#world.close();
  }
}

function gauges(stats) {
  return Object.fromEntries(Object.entries(stats).filter(([name]) => !CUMULATIVE.has(name)));
}
