import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { HttpScript } from "../../support/http-script.js";
import { LEGACY } from "../../support/server-script.js";

test("a server that never takes the end of the handshake holds nobody up", async (t) => {
  const clock = new FakeClock();
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const connecting = connect(script.url, { era: "legacy", clock, timeoutMs: 1000 });
  const serverInfo = { name: "script", version: "1" };
  const headers = { "mcp-session-id": "session-0123456789" };
  (await script.next("initialize")).result({ protocolVersion: LEGACY, capabilities: {}, serverInfo }, headers);
  const last = await script.next("notifications/initialized");
  clock.advance(1000);
  await rejects(connecting, { name: "TimeoutError" });
  const end = await script.next("DELETE");
  clock.advance(1000);
  await end.gone;
  await last.gone;
  equal(clock.pending, 0);
});
