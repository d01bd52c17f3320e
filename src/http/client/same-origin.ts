import { discard } from "./read.js";
import type { Reply } from "./send.js";

const MAX_HOPS = 5;

/**
 * Sends, and follows a redirect only where nothing is given away and nothing is changed: to the same origin, with
 * method, headers and body kept. Any other redirect is handed back as it came, for the caller to refuse.
 */
export async function followSameOrigin<R extends Reply>(
  url: URL,
  isGet: boolean,
  send: (url: URL) => Promise<R>,
): Promise<R> {
  let at = url;
  for (let hops = 0; ; hops++) {
    const reply = await send(at);
    const next = hops < MAX_HOPS ? nextHop(reply, at, isGet) : undefined;
    if (next === undefined) return reply;
    discard(reply);
    at = next;
  }
}

function nextHop(reply: Reply, from: URL, isGet: boolean): URL | undefined {
  const { status } = reply;
  const keepsMethod = status === 307 || status === 308 || (isGet && (status === 301 || status === 302));
  const location = keepsMethod ? reply.headers.get("location") : null;
  if (location === null || !URL.canParse(location, from)) return undefined;
  const to = new URL(location, from);
  return to.origin === from.origin ? to : undefined;
}
