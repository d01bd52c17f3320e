import { fork } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { at } from "../scripts/lib/project.mjs";
import { support } from "./support.mjs";

const NODES = 3;
const PROGRAM = at("chaos/node/main.mjs");
/** Number of lines of stderr and of errors that are kept of a node. */
const MAX_LINES = 50;

/** Three nodes of one server, as processes that can be killed and stopped. */
export class Nodes {
  ports = [];
  /** Deaths of nodes that nobody ordered. */
  accidents = [];
  /** Numbers of errors that the nodes reported, by text. */
  errors = new Map();
  #main;
  #execArgv;
  #env;
  #settings;
  #children = [];
  #started = 0;

  /** `settings` is for the program of a node; `program` is the Node that runs it, `main` the file of the program, and `process` has options of the process. */
  constructor({ program = process.execPath, main = PROGRAM, process: { execArgv, env } = {}, ...settings }) {
    this.#main = main;
    this.#execArgv = execArgv;
    this.#env = env;
    this.#settings = { ...settings, stateKey: randomBytes(32).toString("base64") };
    this.program = program;
  }

  async start() {
    const { freePort } = await support("engines/nginx.js");
    for (let slot = 0; slot < NODES; slot++) this.ports.push(await freePort());
    await Promise.all(this.ports.map((_, slot) => this.startNode(slot)));
  }

  get slots() {
    return this.#children.map((_, slot) => slot);
  }

  /** Name of the process that serves in a slot. */
  nameOf(slot) {
    return this.#children[slot].name;
  }

  /** Starts the node of a slot. Resolves when it serves. */
  async startNode(slot) {
    const name = `n${slot}.${++this.#started}`;
    const { seed } = this.#settings;
    const { killAfterUs } = await support("engines/orphans.js");
    const settings = { ...this.#settings, name, port: this.ports[slot], seed: seed + this.#started };
    const env = { ...process.env, ...this.#env, CHAOS_NODE: JSON.stringify(settings) };
    const options = { execPath: this.program, execArgv: this.#execArgv ?? [], env };
    const child = fork(this.#main, { ...options, stdio: ["ignore", "ignore", "pipe", "ipc"] });
    const node = { child, name, isOver: false, stderr: [] };
    this.#children[slot] = node;
    // A node that is stopped does not notice the end of this process.
    child.once("exit", killAfterUs(child.pid));
    child.stderr.setEncoding("utf8").on("data", (text) => {
      if (node.stderr.length < MAX_LINES) node.stderr.push(text.trim());
    });
    child.once("exit", (code, signal) => {
      if (!node.isOver) this.accidents.push(`${name} ended with ${code ?? signal}: ${node.stderr.join("\n")}`);
    });
    await new Promise((resolve) => {
      child.once("exit", resolve);
      child.on("message", ({ kind, text }) => {
        if (kind === "ready") resolve();
        else this.errors.set(text, (this.errors.get(text) ?? 0) + 1);
      });
    });
  }

  async kill(slot) {
    const node = this.#children[slot];
    node.isOver = true;
    if (node.child.exitCode !== null || node.child.signalCode !== null) return;
    const exit = once(node.child, "exit");
    node.child.kill("SIGKILL");
    await exit;
  }

  pause(slot) {
    this.#children[slot].child.kill("SIGSTOP");
  }

  resume(slot) {
    this.#children[slot].child.kill("SIGCONT");
  }

  /** Nodes cut no connection and send no message from now on. */
  calm() {
    for (const { child } of this.#children) if (child.connected) child.send("calm");
  }

  async end() {
    await Promise.all(this.slots.map((slot) => this.kill(slot)));
  }
}
