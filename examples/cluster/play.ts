import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { Load } from "./load.js";
import { EnginePart, LEASE_MS, NodePart, type Status } from "./nodes.js";
import { engines, Missing, startNginx } from "./programs.js";
import { Terminal } from "./terminal.js";
import { grouped, linesOf, type Scene, timeOf } from "./view.js";

/**
 * Starts three nodes behind nginx with an engine and clients of both eras, shows them, and kills the part that a key names. With
 * `--for SECONDS`, or without a terminal, it runs a fixed series of faults and prints a summary.
 */
const usage = `play.js [${Object.keys(engines).join(" | ")}] [--for SECONDS]`;
const SCRIPT_SECONDS = 20;

class Play {
  readonly folder = mkdtempSync(join(tmpdir(), "bowline-play-"));
  readonly reports: string[] = [];
  readonly perSecond: number[] = [];
  readonly #begun = performance.now();
  nodes: readonly NodePart[] = [];
  engine!: EnginePart;
  load!: Load;
  url = "";
  #answered = 0;
  readonly #seen = new Map<string, Status>();
  readonly #ends: (() => Promise<unknown> | undefined)[] = [];

  /** `say` gets each report. */
  constructor(readonly say: (report: string) => void) {}

  /** Starts all parts, then the clients. Returns early if the signal aborts. */
  async start(name: string, signal: AbortSignal): Promise<void> {
    const engine = await (engines[name] as (typeof engines)[string])(this.folder);
    this.engine = new EnginePart(engine);
    this.nodes = await Promise.all([1, 2, 3].map((digit) => NodePart.create(`node-${digit}`, engine)));
    const ports = this.nodes.map(({ port }) => port);
    const { url, nginx } = await startNginx(this.folder, ports);
    this.#ends.push(() => nginx.kill());
    this.url = url;
    for (const part of [this.engine, ...this.nodes]) {
      this.#seen.set(part.name, "starting");
      this.#ends.push(() => part.close());
      if (!signal.aborted) await part.start();
    }
    await this.untilOk(signal);
    if (signal.aborted) return;
    this.load = new Load(url);
    const timers = [setInterval(() => this.look(), 500), setInterval(() => this.#tick(), 1_000)];
    this.#ends.push(async () => timers.forEach(clearInterval));
  }

  get scene(): Scene {
    const { engine, nodes, load, perSecond, seconds, url, reports } = this;
    return { engine, nodes, counts: load.counts, perSecond, seconds, url, reports };
  }

  get seconds(): number {
    return (performance.now() - this.#begun) / 1000;
  }

  /** Looks at the nodes, and reports changes of states, except for the faults, which are reported as they begin. */
  async look(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.look()));
    for (const { name, status } of [this.engine, ...this.nodes]) {
      const isNews = this.#seen.get(name) !== status && status !== "killed" && status !== "stopped";
      this.#seen.set(name, status);
      if (isNews) this.report(`${name} is ${status}`);
    }
  }

  /** Counts the calls that were answered in the last second, so that a fault shows as a dip. */
  #tick(): void {
    const { answered } = this.load.counts;
    this.perSecond.push(answered - this.#answered);
    this.#answered = answered;
    if (this.perSecond.length > 200) this.perSecond.shift();
  }

  report(text: string): void {
    const report = `${timeOf(this.seconds)}  ${text}`;
    this.say(report);
    this.reports.push(report);
    if (this.reports.length > 50) this.reports.shift();
  }

  kill(part: NodePart | EnginePart | undefined): void {
    if (part === undefined || part.status === "killed") return;
    if (part instanceof EnginePart && !part.canBeKilled)
      return this.report(`${part.name} is a file and has no process to kill`);
    this.report(`${part.name} is killed (kill -9)`);
    part.kill().catch(({ message }: Error) => this.report(`${part.name}: ${message}`));
  }

  stop(node: NodePart | undefined): void {
    if (node === undefined) return;
    this.report(`${node.name} is stopped for ${LEASE_MS / 1000 + 1} s (SIGSTOP), longer than its lease`);
    node.stop().catch(({ message }: Error) => this.report(`${node.name}: ${message}`));
  }

  get isOk(): boolean {
    return [this.engine, ...this.nodes].every(({ status }) => status === "ok");
  }

  /** Waits until everything is in order or the signal aborts, at most 20 s. */
  async untilOk(signal: AbortSignal): Promise<void> {
    for (let attempt = 0; attempt < 80 && !this.isOk && !signal.aborted; attempt++) {
      await this.look();
      await sleep(250);
    }
  }

  async end(): Promise<void> {
    await Promise.all(this.#ends.map((end) => end()));
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }

  get summary(): string {
    const { answered, undelivered, unknown, questions, elsewhere, events } = this.load.counts;
    return [
      `${grouped(answered)} calls answered, ${grouped(undelivered)} not delivered, ${grouped(unknown)} with unknown outcome`,
      `${grouped(questions)} questions answered, ${grouped(elsewhere)} of them on another node; ${grouped(events)} events`,
    ].join("\n");
  }
}

/** Aborts when a key or a signal ends the program. SIGHUP as the reason means that the terminal is gone. */
const quit = new AbortController();

/** Shows the view until the program is to end. */
async function watch(play: Play): Promise<void> {
  const terminal = new Terminal();
  terminal.open(
    (key) => {
      if (key === "q" || key === "\u0003") quit.abort("SIGINT");
      else if (key === "e") play.kill(play.engine);
      else if (key === "s") play.stop(play.nodes.find(({ status }) => status === "ok"));
      else if (/[1-3]/.test(key)) play.kill(play.nodes[Number(key) - 1]);
    },
    () => quit.abort("SIGHUP"),
  );
  while (!quit.signal.aborted) {
    terminal.draw(linesOf(play.scene, terminal.screen));
    await sleep(200, undefined, { signal: quit.signal }).catch(() => {});
  }
  terminal.close();
  console.log(play.summary);
}

/** Lets faults happen at fixed parts of the time. Returns the problems that are left at the end. */
async function runScript(play: Play, seconds: number): Promise<readonly string[]> {
  const faults = [() => play.kill(play.nodes[0]), () => play.stop(play.nodes[1]), () => play.kill(play.engine)];
  const pause = (seconds * 1000) / (faults.length + 1);
  for (const fault of faults) {
    await sleep(pause);
    fault();
  }
  await sleep(pause);
  await play.untilOk(quit.signal);
  const { answered: before } = play.load.counts;
  await sleep(1_000);
  await play.load.end();
  const { begun, answered, undelivered, unknown, elsewhere, events } = play.load.counts;
  const problems = [play.engine, ...play.nodes].map(({ name, status }) => `${name} is ${status}`);
  return [
    ...problems.filter((problem) => !problem.endsWith(" ok")),
    ...(begun > answered + undelivered + unknown ? ["a call has no verdict"] : []),
    ...(answered === before ? ["no call was answered after the faults"] : []),
    ...(elsewhere === 0 ? ["no question was answered on another node"] : []),
    ...(events === 0 ? ["no event arrived"] : []),
  ];
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: { for: { type: "string" } }, allowPositionals: true });
  const [name = "redis"] = positionals;
  const seconds = Number(values.for ?? SCRIPT_SECONDS);
  if (engines[name] === undefined || !(seconds > 0)) throw new Missing(`usage: ${usage}`);
  const isWatched = values.for === undefined && process.stdin.isTTY && process.stdout.isTTY;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => quit.abort(signal));
  for (const stream of [process.stdin, process.stdout]) stream.on("error", () => quit.abort("SIGHUP"));
  const ended = once(quit.signal, "abort").then(() => ["it was ended by a signal"]);
  console.log(`starting nginx, three nodes and ${name}`);
  const play = new Play(isWatched ? () => {} : console.log);
  try {
    await play.start(name, quit.signal);
    if (quit.signal.aborted) return 1;
    if (isWatched) await watch(play);
    const problems = isWatched ? [] : await Promise.race([runScript(play, seconds), ended]);
    if (!isWatched) console.log([play.summary, ...problems].join("\n"));
    return problems.length === 0 ? 0 : 1;
  } finally {
    await play.end();
  }
}

const code = await main().catch((error: Error) => {
  console.error(error instanceof Missing ? error.message : error);
  return 1;
});
if (quit.signal.reason !== "SIGHUP") process.exit(code);
process.removeAllListeners("SIGHUP");
process.kill(process.pid, "SIGHUP"); // process.exit would abort, since Node cannot restore a terminal that is gone
