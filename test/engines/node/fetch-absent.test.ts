import { equal, ok, rejects } from "node:assert/strict";
import { mock, test } from "node:test";
import { ask, serveText } from "../../support/text-server.js";

process.env.HTTP_PROXY = "http://proxy.example:3128";
process.env.NO_PROXY = "127.0.0.1";

// Our module looks for keys that nothing has, and Node uses those that it always uses.
const keyFor = Symbol.for;
const hidden = mock.method(Symbol, "for", (name: string) => keyFor(name.replace(/^undici\./, "absent.")));
const { nodesDispatcher, proxyFor } = await import("#src/node/undici/dispatchers.js");
hidden.mock.restore();
const { createDirectSend } = await import("#src/node/undici/send.js");
const { createUsualGuardedFetch } = await import("#src/node/outgoing/usual-fetch.js");

test("where Node keeps its dispatcher elsewhere, requests are sent by fetch", async (t) => {
  equal(nodesDispatcher(), undefined);
  const { reply, text } = await ask(createDirectSend(8), await serveText(t, "there"));
  ok(reply instanceof Response);
  equal(text, "there");
});

test("and the proxy of the environment and the guard of addresses hold", async (t) => {
  equal(proxyFor(new URL("http://example.com"), nodesDispatcher()), "http://proxy.example:3128");
  const url = await serveText(t, "secret");
  await rejects(createUsualGuardedFetch()(url, { redirect: "manual" }), /is a private address/);
});

test("a fetch of the application decides itself", async (t) => {
  t.mock.method(globalThis, "fetch", async () => new Response("mocked"));
  equal(proxyFor(new URL("http://example.com"), nodesDispatcher()), undefined);
  equal(await (await createUsualGuardedFetch()(new URL("http://127.0.0.1:1/"), {})).text(), "mocked");
});
