import { fork } from "node:child_process";
import { once } from "node:events";
import { at } from "../scripts/lib/project.mjs";
import { support } from "./support.mjs";

const WORKERS = 3;
const PROGRAM = at("chaos/node/workers.mjs");
/** Number of lines of stderr that are kept of a primary. */
const MAX_LINES = 50;

/** Workers of one primary, as nodes that can be killed and stopped. The primary starts another one for each that ends. */
export class Workers {
  /** Port of all workers. The primary distributes the connections, so that nothing stands before it. */
  port;
  /** Ends of processes that nobody ordered. */
  accidents = [];
  /** Numbers of errors that the workers reported, by text. */
  errors = new Map();
  #settings;
  #primary;
  #started = 0;
  /** Workers that serve, or undefined for one that is away: name, process id, and `spare` for its end. */
  #workers = Array.from({ length: WORKERS });
  /** Process ids whose end was ordered. */
  #ordered = new Set();
  #waiting = new Set();
  #killAfterUs;

  /** `settings` is for the program. */
  constructor(settings) {
    this.#settings = settings;
  }

  async start() {
    const { freePort } = await support("engines/nginx.js");
    const { killAfterUs } = await support("engines/orphans.js");
    this.#killAfterUs = killAfterUs;
    this.port = await freePort();
    await this.startPrimary();
  }

  get slots() {
    return this.#workers.map((_, slot) => slot);
  }

  nameOf(slot) {
    return this.#workers[slot]?.name;
  }

  /** Starts a primary. Resolves when all its workers serve. */
  async startPrimary() {
    const name = `p${++this.#started}`;
    const seed = this.#settings.seed + 1_000 * this.#started;
    const settings = { ...this.#settings, name, count: WORKERS, port: this.port, seed };
    const env = { ...process.env, CHAOS_NODE: JSON.stringify(settings) };
    const child = fork(PROGRAM, { env, stdio: ["ignore", "pipe", "pipe", "ipc"] });
    const stderr = [];
    this.#primary = child;
    child.once("exit", this.#killAfterUs(child.pid));
    child.stdout.resume();
    child.stderr.setEncoding("utf8").on("data", (text) => {
      if (stderr.length < MAX_LINES) stderr.push(text.trim());
    });
    child.on("message", (message) => this.#receive(message));
    child.once("exit", (code, signal) => {
      if (!this.#ordered.has(child.pid))
        this.accidents.push(`${name} ended with ${code ?? signal}: ${stderr.join("\n")}`);
    });
    await Promise.race([Promise.all(this.slots.map((slot) => this.startNode(slot))), once(child, "exit")]);
  }

  /** Kills the primary. Resolves when its workers have ended by themselves, too. They inherit its output. */
  async killPrimary() {
    const child = this.#primary;
    this.#ordered.add(child.pid);
    const ended = once(child, "close");
    child.kill("SIGKILL");
    await ended;
    for (const slot of this.slots) this.#clear(slot);
  }

  /** Resolves when a worker serves in a slot. */
  async startNode(slot) {
    while (this.#workers[slot] === undefined) await new Promise((resolve) => this.#waiting.add(resolve));
  }

  async kill(slot) {
    const { pid } = this.#workers[slot];
    this.#ordered.add(pid);
    process.kill(pid, "SIGKILL");
    while (this.#workers[slot]?.pid === pid) await new Promise((resolve) => this.#waiting.add(resolve));
  }

  pause(slot) {
    process.kill(this.#workers[slot].pid, "SIGSTOP");
  }

  resume(slot) {
    process.kill(this.#workers[slot].pid, "SIGCONT");
  }

  /** Workers cut no connection and send no message from now on. */
  calm() {
    if (this.#primary.connected) this.#primary.send("calm");
  }

  async end() {
    const child = this.#primary;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    // A worker that is stopped does not notice the end of its primary.
    for (const worker of this.#workers) if (worker !== undefined) process.kill(worker.pid, "SIGCONT");
    await this.killPrimary();
  }

  #receive({ kind, name, pid, how, text }) {
    if (kind === "error") this.errors.set(text, (this.errors.get(text) ?? 0) + 1);
    else if (kind === "ready")
      this.#workers[this.#workers.indexOf(undefined)] = { name, pid, spare: this.#killAfterUs(pid) };
    else this.#onEnd(pid, how);
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #onEnd(pid, how) {
    const slot = this.#workers.findIndex((worker) => worker?.pid === pid);
    if (!this.#ordered.has(pid)) this.accidents.push(`${this.nameOf(slot) ?? "a worker"} ended with ${how}`);
    if (slot !== -1) this.#clear(slot);
  }

  #clear(slot) {
    this.#workers[slot]?.spare();
    this.#workers[slot] = undefined;
  }
}
