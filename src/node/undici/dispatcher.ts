import { readProxies } from "../outgoing/proxies.js";
import type { DirectReply } from "./reply.js";

/** Dispatcher that carries the requests of Node's `fetch`. Applications replace it globally, for a proxy or a test. */
export interface Dispatcher {
  dispatch(options: Readonly<Record<string, unknown>>, handler: DirectReply): unknown;
}

/**
 * Keys under which Node stores the dispatcher. The `.2` key belongs to undici 8, where the `.1` key is for older
 * handlers only.
 */
const DISPATCHERS = [Symbol.for("undici.globalDispatcher.2"), Symbol.for("undici.globalDispatcher.1")] as const;
/** Text in the source of Node's own `fetch` that identifies it. */
const NODES_OWN = "internal/deps/undici";

let lastFetch: unknown;
let lastIsOwn = false;

/** Returns the dispatcher of Node's own `fetch`, or undefined if the application has replaced `fetch`. */
export function nodesDispatcher(): Dispatcher | undefined {
  const { fetch } = globalThis;
  if (fetch !== lastFetch) {
    lastFetch = fetch;
    lastIsOwn = Function.prototype.toString.call(fetch).includes(NODES_OWN);
  }
  return lastIsOwn ? currentDispatcher() : undefined;
}

function currentDispatcher(): Dispatcher | undefined {
  const holder = globalThis as { [key: symbol]: Dispatcher | undefined };
  const [newer, older] = DISPATCHERS;
  // Node creates the dispatcher when any part of `fetch` is first accessed.
  if (holder[older] === undefined) void globalThis.Response;
  return holder[newer] ?? holder[older];
}

let lastDispatcher: Dispatcher | undefined;
let isLastOwn = false;

/** True for the dispatcher that Node has created, with the default options. Its class is in a file of Node. */
export function isNodesOwn(dispatcher: Dispatcher): boolean {
  if (dispatcher !== lastDispatcher) {
    lastDispatcher = dispatcher;
    isLastOwn = isUsual(dispatcher) && isClassOfNode(dispatcher);
  }
  return isLastOwn;
}

function isClassOfNode(dispatcher: Dispatcher): boolean {
  const Agent = dispatcher.constructor as new (options: object) => Dispatcher;
  // A composed dispatcher has another method.
  if (dispatcher.dispatch !== Agent.prototype.dispatch) return false;
  try {
    new Agent({ factory: null });
  } catch (error) {
    return String((error as Error).stack).includes(NODES_OWN);
  }
  return false;
}

/** Proxies of the environment. They are read once, since each call needs them. */
const environmentProxy = readProxies(process.env);

/** True if the application has replaced neither `fetch` nor its dispatcher by another kind. */
export function isUsual(dispatcher: Dispatcher | undefined): boolean {
  return dispatcher?.constructor.name === "Agent";
}

/** Returns the proxy that the environment names for a URL. Undefined if a replaced `fetch` or dispatcher decides. */
export function proxyFor(url: URL, dispatcher: Dispatcher | undefined): string | undefined {
  return environmentProxy === undefined || !isUsual(dispatcher) ? undefined : environmentProxy(url);
}
