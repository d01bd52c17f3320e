import type { HandlerResult } from "../era/era.js";
import { PreparedResult } from "../era/prepared-result.js";
import { DefinitionError } from "../schema/errors.js";
import type { Registry } from "./registry.js";

const PROTOCOL = "the protocol";

/** What is the protocol's own beside its methods. */
const SPECIFIED: readonly string[] = [
  "result type complete",
  "result type input_required",
  ...["toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"].map(
    (member) => `topic ${member}`,
  ),
  ...["cancelled", "progress", "initialized", "message", "elicitation/complete", "subscriptions/acknowledged"].map(
    (name) => `notification notifications/${name}`,
  ),
  ...["tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated"].map(
    (name) => `notification notifications/${name}`,
  ),
  "notification notifications/roots/list_changed",
];

/** What one extension wants for itself. */
export interface Wanted {
  readonly methods: readonly string[];
  readonly notifications: readonly string[];
  /** Each type with the method that it may answer. */
  readonly results: readonly (readonly [type: string, method: string])[];
  readonly topics: readonly string[];
}

/** Who owns what on one server: nothing has two owners. */
export class Claims {
  static readonly #all = new WeakMap<Registry, Claims>();
  readonly #owners = new Map<string, string>(SPECIFIED.map((what) => [what, PROTOCOL]));
  readonly #types = new Map<string, string>();
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  static of(registry: Registry): Claims {
    const claims = Claims.#all.get(registry) ?? new Claims(registry);
    Claims.#all.set(registry, claims);
    return claims;
  }

  /** Claims all of it, or throws and claims nothing. `isSpecified` tells which methods the protocol has. */
  claim(owner: string, wanted: Wanted, isSpecified: (method: string) => boolean): void {
    const names = [
      owner,
      ...wanted.methods.map((name) => `method ${name}`),
      ...wanted.notifications.map((name) => `notification ${name}`),
      ...wanted.results.map(([type]) => `result type ${type}`),
      ...wanted.topics.map((member) => `topic ${member}`),
    ];
    const { methods, notifications, extensions } = this.#registry;
    const conflict = (what: string, other: string) => {
      throw new DefinitionError(`extensions: ${what} is claimed by ${owner} and by ${other}`);
    };
    for (const what of names) {
      const other = this.#owners.get(what);
      if (other !== undefined) conflict(what, other);
    }
    if (extensions !== undefined && Object.hasOwn(extensions, owner)) conflict(owner, "the option capabilities");
    for (const name of wanted.methods) {
      if (isSpecified(name)) conflict(`method ${name}`, PROTOCOL);
      if (methods.has(name)) conflict(`method ${name}`, "the server's author");
    }
    for (const name of wanted.notifications) {
      if (notifications.has(name)) conflict(`notification ${name}`, "the server's author");
    }
    for (const what of names) this.#owners.set(what, owner);
    for (const [type, method] of wanted.results) this.#types.set(type, method);
  }

  /** Hands a result on unless it is of a type that no extension has for this method. */
  assertType(owner: string, method: string, result: HandlerResult): HandlerResult {
    const type = result instanceof PreparedResult ? undefined : result.resultType;
    if (type === undefined || type === "complete" || type === "input_required") return result;
    if (this.#types.get(type as string) === method) return result;
    throw new Error(`${owner}: ${method} may not be answered by a result of type ${JSON.stringify(type)}`);
  }
}
