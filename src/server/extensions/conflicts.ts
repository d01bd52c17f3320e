import { type HandlerResult, PreparedResult } from "../../era/server-era.js";
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

/** What is the protocol's own beside its methods. */
const SPECIFIED: ReadonlySet<string> = new Set([
  "result type complete",
  "result type input_required",
  ...TOPICS.map((member) => `topic ${member}`),
  ...NOTIFICATIONS.map((name) => `notification notifications/${name}`),
]);

/** What one extension wants for itself. */
export interface Wanted {
  readonly methods: readonly string[];
  readonly notifications: readonly string[];
  /** Each type with the method that it may answer. */
  readonly results: readonly (readonly [type: string, method: string])[];
  readonly topics: readonly string[];
}

/** Makes an extension the owner of all that it wants, or throws: nothing has two. `isSpecified` tells the protocol's methods. */
export function claim(
  registry: Registry,
  extension: string,
  wanted: Wanted,
  isSpecified: (method: string) => boolean,
): void {
  const { methods, notifications, extensions = {}, extensionOwners: owners } = registry;
  const claimed = [
    extension,
    ...wanted.methods.map((name) => `method ${name}`),
    ...wanted.notifications.map((name) => `notification ${name}`),
    ...wanted.results.map(([type]) => `result type ${type}`),
    ...wanted.topics.map((member) => `topic ${member}`),
  ];
  const assertFree = (what: string, owner: string | false | undefined) => {
    if (owner) throw new DefinitionError(`extensions: ${what} is claimed by ${extension} and by ${owner}`);
  };
  for (const what of claimed) assertFree(what, owners.get(what) ?? (SPECIFIED.has(what) && "the protocol"));
  assertFree(extension, Object.hasOwn(extensions, extension) && "the option capabilities");
  for (const name of wanted.methods) {
    assertFree(`method ${name}`, isSpecified(name) && "the protocol");
    assertFree(`method ${name}`, methods.has(name) && "the server's author");
  }
  for (const name of wanted.notifications) {
    assertFree(`notification ${name}`, notifications.has(name) && "the server's author");
  }
  for (const what of claimed) owners.set(what, extension);
  for (const [type, method] of wanted.results) owners.set(answer(method, type), extension);
}

/** Hands a result on unless it is of a type that no extension has for this method. */
export function expectOwnType(
  registry: Registry,
  extension: string,
  method: string,
  result: HandlerResult,
): HandlerResult {
  const type = result instanceof PreparedResult ? undefined : result.resultType;
  if (type === undefined || type === "complete" || type === "input_required") return result;
  if (registry.extensionOwners.has(answer(method, type))) return result;
  throw new Error(`${extension}: ${method} may not be answered by a result of type ${JSON.stringify(type)}`);
}

function answer(method: string, type: unknown): string {
  return `answer to ${method} of type ${type}`;
}
