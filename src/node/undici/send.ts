import { type ByteSource, type Send, sendBy } from "../../http/client/send.js";
import { inflate } from "./inflate.js";
import { DirectReply } from "./reply.js";

/** What carries the requests of node's `fetch`; whoever replaces it, for a proxy or a test, replaces it for all. */
interface Dispatcher {
  dispatch(options: Readonly<Record<string, unknown>>, handler: DirectReply): unknown;
}

/** Where node keeps it. The second is that of undici 8, beside which the first is for older handlers alone. */
const DISPATCHERS = [Symbol.for("undici.globalDispatcher.2"), Symbol.for("undici.globalDispatcher.1")] as const;
/** Where node's own `fetch` says that it comes from. */
const NODES_OWN = "internal/deps/undici";

let lastFetch: unknown;
let lastIsOwn = false;

/**
 * Sends without a `Request`, a `Response` and streams where that makes no difference: as long as `fetch` is node's own. Those
 * objects cost several times what the request does. Otherwise this is `fetch`, as it is at that moment.
 */
export const directSend: Send = (url, sending) => {
  const dispatcher = isNodesOwn(globalThis.fetch) ? currentDispatcher() : undefined;
  // Who puts a password into an address is told by `fetch` that it is not sent.
  if (dispatcher === undefined || url.username !== "" || url.password !== "") return byFetch(url, sending);
  return new Promise((resolve, reject) => {
    const { method, headers, body, end, patience } = sending;
    const reply = new DirectReply(url.href, end, unpack, { resolve, reject });
    if (end.aborted) return;
    const options = {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: Object.assign({}, ALWAYS, headers),
      body,
      // Redirects are the caller's to follow, and so are limits of time: a stream may be silent, and a call has its own.
      maxRedirections: 0,
      bodyTimeout: 0,
      headersTimeout: patience === undefined ? undefined : 0,
    };
    try {
      dispatcher.dispatch(options, reply);
    } catch (error) {
      reply.onError(error);
    }
  });
};

const byFetch = sendBy((url, init) => fetch(url, init));
const ALWAYS = { "accept-encoding": "gzip, br", "user-agent": "node" };

/** The plain bytes of a source that was packed on the way. */
function unpack(packed: ByteSource, encoding: string): ByteSource {
  return {
    async pump(onChunk) {
      try {
        await inflate(packed, encoding, onChunk);
      } finally {
        await packed.cancel();
      }
    },
    cancel: (reason) => packed.cancel(reason),
  };
}

function isNodesOwn(fetch: typeof globalThis.fetch): boolean {
  if (fetch !== lastFetch) {
    lastFetch = fetch;
    lastIsOwn = Function.prototype.toString.call(fetch).includes(NODES_OWN);
  }
  return lastIsOwn;
}

function currentDispatcher(): Dispatcher | undefined {
  const holder = globalThis as { [key: symbol]: Dispatcher | undefined };
  const [newer, older] = DISPATCHERS;
  // It is there once anything of `fetch` has been looked at.
  if (holder[older] === undefined) void globalThis.Response;
  return holder[newer] ?? holder[older];
}
