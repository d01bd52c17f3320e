import type { Records, Stored } from "../cluster/cluster.js";
import { ClusterError } from "../cluster/error.js";
import { McpError } from "../protocol/errors.js";
import { describeIssues } from "../protocol/text.js";
import { parseStandard, type StandardSchema } from "../schema/standard-schema.js";

/** Rules of a value. */
export interface StateRules {
  readonly name: string;
  readonly schema: StandardSchema | undefined;
  readonly ttlMs: number;
  readonly maxChars: number;
}

/** Format of a stored value. */
interface Kept {
  readonly format: 1;
  readonly value: unknown;
}

/** Maximum number of attempts to change a value that others change at the same time. */
const MAX_CONFLICTS = 100;

/** Value that a server keeps for the caller of a call. */
export class CallerState<In, Out = In> {
  readonly #rules: StateRules;
  readonly #records: Records;
  readonly #owner: string;
  #key: Promise<string> | undefined;

  constructor(rules: StateRules, records: Records, owner: string) {
    this.#rules = rules;
    this.#records = records;
    this.#owner = owner;
  }

  /** Returns the value, or undefined if none is set or its time is over. */
  async get(): Promise<Out | undefined> {
    return this.#read(await this.#records.get(await this.#place()));
  }

  /** Replaces the value. Its time begins again. */
  async set(value: In): Promise<void> {
    await this.#records.put(await this.#place(), await this.#write(value), { ttlMs: this.#rules.ttlMs });
  }

  /**
   * Changes the value. `change` is called again if another call has changed it meanwhile, in any process. Returns the new
   * value.
   */
  async update(change: (value: Out | undefined) => In | Promise<In>): Promise<Out> {
    const key = await this.#place();
    for (let attempt = 0; attempt < MAX_CONFLICTS; attempt++) {
      const stored = await this.#records.get(key);
      const text = await this.#write(await change(await this.#read(stored)));
      const options = { ttlMs: this.#rules.ttlMs, ifVersion: stored?.version ?? null };
      const version = await this.#records.put(key, text, options);
      if (version !== undefined) return (await this.#read({ key, value: text, version })) as Out;
    }
    throw new ClusterError("refused", `${this.#where} was changed by other calls each time; change it less often`);
  }

  /** Removes the value. Returns true if there was one. */
  async delete(): Promise<boolean> {
    return this.#records.delete(await this.#place());
  }

  get #where(): string {
    return `state "${this.#rules.name}"`;
  }

  /** Returns the key of the record. The owner is in it as a digest, since it may be long or secret. */
  #place(): Promise<string> {
    this.#key ??= digest(this.#owner).then((owner) => `state:${this.#rules.name}:${owner}`);
    return this.#key;
  }

  async #read(stored: Stored | undefined): Promise<Out | undefined> {
    if (stored === undefined) return undefined;
    const { value } = JSON.parse(stored.value) as Kept;
    return (await this.#parse(value, "The stored value", "keep the schema able to read earlier values")) as Out;
  }

  async #write(value: In): Promise<string> {
    const json = this.#toJson(value);
    const { maxChars } = this.#rules;
    if (json.length > maxChars)
      throw new McpError(
        "state_too_large",
        `${this.#where} cannot be set: it has ${json.length} characters, more than ${maxChars} (maxChars)`,
      );
    // The value is checked in the form in which it is read again.
    await this.#parse(JSON.parse(json), "The new value (as JSON)", "set a value that matches");
    return `{"format":1,"value":${json}}`;
  }

  #toJson(value: In): string {
    let cause: unknown;
    try {
      const json: string | undefined = JSON.stringify(value);
      if (json !== undefined) return json;
    } catch (error) {
      cause = error;
    }
    const problem = "the value is not JSON; use delete to remove it";
    throw new McpError("state_invalid", `${this.#where} cannot be set: ${problem}`, { cause });
  }

  async #parse(value: unknown, noun: string, remedy: string): Promise<unknown> {
    const { schema } = this.#rules;
    if (schema === undefined) return value;
    const parsed = await parseStandard(schema, value);
    if (parsed.ok) return parsed.value;
    throw new McpError(
      "state_invalid",
      `${noun} of ${this.#where} does not match its schema: ${describeIssues(parsed.issues)}; ${remedy}`,
    );
  }
}

async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes, 0, 16), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
