import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { connectWith } from "#src/client/connect.js";
import { legacyClient } from "#src/era/legacy/client/era.js";
import { modernClient } from "#src/era/modern/client/era.js";
import { gate } from "../../support/gate.js";
import { child, Lines, NEVER } from "../../support/server-child.js";
import { LEGACY, MODERN, ServerScript } from "../../support/server-script.js";

const discovered = { supportedVersions: [MODERN], capabilities: {}, resultType: "complete" };
const initialized = { protocolVersion: LEGACY, capabilities: {}, serverInfo: { name: "slow", version: "1" } };

/** A server that says nothing until the probe has timed out and the handshake has been sent. */
async function silent(t: TestContext, options: ClientOptions = {}, two = false) {
  const clock = new FakeClock();
  const script = new ServerScript();
  const problems: Error[] = [];
  const all: ClientOptions = { clock, onError: (error) => problems.push(error), ...options };
  const connecting = two ? connectTwoVersions(script, all) : connect({ channel: script.channel }, all);
  connecting.catch(() => {});
  t.after(async () => {
    await script.close();
    await (await connecting.catch(() => undefined))?.close();
  });
  const probe = await script.next("server/discover");
  clock.advance(10_000);
  const handshake = await script.next("initialize");
  return { clock, script, problems, connecting, probe, handshake };
}

/** A client for whom an earlier version without handshakes exists too. */
function connectTwoVersions(script: ServerScript, options: ClientOptions): Promise<Client> {
  const eras = [{ ...modernClient, versions: [MODERN, "2026-01-31"] }, legacyClient];
  const none = () => Promise.reject(new Error("not needed here"));
  const dialer = { eras, memory: new Map(), spawn: none, validator: none, send: none };
  return connectWith(dialer, { channel: script.channel }, options);
}

test("a probe that is answered late decides, and the handshake that was sent meanwhile is forgotten", async (t) => {
  const [noticed, closed] = [gate<unknown>(), gate<Error | undefined>()];
  const world = await silent(t, { onNotification: noticed.open, onClose: closed.open });
  const { script, problems, connecting, probe, handshake, clock } = world;
  script.result(probe, discovered);
  const client = await connecting;
  equal(client.era, "modern");
  script.result(handshake, initialized);
  script.notify("vendor/event", { n: 1 });
  deepEqual(await noticed.opened, { jsonrpc: "2.0", method: "vendor/event", params: { n: 1 } });
  deepEqual(problems, []);
  deepEqual(script.methods, ["server/discover", "initialize"]);
  equal(clock.pending, 0);
  await script.close();
  equal(await closed.opened, undefined);
});

test("in whatever turn the late answer comes, the connection is heard", async (t) => {
  for (let turns = 0; turns < 40; turns++) {
    const clock = new FakeClock();
    const script = new ServerScript();
    const closed = gate<Error | undefined>();
    const connecting = connect({ channel: script.channel }, { clock, onClose: closed.open });
    t.after(async () => (await connecting).close());
    const probe = await script.next("server/discover");
    clock.advance(10_000);
    for (let turn = 0; turn < turns; turn++) await undefined;
    script.result(probe, discovered);
    equal((await connecting).era, "modern");
    for (let turn = 0; turn < 40; turn++) await undefined;
    await script.close();
    await closed.opened;
    equal(clock.pending, 0);
  }
});

test("answers to both that come in one turn leave the server its newer era, in whatever order they come", async (t) => {
  for (const first of ["probe", "handshake"]) {
    const { script, problems, connecting, probe, handshake, clock } = await silent(t);
    const answers = [() => script.result(probe, discovered), () => script.result(handshake, initialized)];
    for (const answer of first === "probe" ? answers : answers.reverse()) answer();
    const client = await connecting;
    equal(client.era, "modern");
    deepEqual(problems, []);
    equal(script.all("notifications/initialized").length, 0);
    equal(clock.pending, 0);
  }
});

test("a handshake that is answered while the probe is not decides", async (t) => {
  const { script, problems, connecting, probe, handshake, clock } = await silent(t);
  script.result(handshake, initialized);
  equal((await connecting).era, "legacy");
  script.result(probe, discovered);
  script.on("tools/list", { result: { tools: [] } });
  await (await connecting).listTools();
  deepEqual(problems, []);
  deepEqual(script.methods, ["server/discover", "initialize", "notifications/initialized", "tools/list"]);
  equal(clock.pending, 0);
});

