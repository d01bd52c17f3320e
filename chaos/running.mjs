import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { toEntry } from "./truth.mjs";

/** Maximum time to wait for a call, and time between two looks. */
const LIMIT_MS = 3_000;
const LOOK_MS = 5;

/** Calls that run on each node and have not settled, read from the truth while it grows. */
export class Running {
  #path;
  #record;
  #position = 0;
  #rest = "";
  #calls = new Map();

  constructor(path, record) {
    this.#path = path;
    this.#record = record;
  }

  /** Waits until each of the nodes runs a call, for a limited time. */
  async untilBusy(nodes) {
    for (const end = Date.now() + LIMIT_MS; Date.now() < end; await sleep(LOOK_MS)) {
      this.#read();
      if (nodes.every((node) => this.#isBusy(node))) return;
    }
  }

  #isBusy(node) {
    const calls = [...(this.#calls.get(node) ?? [])];
    return calls.some((call) => this.#record.calls[call].settlements.length === 0);
  }

  #read() {
    const lines = (this.#rest + this.#readNew()).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) this.#note(toEntry(line));
  }

  #readNew() {
    const file = openSync(this.#path, "r");
    const bytes = Buffer.alloc(fstatSync(file).size - this.#position);
    this.#position += readSync(file, bytes, 0, bytes.length, this.#position);
    closeSync(file);
    return bytes.toString();
  }

  #note({ kind, node, subject }) {
    const calls = this.#calls.get(node) ?? new Set();
    this.#calls.set(node, calls);
    if (kind === "begin") calls.add(subject);
    else if (kind === "end" || kind === "fail") calls.delete(subject);
  }
}
