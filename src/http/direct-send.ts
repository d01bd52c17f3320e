import { DirectReply } from "./direct-reply.js";
import { type Send, sendBy } from "./send.js";

/** What carries the requests of node's `fetch`; whoever replaces it, for a proxy or a test, replaces it for all. */
interface Dispatcher {
  dispatch(options: Readonly<Record<string, unknown>>, handler: DirectReply): unknown;
}

const DISPATCHER = Symbol.for("undici.globalDispatcher.1");
/** Where node's own `fetch` says that it comes from. */
const NODES_OWN = "internal/deps/undici";

let lastFetch: unknown;
let lastIsOwn = false;

/**
 * Sends without a `Request`, a `Response` and streams where that makes no difference: on Node, as long as `fetch` is node's
 * own. Those objects cost several times what the request does. Anywhere else this is `fetch`, as it is at that moment.
 */
export const directSend: Send = (url, sending) => {
  const dispatcher = isNodesOwn(globalThis.fetch) ? currentDispatcher() : undefined;
  // Who puts a password into an address is told by `fetch` that it is not sent.
  if (dispatcher === undefined || url.username !== "" || url.password !== "") return byFetch(url, sending);
  return new Promise((resolve, reject) => {
    const { method, headers, body, end } = sending;
    const reply = new DirectReply(url.href, end, resolve, reject);
    if (end.aborted) return;
    dispatcher.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: Object.assign({}, ALWAYS, headers),
        body,
        // Limits of time are the caller's.
        headersTimeout: 0,
        bodyTimeout: 0,
      },
      reply,
    );
  });
};

const byFetch = sendBy((url, init) => fetch(url, init));
/** What `fetch` sends too. */
const ALWAYS = { "accept-encoding": "gzip, deflate", "user-agent": "node" };

function isNodesOwn(fetch: typeof globalThis.fetch): boolean {
  if (fetch !== lastFetch) {
    lastFetch = fetch;
    lastIsOwn = Function.prototype.toString.call(fetch).includes(NODES_OWN);
  }
  return lastIsOwn;
}

function currentDispatcher(): Dispatcher | undefined {
  const holder = globalThis as { [DISPATCHER]?: Dispatcher };
  // It is there once anything of `fetch` has been looked at.
  if (holder[DISPATCHER] === undefined) void globalThis.Response;
  return holder[DISPATCHER];
}
