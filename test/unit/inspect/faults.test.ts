import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { parseRecording, replayServer } from "bowline/testing";
import type { InspectTarget } from "#src/inspect/connection.js";
import type { FaultPlan } from "#src/inspect/protocol.js";
import { harbourProgram, serve } from "../../support/harbour.js";
import { InspectorWorld, type PageEventsReader } from "../../support/inspector.js";
import { connectReplay, harbour, RECORDED_WIRES } from "../../support/recorded-wires.js";

const [command = "", ...args] = harbourProgram;
const [WIRE] = RECORDED_WIRES as readonly [(typeof RECORDED_WIRES)[number]];

const WIRES: readonly { readonly name: string; readonly place: (t: TestContext) => Promise<InspectTarget> }[] = [
  {
    name: "memory",
    place: async () => ({ label: "harbour", wire: "memory", targets: [harbour()], options: {} }),
  },
  {
    name: "http",
    place: async (t) => {
      const url = await serve(t, harbour());
      return { label: url, wire: "http", url, targets: [url], options: {} };
    },
  },
];

interface Opened {
  readonly world: InspectorWorld;
  readonly page: PageEventsReader;
  readonly connection: number;
  /** Calls a tool, and returns the number of the run. */
  readonly call: (name: string, given?: object) => Promise<number>;
}

async function open(t: TestContext, target: InspectTarget, era: "modern" | "legacy" = "modern"): Promise<Opened> {
  const world = await InspectorWorld.entered(t, { servers: [target] });
  const page = await world.events(t);
  const [connection = 0] = (await world.do("connect", { era })).connections;
  await page.until(({ state }) => state?.connections[0]?.status === "open");
  // Knows the tools, so that a call is one request.
  await page.end((await world.do("list", { connection, what: "tools" })).run);
  const call = async (name: string, given: object = {}) =>
    (await world.do("call", { connection, name, arguments: { ...given } })).run;
  return { world, page, connection, call };
}

function faultsOf(page: PageEventsReader): readonly [what: string, d: string | undefined][] {
  return page.lines.flatMap(({ event }) => (event.k === "fault" ? [[event.what, event.d] as const] : [])) as never;
}

const CALLS: FaultPlan["match"] = { method: "tools/call" };

for (const { name, place } of WIRES)
  for (const era of ["modern", "legacy"] as const) {
    const at = `${name}, ${era}`;
    // The head of an HTTP response tells that the server began to answer.
    const delivery = name === "http" ? "answer_lost" : "sent";

    test(`${at}: a cut in the page loses the answer, in the call and in the recording`, async (t) => {
      const { world, page, connection, call } = await open(t, await place(t), era);
      const run = await call("sound-the-horn");
      await page.line((event) => (event as { m?: { method?: string } }).m?.method === "notifications/progress");
      await world.do("faults", { connection, now: "cut" });
      const { error } = await page.end(run);
      deepEqual([error?.delivery, error?.retrySafe], [delivery, false]);
      await page.line(({ k }) => k === "fault");
      equal(faultsOf(page)[0]?.[0], "cut");
      const outcome = await page.line(
        (event) => event.k === "outcome" && event.name === "sound-the-horn" && event.error !== undefined,
      );
      equal((outcome.event as { error?: { delivery?: string } }).error?.delivery, delivery);
      const { text } = await world.do("save", { as: "recording" });
      const replay = await replayServer(parseRecording(text));
      const client = await connectReplay({ ...WIRE, era, isHttp: name === "http" }, replay);
      t.after(() => client.close());
      await client.tools().all();
      await rejects(client.callTool("sound-the-horn", {}, { onProgress: () => {} }), { delivery });
    });

    test(`${at}: a stalled direction waits until it flows`, async (t) => {
      const { world, page, connection, call } = await open(t, await place(t), era);
      await world.do("faults", { connection, now: "stall", direction: ">" });
      const run = await call("moor", { ship: "Maria" });
      await page.until(({ state }) => state?.runs.length === 1);
      await page.line((event) => event.k === "fault" && event.what === "stall");
      equal(
        page.runs.some((end) => end.run === run),
        false,
      );
      await world.do("faults", { connection, now: "flow" });
      match(JSON.stringify((await page.end(run)).result), /Maria is moored/);
    });

    test(`${at}: a fault meets only what it matches, as often as the plan says`, async (t) => {
      const { world, page, connection, call } = await open(t, await place(t), era);
      const plan: FaultPlan = { on: true, seed: 4711, match: CALLS, toServer: { delayMs: 1 } };
      await world.do("faults", { connection, plan });
      await page.until(({ state }) => state?.connections[0]?.faults.on === true);
      deepEqual(page.state?.connections[0]?.faults, plan);
      await page.end((await world.do("list", { connection, what: "tools", fresh: true })).run);
      deepEqual(faultsOf(page), []);
      await page.end(await call("run-aground"));
      equal(faultsOf(page).filter(([what]) => what === "delay").length, 1);
      await world.do("faults", { connection, plan: { on: false } });
      await page.end(await call("run-aground"));
      equal(faultsOf(page).length, 1);
    });
  }

