import { readProxies } from "../outgoing/proxies.js";
import type { DirectReply } from "./reply.js";

/** What carries the requests of node's `fetch`; whoever replaces it, for a proxy or a test, replaces it for all. */
export interface Dispatcher {
  dispatch(options: Readonly<Record<string, unknown>>, handler: DirectReply): unknown;
}

/** Where node keeps it. The second is that of undici 8, beside which the first is for older handlers alone. */
const DISPATCHERS = [Symbol.for("undici.globalDispatcher.2"), Symbol.for("undici.globalDispatcher.1")] as const;
/** Where node's own `fetch` says that it comes from. */
const NODES_OWN = "internal/deps/undici";

let lastFetch: unknown;
let lastIsOwn = false;

/** The dispatcher of node's own `fetch`; undefined where somebody has put another `fetch` in its place. */
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
  // It is there once anything of `fetch` has been looked at.
  if (holder[older] === undefined) void globalThis.Response;
  return holder[newer] ?? holder[older];
}

/** Read once: no call pays for it. */
const environmentProxy = readProxies(process.env);

/** Whether requests go out as node itself would send them: another `fetch` or kind of dispatcher decides for itself. */
export function isUsual(dispatcher: Dispatcher | undefined): boolean {
  return dispatcher?.constructor.name === "Agent";
}

/** The proxy that the environment names for an address, where requests go out as usual. */
export function proxyFor(url: URL, dispatcher: Dispatcher | undefined): string | undefined {
  return environmentProxy === undefined || !isUsual(dispatcher) ? undefined : environmentProxy(url);
}