test("a late refusal of the probe leaves the decision to the handshake, which is not sent again", async (t) => {
  const { script, connecting, probe, handshake } = await silent(t);
  script.error(probe, -32601);
  script.result(handshake, initialized);
  equal((await connecting).era, "legacy");
  deepEqual(script.methods, ["server/discover", "initialize", "notifications/initialized"]);
});

test("a late answer that names another version is followed, whatever the handshake says", async (t) => {
  const { script, connecting, probe, handshake } = await silent(t, {}, true);
  script.error(probe, -32022, "no", { supported: ["2026-01-31"] });
  script.result(handshake, initialized);
  script.result(await script.next("server/discover"), { ...discovered, supportedVersions: ["2026-01-31"] });
  const client = await connecting;
  deepEqual([client.era, client.version], ["modern", "2026-01-31"]);
  equal(script.all("notifications/initialized").length, 0);
});

test("a late error that only newer servers have is told, though the handshake waits", async (t) => {
  const { script, connecting, probe, clock } = await silent(t);
  script.error(probe, -32021, "no", { requiredCapabilities: { elicitation: {} } });
  await rejects(connecting, { rpcCode: -32021 });
  equal(clock.pending, 0);
});

test("a server that refuses the handshake is waited for a while longer, and then told by its refusal", async (t) => {
  const patient = await silent(t);
  patient.script.error(patient.handshake, -32601);
  await patient.clock.started(patient.clock.delays.length);
  patient.script.result(patient.probe, discovered);
  equal((await patient.connecting).era, "modern");
  equal(patient.clock.pending, 0);

  const refused = await silent(t);
  const timers = refused.clock.delays.length;
  refused.script.error(refused.handshake, -32601, "no such thing");
  await refused.clock.started(timers + 1);
  refused.clock.advance(10_000);
  await rejects(refused.connecting, /no such thing/);
  equal(refused.clock.pending, 0);
});

test("a server that never says a word is given up after both times", async (t) => {
  const { clock, connecting } = await silent(t);
  clock.advance(59_999);
  ok(clock.pending > 0);
  clock.advance(1);
  await rejects(connecting, { name: "TimeoutError" });
  equal(clock.pending, 0);
});

test("the signal ends both questions", async (t) => {
  const abort = new AbortController();
  const { clock, connecting } = await silent(t, { signal: abort.signal });
  abort.abort("enough");
  await rejects(connecting, (reason) => reason === "enough");
  equal(clock.pending, 0);
});

test("a server that is known to shake hands is asked nothing else, however slow it is", async (t) => {
  const clock = new FakeClock();
  const script = new ServerScript();
  const connecting = connect({ channel: script.channel }, { clock, prior: { era: "legacy" } });
  t.after(async () => (await connecting.catch(() => undefined))?.close());
  const handshake = await script.next("initialize");
  clock.advance(59_999);
  script.result(handshake, initialized);
  equal((await connecting).era, "legacy");
  deepEqual(script.methods, ["initialize", "notifications/initialized"]);
});

for (const [versions, era] of [
  [[MODERN, LEGACY], "modern"],
  [[MODERN], "modern"],
  [[LEGACY], "legacy"],
] as const) {
  test(`a process that takes long to start is started once and keeps its era: ${versions}`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "bowline-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const log = join(folder, "log");
    const stderr = new Lines();
    const clock = new FakeClock();
    const target = { ...child("slow", log, versions), stderr: stderr.take, shutdown: NEVER };
    const connecting = connect(target, { clock });
    t.after(async () => (await connecting.catch(() => undefined))?.close());
    const pid = Number((await stderr.until(/^pid /)).slice(4));
    t.after(() => {
      try {
        process.kill(pid, "SIGKILL");
      } catch {}
    });
    await clock.started(1);
    const timers = clock.delays.length;
    clock.advance(10_000);
    await clock.started(timers + 1);
    process.kill(pid, "SIGUSR2");
    const client = await connecting;
    equal(client.era, era);
    match((await client.callTool("pid")).text, new RegExp(`^${pid}$`));
    ok(readFileSync(log, "utf8") === "start ");
  });
}
