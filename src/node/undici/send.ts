import {
  type ByteSource,
  type Fetch,
  globalFetch,
  type Reply,
  type Send,
  type Sending,
  sendBy,
} from "../../http/client/send.js";
import { ProxyAgents } from "../outgoing/proxy-agents.js";
import { requestBy } from "../outgoing/request.js";
import { Connections, type Dispatcher, nodesDispatcher, proxyFor } from "./dispatchers.js";
import { inflate } from "./inflate.js";
import { DirectReply } from "./reply.js";
import { fetchBy } from "./web-fetch.js";

/**
 * Creates a function that sends the requests of a client without `Request`, `Response` and web streams, which cost several times as much as the request itself.
 * It does so only while `fetch` is Node's own. Otherwise it calls the current `fetch`. Uses the proxy that the
 * environment names. With `fetch`, it calls that function, which can send by the connections of the client, too.
 */
export function createDirectSend(maxIdleConnections: number, fetch?: Fetch): Send {
  const direct = new Connections(maxIdleConnections);
  const proxied = new ProxyAgents(maxIdleConnections);
  const sendOwn = (url: URL, sending: Sending): Promise<Reply> => {
    const way = wayTo(url, proxied);
    return typeof way === "function" ? sendBy(way)(url, sending) : dispatch(direct, way, url, sending);
  };
  const ownFetch: Fetch = (url, init) => {
    const way = wayTo(url, proxied);
    if (typeof way === "function") return way(url, init);
    if (typeof (init.body ?? "") !== "string") return globalFetch(url, init);
    return fetchBy((sending) => dispatch(direct, way, url, sending), url, init);
  };
  const send: Send = fetch === undefined ? sendOwn : sendBy((url, init) => fetch(url, { ...init, ownFetch }));
  send.keepIdle = (isKept) => {
    direct.keepIdle(isKept);
    proxied.keepIdle(isKept);
  };
  return send;
}

/** Returns the dispatcher that sends to a URL, or a `fetch` for a URL that no dispatcher can send to. */
function wayTo(url: URL, proxied: ProxyAgents): Dispatcher | Fetch {
  const dispatcher = nodesDispatcher();
  // A URL with credentials is left to `fetch`, which reports an error for it.
  if (url.username !== "" || url.password !== "") return globalFetch;
  const proxy = proxyFor(url, dispatcher);
  return proxy === undefined
    ? (dispatcher ?? globalFetch)
    : (at, init) => requestBy(at, init, { proxy, agents: proxied });
}

function dispatch(connections: Connections, dispatcher: Dispatcher, url: URL, sending: Sending): Promise<DirectReply> {
  return new Promise((resolve, reject) => {
    const { method, headers, body, end, patience } = sending;
    const line = end.aborted ? undefined : connections.take(dispatcher);
    const onEnd = (isComplete: boolean) => line && connections.give(line, isComplete);
    const reply = new DirectReply(url.href, end, unpack, { resolve, reject, onEnd });
    if (end.aborted) return;
    const options = {
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers: Object.assign({}, ALWAYS, headers),
      body,
      // The caller follows redirects and limits the time, since a stream may be idle and a call has its own limits.
      maxRedirections: 0,
      bodyTimeout: 0,
      headersTimeout: patience === undefined ? undefined : 0,
    };
    try {
      (line ?? dispatcher).dispatch(options, reply);
    } catch (error) {
      reply.onError(error);
    }
  });
}

const ALWAYS = { "accept-encoding": "gzip, br", "user-agent": "node" };

/** Returns the decompressed bytes of a source. */
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