test("http: the next requests are answered with a status in place of the server", async (t) => {
  const { world, page, connection, call } = await open(t, await WIRES[1]!.place(t));
  const plan: FaultPlan = { on: true, match: CALLS, http: { status: 503, retryAfterS: 2 } };
  await world.do("faults", { connection, plan });
  equal((await page.end(await call("run-aground"))).error?.status, 503);
  match(JSON.stringify((await page.end(await call("run-aground"))).result), /keel/);
  ok(faultsOf(page).some(([what]) => what === "status"));
});

test("http: a response can be lost, and its stream be cut behind an event", async (t) => {
  const { world, page, connection, call } = await open(t, await WIRES[1]!.place(t));
  await world.do("faults", { connection, plan: { on: true, match: CALLS, toClient: { drop: 1 } } });
  ok((await page.end(await call("run-aground"))).error !== undefined);
  await world.do("faults", { connection, plan: { on: true, match: CALLS, toClient: { cutAfter: 1 } } });
  const { error } = await page.end(await call("moor", { ship: "Maria" }));
  equal(error?.delivery, "answer_lost");
  deepEqual(
    faultsOf(page).map(([what]) => what),
    ["lose", "cut"],
  );
});

test("memory: frames are dropped, sent twice and cut behind a number of them", async (t) => {
  const { world, page, connection, call } = await open(t, await WIRES[0]!.place(t));
  await world.do("faults", { connection, plan: { on: true, match: CALLS, toServer: { duplicate: 1 } } });
  await page.end(await call("run-aground"));
  deepEqual(faultsOf(page), [["duplicate", ">"]]);
  await world.do("faults", { connection, plan: { on: true, match: CALLS, toClient: { cutAfter: 0 } } });
  const { error } = await page.end(await call("run-aground"));
  equal(error?.delivery, "sent");
  deepEqual(faultsOf(page).slice(1), [
    ["drop", "<"],
    ["cut", undefined],
  ]);
});

test("one in n is decided by the seed alone", async (t) => {
  const runs: string[] = [];
  for (const seed of [7, 7, 8]) {
    const { world, page, connection, call } = await open(t, await WIRES[0]!.place(t));
    await world.do("faults", { connection, plan: { on: true, seed, match: CALLS, toServer: { duplicate: 2 } } });
    const hits: number[] = [];
    for (let number = 0; number < 12; number++) {
      const before = faultsOf(page).length;
      await page.end(await call("run-aground"));
      hits.push(faultsOf(page).length - before);
    }
    runs.push(hits.join(""));
  }
  equal(runs[0], runs[1]);
  ok(runs[0] !== runs[2] && /0/.test(runs[0] ?? "") && /1/.test(runs[0] ?? ""), runs.join());
});

test("faults that a wire does not have are refused", async (t) => {
  const memory = await open(t, await WIRES[0]!.place(t));
  const plan: FaultPlan = { on: true, http: { status: 503 } };
  await rejects(memory.world.do("faults", { connection: 1, plan }), /plan.http is for connections over HTTP/);
  const http = await open(t, await WIRES[1]!.place(t));
  const twice: FaultPlan = { on: true, toServer: { duplicate: 2 } };
  await rejects(http.world.do("faults", { connection: 1, plan: twice }), /duplicate is for connections that are not/);
});

test("stdio: a process that is cut has lost its calls, and ends", async (t) => {
  const target: InspectTarget = { label: "harbour", wire: "stdio", targets: [{ command, args }], options: {} };
  const { world, page, connection } = await open(t, target);
  await world.do("faults", { connection, now: "cut" });
  await page.until(({ state }) => state?.connections[0]?.status === "closed");
  match(page.state?.connections[0]?.error?.message ?? "", /cut/);
});
