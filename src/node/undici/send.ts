import { type ByteSource, type Reply, type Send, type Sending, sendBy } from "../../http/client/send.js";
import { requestBy } from "../outgoing/request.js";
import { Connections } from "./connections.js";
import { nodesDispatcher, proxyFor } from "./dispatcher.js";
import { inflate } from "./inflate.js";
import { DirectReply } from "./reply.js";

/**
 * Creates a function that sends the requests of a client without `Request`, `Response` and web streams, which cost several times as much as the request itself.
 * It does so only while `fetch` is Node's own. Otherwise it calls the current `fetch`. Uses the proxy that the
 * environment names.
 */
export function createDirectSend(maxIdleConnections: number): Send {
  const connections = new Connections(maxIdleConnections);
  const send: Send = (url, sending) => sendDirectly(connections, url, sending);
  send.keepIdle = (isKept) => connections.keepIdle(isKept);
  return send;
}

function sendDirectly(connections: Connections, url: URL, sending: Sending): Promise<Reply> {
  const dispatcher = nodesDispatcher();
  // A URL with credentials is left to `fetch`, which reports an error for it.
  if (dispatcher === undefined || url.username !== "" || url.password !== "") return byFetch(url, sending);
  const proxy = proxyFor(url, dispatcher);
  if (proxy !== undefined) return sendBy((at, init) => requestBy(at, init, { proxy }))(url, sending);
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

const byFetch = sendBy((url, init) => fetch(url, init));
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
