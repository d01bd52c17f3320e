import { deepEqual, equal, match } from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { askingServers } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const page = (url: string) => ({ mode: "url", message: "Please look", url, elicitationId: "e1" });

verifies(
  "elicitation:url:basic",
  "the handler gets the address character for character",
  askingServers,
  async (server) => {
    const seen: string[] = [];
    await server.connect({
      onElicitUrl: ({ url }) => {
        seen.push(url);
        return { action: "accept" };
      },
    });
    const urls = ["https://User:p%40ss@EXAMPLE.test:443/A%2fb/../c?q=%C3%A9#Frag", "http://localhost/%7Ea"];
    for (const url of urls) deepEqual((await server.ask("elicitation/create", page(url))).answer, { action: "accept" });
    deepEqual(seen, urls);
  },
);

verifies("elicitation:url:client-scheme-check", askingServers, async (server) => {
  let ran = 0;
  await server.connect({
    onElicitUrl: () => {
      ran++;
      return { action: "accept" };
    },
  });
  for (const url of ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "//example.test", ""]) {
    const reply = await server.ask("elicitation/create", page(url));
    match(reply.message ?? "", /\/url/);
    if (server.era === "legacy") equal(reply.code, -32602);
  }
  equal(ran, 0);
});

verifies("elicitation:url:no-prefetch", askingServers, async (server, t) => {
  let connections = 0;
  const listener = createServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => listener.close());
  const fetched = t.mock.method(globalThis, "fetch");
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/consent`;
  await server.connect({ onElicitUrl: () => ({ action: "accept" }) });
  deepEqual((await server.ask("elicitation/create", page(url))).answer, { action: "accept" });
  equal(fetched.mock.callCount(), 0);
  equal(connections, 0);
});

verifies("elicitation:url:no-prefetch", "without a handler nothing is accepted", askingServers, async (server) => {
  await server.connect({ onElicit: () => ({ action: "accept", content: {} }) });
  equal((await server.ask("elicitation/create", page("https://x.test"))).answer, undefined);
});

verifies(
  ["elicitation:url:action:accept-no-content", "elicitation:url:decline", "elicitation:url:cancel"],
  "the answer is the action alone",
  askingServers,
  async (server) => {
    const actions = ["accept", "decline", "cancel"] as const;
    let at = 0;
    await server.connect({ onElicitUrl: () => ({ action: actions[at++] as "accept", content: { card: "4242" } }) });
    for (const action of actions) {
      deepEqual((await server.ask("elicitation/create", page("https://x.test"))).answer, { action });
    }
  },
);
