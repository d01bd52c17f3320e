import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { AbortSwitch } from "#src/call/abort-switch.js";
import { readText } from "#src/http/client/read.js";
import type { Reply, Send } from "#src/http/client/send.js";

const never = new AbortController();

/** Serves a text at every path. Returns the URL. */
export async function serveText(t: TestContext, text: string): Promise<URL> {
  const http = createServer((_, response) => response.end(text)).listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`);
}

/** Sends a request as a client does, and reads the whole reply. */
export async function ask(send: Send, url: URL): Promise<{ readonly reply: Reply; readonly text: string }> {
  const reply = await send(url, { method: "GET", headers: {}, body: null, end: new AbortSwitch(), server: url });
  return { reply, text: await readText(reply, 1 << 20, never) };
}
