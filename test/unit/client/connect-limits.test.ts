import { equal, match, rejects } from "node:assert/strict";
import { test } from "node:test";
import { type Channel, connect } from "bowline/client";
import { createChannelPair, FakeClock } from "bowline/testing";
import { gate } from "../../support/gate.js";
import { RawEnd, speaking } from "../../support/raw-peer.js";
import { RawServer, rawError } from "../../support/server-script.js";

/** A channel that never comes to be open. */
function unopened() {
  const [opening, closed] = [gate(), gate()];
  const channel: Channel = {
    open: () => {
      opening.open();
      return new Promise(() => {});
    },
    send: () => {},
    close: async () => closed.open(),
  };
  return { channel, opening: opening.opened, closed: closed.opened };
}

test("the signal ends connecting while the channel is being opened, and the channel with it", async () => {
  const { channel, opening, closed } = unopened();
  const abort = new AbortController();
  const connecting = connect({ channel }, { signal: abort.signal });
  await opening;
  abort.abort("enough");
  await rejects(connecting, (reason) => reason === "enough");
  await closed;
});

test("the time that connecting may take includes the opening of the channel", async () => {
  const clock = new FakeClock();
  const { channel, opening, closed } = unopened();
  const connecting = connect({ channel }, { clock, timeoutMs: 1000 });
  await opening;
  clock.advance(1000);
  await rejects(connecting, { name: "TimeoutError" });
  await closed;
  equal(clock.pending, 0);
});

test("a call whose error sends the user to a page ends with its signal, and with its connection", async (t) => {
  const page = { mode: "url", message: "Pay", url: "https://x.test/pay", elicitationId: "p" };
  const data = { elicitations: [page] };
  const server = new RawServer({
    era: "legacy",
    handlers: { "tools/call": () => rawError(-32042, "first", data) },
  });
  const shown = [gate<AbortSignal>(), gate<AbortSignal>()];
  let calls = 0;
  const client = await server.connect(t, {
    showRequiredUrls: true,
    onElicitUrl: (_page, { signal }) => {
      shown[calls++]?.open(signal);
      return new Promise(() => {});
    },
  });
  const abort = new AbortController();
  const call = client.callTool("any", {}, { signal: abort.signal });
  const first = await shown[0]?.opened;
  abort.abort("enough");
  await rejects(call, (reason) => reason === "enough");
  equal(first?.aborted, true);
  const other = rejects(client.callTool("any"), { name: "ConnectionError" });
  await shown[1]?.opened;
  await client.close();
  await other;
  equal(client.pending, 0);
});

for (const how of ["closed", "cut"] as const) {
  test(`waiting for the user to be done with a page ends with the connection (${how})`, async () => {
    const clock = new FakeClock();
    const raw = new RawEnd();
    const client = await connect({ channel: raw.near }, { ...speaking("modern"), clock });
    const waiting = client.elicitationCompleted("page", { timeoutMs: Number.POSITIVE_INFINITY });
    if (how === "closed") await client.close();
    else raw.end();
    await rejects(waiting, { name: "ConnectionError" });
    await rejects(client.elicitationCompleted("page"), { name: "ConnectionError" });
    equal(client.pending, 0);
    await client.close();
  });
}

for (const era of ["modern", "legacy"] as const) {
  test(`a server that goes away while it is connected to is told of, in whatever turn that is [${era}]`, async () => {
    const serverInfo = { name: "brief", version: "1" };
    const handshake = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo };
    const discovered = { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: {} };
    for (let turns = 0; turns < 40; turns++) {
      const [near, far] = createChannelPair();
      const answer = async (text: string) => {
        const { id, method } = JSON.parse(text) as { id?: number; method: string };
        if (id === undefined) return;
        const result = method === "initialize" ? handshake : discovered;
        void far.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
        for (let turn = 0; turn < turns; turn++) await undefined;
        await far.close();
      };
      await far.open({ onFrame: (text) => void answer(text), onProblem: () => {}, onClose: () => {} });
      const told = gate<string>();
      const connecting = connect({ channel: near }, { era, onClose: () => told.open("told") });
      const outcome = await connecting.then(
        () => new Promise(setImmediate).then(() => Promise.race([told.opened, "nothing"])),
        ({ name }: Error) => name,
      );
      match(String(outcome), /^(told|ConnectionError)$/, `after ${turns} turns`);
    }
  });
}
