import type { IndexEntry, Records, Stored } from "../cluster/cluster.js";
import { update } from "../cluster/update.js";
import { sha256, toHex } from "../protocol/bytes.js";
import { McpError } from "../protocol/errors.js";
import { findLost } from "../protocol/json-value.js";
import { describeIssues, messageOf } from "../protocol/text.js";
import { parseStandard, type StandardSchema } from "../schema/standard-schema.js";

/** Rules of a value. */
export interface StateRules {
  readonly name: string;
  /** Server that keeps the value, since several may share the records. */
  readonly audience: string;
  readonly schema: StandardSchema | undefined;
  readonly ttlMs: number;
  readonly maxChars: number;
}

/** Caller that a value belongs to. */
export interface StateOwner {
  /** Differs for each owner. It may be long or secret. */
  readonly name: string;
  /** Session or connection with which the value ends. Undefined if it outlives them. */
  readonly session?: string;
  /** Throws if the session has ended. */
  assertLive(): void;
}

/** Format of a stored value. */
interface Kept {
  readonly format: 1;
  readonly value: unknown;
}

/** Value that a server keeps for the caller of a call. */
export class CallerState<In, Out = In> {
  readonly #rules: StateRules;
  readonly #records: Records;
  readonly #owner: StateOwner;
  #place: Promise<Place> | undefined;

  /** @internal */
  constructor(rules: StateRules, records: Records, owner: StateOwner) {
    this.#rules = rules;
    this.#records = records;
    this.#owner = owner;
  }

  /** Returns the value, or undefined if none is set or its time is over. */
  async get(): Promise<Out | undefined> {
    const { key } = await this.#find();
    return this.#read(await this.#records.get(key));
  }

  /** Replaces the value. Its time begins again. */
  async set(value: In): Promise<void> {
    const { key, index } = await this.#find();
    const text = await this.#write(value);
    this.#owner.assertLive();
    await this.#records.put(key, text, { ttlMs: this.#rules.ttlMs, index });
  }

  /**
   * Changes the value. `change` is called again if another call has changed it meanwhile, in any process. Returns the new
   * value.
   */
  async update(change: (value: Out | undefined) => In | Promise<In>): Promise<Out> {
    const { key, index } = await this.#find();
    const changed = async (stored: Stored | undefined) => {
      const value = await this.#write(await change(await this.#read(stored)));
      this.#owner.assertLive();
      return { value, ttlMs: this.#rules.ttlMs, index };
    };
    const stored = await update(this.#records, key, changed, { once: true });
    return (await this.#read(stored)) as Out;
  }

  /** Removes the value. Returns true if there was one. */
  async delete(): Promise<boolean> {
    const { key } = await this.#find();
    return this.#records.delete(key);
  }

  get #where(): string {
    return `state "${this.#rules.name}"`;
  }

  #find(): Promise<Place> {
    this.#place ??= placeOf(this.#rules, this.#owner);
    return this.#place;
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
    const lost = findLost(value, []);
    if (lost !== undefined) throw this.#notJson(lost.startsWith("/") ? lost : `it${lost}`);
    try {
      const json: string | undefined = JSON.stringify(value);
      if (json !== undefined) return json;
    } catch (cause) {
      throw this.#notJson(messageOf(cause), cause);
    }
    throw this.#notJson("use delete to remove it");
  }

  #notJson(reason: string, cause?: unknown): McpError {
    return new McpError("state_invalid", `${this.#where} cannot be set: the value is not JSON: ${reason}`, { cause });
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

/** Place of a value: the key of its record, and the index of the values that end with the same session. */
interface Place {
  readonly key: string;
  readonly index: readonly IndexEntry[];
}

async function placeOf({ audience, name: state }: StateRules, { name, session }: StateOwner): Promise<Place> {
  const key = `state:${state}:${await digest(audience, name)}`;
  return { key, index: session === undefined ? [] : [{ index: await indexOf(session), score: 0 }] };
}

const indexOf = async (session: string) => `state of ${await digest(session)}`;

/** Number of values that are listed at a time. */
const PAGE = 100;

/** Deletes the values of a session that has ended. */
export async function deleteStateOf(session: string, records: Records): Promise<void> {
  const index = await indexOf(session);
  for (;;) {
    const listed = await records.list(index, { limit: PAGE });
    await Promise.all(listed.map(({ key }) => records.delete(key)));
    if (listed.length < PAGE) return;
  }
}

/** Returns a digest that differs for each list of texts. JSON has no lone surrogates, which UTF-8 would replace. */
async function digest(...texts: readonly string[]): Promise<string> {
  return toHex((await sha256(JSON.stringify(texts))).subarray(0, 16));
}
