import { fork } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pin } from "./pin.mjs";

const living = new Set();
const bench = fileURLToPath(new URL("..", import.meta.url));

/** Kills all children at once, at the end of the run. */
export function endChildren() {
  for (const child of living) child.kill("SIGKILL");
}

/** Registers a child that is killed at the end of the run, if it has not ended before. */
export function keepTrack(child) {
  living.add(child);
  child.once("exit", () => living.delete(child));
  return child;
}

/**
 * Host in its own process, with its main thread on its own core. Requests and responses go over IPC. `folder` is the
 * folder that contains `hosts`.
 */
export class Child {
  #waiting = new Map();
  #asked = 0;
  #process;
  #name;
  ready;

  constructor(host, args, { core, env = {}, pipes = false, folder = bench }) {
    this.#name = args.slice(0, 2).join(", ");
    const stream = pipes ? "pipe" : "ignore";
    const errors = process.env.BENCH_DEBUG ? "inherit" : "ignore";
    const options = {
      execArgv: ["--expose-gc"],
      env: { ...process.env, ...env },
      stdio: [stream, stream, errors, "ipc"],
    };
    this.#process = keepTrack(fork(join(folder, "hosts", `${host}.mjs`), args, options));
    this.ready = this.#begin(core);
    this.ready.catch(() => {});
  }

  get pipes() {
    return this.#process;
  }

  ask(command, ...args) {
    const number = ++this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      this.#process.send({ number, command, args }, (error) => error && reject(this.#error(error.message)));
    });
  }

  /** Lets the process end by itself, and kills it if it does not. */
  async stop() {
    if (!living.has(this.#process)) return;
    const gone = new Promise((resolve) => this.#process.once("exit", resolve));
    if (this.#process.connected) this.#process.disconnect();
    const timer = setTimeout(() => this.#process.kill("SIGKILL"), 2000);
    await gone;
    clearTimeout(timer);
  }

  #begin(core) {
    return new Promise((resolve, reject) => {
      this.#process.on("message", ({ number, ready, value, error }) => {
        const waiting = number === undefined ? { resolve, reject } : this.#waiting.get(number);
        this.#waiting.delete(number);
        if (error !== undefined) return waiting.reject(this.#error(error));
        if (number === undefined) pin(this.#process.pid, core);
        waiting.resolve(number === undefined ? ready : value);
      });
      this.#process.on("error", (error) => reject(this.#error(error.message)));
      this.#process.on("exit", (code, signal) => {
        const error = this.#error(`ended with ${signal ?? code}`);
        reject(error);
        for (const waiting of this.#waiting.values()) waiting.reject(error);
      });
    });
  }

  #error(message) {
    return new Error(`${this.#name}: ${message}`);
  }
}
