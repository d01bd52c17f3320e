import { isObject } from "../../protocol/json.js";

/** Members whose values the server gives, to be sent back as they are. */
export const ISSUED: ReadonlySet<string> = new Set(["requestState", "nextCursor", "taskId"]);

const PSEUDONYM = /^<[a-z]+:[\w.-]+>$/;
const ENV = /<env:([\w.-]+)>/g;

/** Values that the live server gave in place of recorded ones. */
export class IssuedValues {
  readonly #live = new Map<string, string>();
  readonly #values: { readonly [name: string]: string | undefined };

  constructor(values: { readonly [name: string]: string | undefined }) {
    this.#values = values;
  }

  /** Compares a recorded message with the live one, and keeps what the server gave. */
  learn(recorded: unknown, live: unknown, name = ""): void {
    if (typeof recorded === "string" && typeof live === "string") {
      if (recorded !== live && (ISSUED.has(name) || PSEUDONYM.test(recorded))) this.#live.set(recorded, live);
    } else if (Array.isArray(recorded) && Array.isArray(live)) {
      for (const [at, each] of recorded.entries()) this.learn(each, live[at], name);
    } else if (isObject(recorded) && isObject(live)) {
      // Names of questions are given by the server too.
      const names = name === "inputRequests" ? Object.keys(live) : undefined;
      for (const [at, key] of Object.keys(recorded).entries()) {
        const other = names?.[at] ?? key;
        if (other !== key) this.#live.set(key, other);
        this.learn(recorded[key], live[other], key);
      }
    }
  }

  /** Replaces recorded values by those of the live server. */
  replace(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((each) => this.replace(each));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [this.#live.get(name) ?? name, this.replace(each)]),
    );
  }

  text(text: string): string {
    const live = this.#live.get(text);
    if (live !== undefined) return live;
    return text.includes("<env:") ? text.replace(ENV, (all, name: string) => this.#values[name] ?? all) : text;
  }
}
