import { assertProper, bodies, bodyOf, calls, initialize, initialized } from "../workload/requests.mjs";
import { drive } from "./drive.mjs";

/** Load on the pipes of a child: lines of JSON. The id of a response is searched for, not parsed. */
export class PipeLoad {
  #child;
  #wire;
  #waiting = new Map();
  #parts = [];
  #kept;

  constructor(child, wire) {
    this.#child = child;
    this.#wire = wire;
    child.stdout.on("data", (chunk) => this.#read(chunk));
  }

  async open() {
    if (this.#wire.modern) return;
    await this.#ask(1, bodyOf(this.#wire, initialize(), 1));
    this.write(initialized);
  }

  write(text) {
    this.#child.stdin.write(`${text}\n`);
  }

  async check(name) {
    this.#kept = [];
    const { id, text } = bodies(this.#wire, calls[name])();
    await this.#ask(id, text);
    const lines = this.#kept;
    this.#kept = undefined;
    assertProper(
      name,
      lines.map((line) => JSON.parse(line)),
    );
  }

  run(name, options) {
    const make = bodies(this.#wire, calls[name]);
    return drive(options, () => {
      const { id, text } = make();
      return this.#ask(id, text);
    });
  }

  close() {}

  #ask(id, text) {
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      this.write(text);
    });
  }

  #read(chunk) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      const line = chunk.subarray(from, end);
      this.#line(this.#parts.length === 0 ? line : Buffer.concat([...this.#parts, line]));
      this.#parts.length = 0;
      from = end + 1;
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
  }

  #line(line) {
    this.#kept?.push(line.toString());
    const id =
      idIn(line.latin1Slice(Math.max(0, line.length - 60))) ?? idIn(line.latin1Slice(0, Math.min(line.length, 120)));
    const answered = this.#waiting.get(id);
    this.#waiting.delete(id);
    answered?.();
  }
}

/** Finds the id of a response. SDKs write it near the beginning or the end. */
function idIn(text) {
  const match = /"id":(\d+)/.exec(text);
  return match === null ? undefined : Number(match[1]);
}
