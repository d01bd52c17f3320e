import { type ByteSource, type Send, sendBy } from "../../http/client/send.js";
import { requestBy } from "../outgoing/request.js";
import { nodesDispatcher, proxyFor } from "./dispatcher.js";
import { inflate } from "./inflate.js";
import { DirectReply } from "./reply.js";

/**
 * Sends without a `Request`, a `Response` and streams where that makes no difference: as long as `fetch` is node's own. Those
 * objects cost several times what the request does. Otherwise this is `fetch`, as it is at that moment. A proxy that the
 * environment names is used.
 */
export const directSend: Send = (url, sending) => {
  const dispatcher = nodesDispatcher();
  // Who puts a password into an address is told by `fetch` that it is not sent.
  if (dispatcher === undefined || url.username !== "" || url.password !== "") return byFetch(url, sending);
  const proxy = proxyFor(url, dispatcher);
  if (proxy !== undefined) return sendBy((at, init) => requestBy(at, init, { proxy }))(url, sending);
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
