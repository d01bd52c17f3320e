import { equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { Connections, nodesDispatcher, proxyFor } from "#src/node/undici/dispatchers.js";
import { createDirectSend } from "#src/node/undici/send.js";
import { ask, serveText } from "../../support/text-server.js";

test("the dispatcher of this Node is where it is looked for, and carries the requests", async (t) => {
  const dispatcher = nodesDispatcher();
  ok(dispatcher !== undefined && new Connections(8).take(dispatcher) !== undefined);
  equal(proxyFor(new URL("http://example.com"), dispatcher), undefined);
  const { reply, text } = await ask(createDirectSend(8), await serveText(t, "there"));
  ok(!(reply instanceof Response));
  equal(text, "there");
});
