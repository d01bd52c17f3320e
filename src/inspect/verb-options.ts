import { assertOptions, type Known } from "../protocol/known-options.js";
import type { DirectionFaults, FaultPlan, Verb, VerbName, Verbs } from "./protocol.js";

const NUMBER = [{ number: "count" }, "required"] as const;
const TEXT = [{ string: "any" }, "required"] as const;

const DIRECTION: Known<DirectionFaults> = {
  delayMs: "ms",
  drop: "positive",
  duplicate: "positive",
  cutAfter: "count",
};

const PLAN: Known<FaultPlan> = {
  on: [{ boolean: "any" }, "required"],
  seed: "count",
  match: { method: "string", name: "string" },
  toServer: DIRECTION,
  toClient: DIRECTION,
  http: { status: [{ number: "positive" }, "required"], retryAfterS: "count", count: "positive" },
};

/** Members of each verb, besides `do`. */
const VERBS: { readonly [Name in VerbName]: Known<Verbs[Name]> } = {
  connect: {
    server: "count",
    era: [{ string: ["auto", "legacy", "modern"] }],
    both: "boolean",
  },
  close: { connection: NUMBER },
  list: {
    connection: NUMBER,
    what: [{ string: ["tools", "prompts", "resources", "templates", "skills", "tasks"] }, "required"],
    fresh: "boolean",
  },
  call: { connection: NUMBER, name: TEXT, arguments: "object", both: "boolean", task: "boolean" },
  read: { connection: NUMBER, uri: TEXT, skill: "string" },
  prompt: { connection: NUMBER, name: TEXT, arguments: [{ map: "string" }] },
  complete: {
    connection: NUMBER,
    ref: [{ object: "any" }, "required"],
    argument: [{ object: { name: TEXT, value: TEXT } }, "required"],
    context: { arguments: [{ map: "string" }] },
  },
  watch: { connection: NUMBER, resources: [{ array: "string" }] },
  unwatch: { run: NUMBER },
  answer: { c: NUMBER, n: NUMBER, result: "object", error: "string" },
  cancel: { run: NUMBER, reason: "string" },
  task: { connection: NUMBER, id: TEXT, act: [{ string: ["get", "result", "cancel"] }, "required"] },
  faults: {
    connection: NUMBER,
    plan: PLAN,
    now: [{ string: ["cut", "stall", "flow"] }],
    direction: [{ string: [">", "<"] }],
  },
  doctor: { server: "count" },
  login: { server: "count" },
  logout: { server: "count" },
  reveal: { server: "count", token: [{ string: ["access", "refresh"] }, "required"] },
  save: { as: [{ string: ["recording", "html"] }, "required"] },
};

/** Names of all verbs. */
export const VERB_NAMES = Object.keys(VERBS) as readonly VerbName[];

/** Throws unless a value is a verb with the members that it has. The message names the member. */
export function assertVerb(value: unknown): asserts value is Verb {
  const { do: name, ...members } = (typeof value === "object" && value !== null ? value : {}) as {
    readonly do?: unknown;
  };
  assertOptions("POST do", { do: name }, { do: [{ string: VERB_NAMES }, "required"] });
  assertOptions(String(name), members, VERBS[name as VerbName]);
}
