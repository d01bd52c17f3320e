import type { Result } from "../../era/server-era.js";
import { DefinitionError } from "../../protocol/errors.js";
import type { Registry } from "../definitions/registry.js";

const TOPICS = ["toolsListChanged", "promptsListChanged", "resourcesListChanged", "resourceSubscriptions"];
const NOTIFICATIONS = [
  "cancelled",
  "progress",
  "initialized",
  "message",
  "elicitation/complete",
  "subscriptions/acknowledged",
  "tools/list_changed",
  "prompts/list_changed",
  "resources/list_changed",
  "resources/updated",
  "roots/list_changed",
];

/** Names that the protocol itself uses, besides its methods. */
const SPECIFIED: ReadonlySet<string> = new Set([
  "result type complete",
  "result type input_required",
  ...TOPICS.map((member) => `topic ${member}`),
  ...NOTIFICATIONS.map((name) => `notification notifications/${name}`),
]);

const PROTOCOL = "by the protocol";

/** Names that an extension uses. */
export interface Wanted {
  readonly methods: readonly string[];
  readonly notifications: readonly string[];
  /** Each result type with the method that may return it. */
  readonly results: readonly (readonly [type: string, method: string])[];
  readonly topics: readonly string[];
  /** URIs and URI templates. */
  readonly resources: readonly string[];
}

/**
 * Makes an extension the owner of its names. Throws if a name already has an owner. `isSpecified` is true for methods
 * of the protocol.
 */
export function claim(
  registry: Registry,
  extension: string,
  wanted: Wanted,
  isSpecified: (method: string) => boolean,
): void {
  const { methods, notifications, resources, templates, extensions = {}, extensionOwners: owners } = registry;
  const claimed = [
    extension,
    ...wanted.methods.map((name) => `method ${name}`),
    ...wanted.notifications.map((name) => `notification ${name}`),
    ...wanted.results.map(([type]) => `result type ${type}`),
    ...wanted.topics.map((member) => `topic ${member}`),
  ];
  const assertFree = (what: string, owner: string | false | undefined) => {
    if (owner) throw new DefinitionError(`extensions: ${what} is claimed by ${extension} and ${owner}`);
  };
  if (owners.has(extension)) throw new DefinitionError(`extensions: ${extension} is already installed`);
  for (const what of claimed)
    assertFree(what, owners.has(what) ? `by ${owners.get(what)}` : SPECIFIED.has(what) && PROTOCOL);
  assertFree(extension, Object.hasOwn(extensions, extension) && "by the option capabilities");
  for (const name of wanted.methods) {
    assertFree(`method ${name}`, isSpecified(name) && PROTOCOL);
    assertFree(`method ${name}`, methods.has(name) && "already defined with server.method()");
  }
  for (const name of wanted.notifications) {
    assertFree(`notification ${name}`, notifications.has(name) && "already defined with server.onNotification()");
  }
  for (const uri of wanted.resources) {
    assertFree(`resource ${uri}`, (resources.get(uri) ?? templates.get(uri)) && "by the server");
  }
  for (const what of claimed) owners.set(what, extension);
  for (const [type, method] of wanted.results) owners.set(answer(method, type), extension);
}

/** Returns the result. Throws if no extension registered its type for this method. */
export function expectOwnType(registry: Registry, extension: string, method: string, result: Result): Result {
  const type = result.resultType;
  if (type === undefined || type === "complete" || type === "input_required") return result;
  if (registry.extensionOwners.has(answer(method, type))) return result;
  throw new Error(
    `extension ${extension}: ${method} returned the result type ${JSON.stringify(type)}; declare it in results`,
  );
}

function answer(method: string, type: unknown): string {
  return `answer to ${method} of type ${type}`;
}
