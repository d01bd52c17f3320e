import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { INSPECT_LIMITS } from "#src/inspect/limits.js";
import { InspectorWorld } from "../../support/inspector.js";
import { harbour } from "../../support/recorded-wires.js";

const servers = () => [{ label: "harbour", wire: "memory" as const, targets: [harbour()], options: {} }];

test("a stream begins with the state, and has all lines with their numbers", async (t) => {
  const world = await InspectorWorld.entered(t);
  for (let note = 1; note <= 3; note++) world.recording.note(`note ${note}`);
  const page = await world.events(t);
  await page.until(({ lines }) => lines.length === 4);
  deepEqual(
    page.lines.map(({ id }) => id),
    [1, 2, 3, 4],
  );
  deepEqual(page.lines[0]?.event, world.recording.header);
  equal(page.state?.by, "bowline 1.2.3");
});

test("a stream that was lost continues behind the last line that the page has", async (t) => {
  const world = await InspectorWorld.entered(t);
  world.recording.note("before");
  const first = await world.events(t);
  await first.until(({ lines }) => lines.length === 2);
  first.close();
  for (let note = 1; note <= 5; note++) world.recording.note(`missed ${note}`);
  const second = await world.events(t, first.lines.at(-1)?.id);
  world.recording.note("after");
  await second.until(({ lines }) => lines.length === 6);
  deepEqual(
    second.lines.map(({ id, event }) => [id, (event as { text?: string }).text]),
    [...[1, 2, 3, 4, 5].map((note) => [note + 2, `missed ${note}`]), [8, "after"]],
  );
});

test("a page that was away for longer than lines are kept gets a visible gap", async (t) => {
  const world = await InspectorWorld.entered(t, { limits: { maxKeptLines: 10 } });
  const first = await world.events(t);
  await first.until(({ lines }) => lines.length === 1);
  first.close();
  for (let note = 2; note <= 101; note++) world.recording.note(`note ${note}`);
  const second = await world.events(t, 1);
  await second.until(({ lines }) => lines.at(-1)?.id === 101);
  const [gap, ...rest] = second.lines;
  deepEqual([gap?.id, gap?.event.k, gap?.event.k === "gap" && gap.event.lines], [91, "gap", 90]);
  deepEqual(
    rest.map(({ id }) => id),
    Array.from({ length: 10 }, (_, index) => 92 + index),
  );
  const { text } = await world.do("save", { as: "recording" });
  equal(text.trimEnd().split("\n").length, 12);
});

test("a page that does not read has no share of memory, and continues where it was", async (t) => {
  const world = await InspectorWorld.entered(t, { limits: { maxKeptLines: 50 } });
  const page = await world.events(t);
  const text = "x".repeat(100_000);
  // More than a socket takes in one turn.
  for (let note = 2; note <= 401; note++) world.recording.note(text);
  await page.until(({ lines }) => lines.at(-1)?.id === 401);
  const counted = page.lines.reduce((sum, { event }) => sum + (event.k === "gap" ? event.lines : 1), 0);
  equal(counted, 401);
  ok(page.lines.some(({ event }) => event.k === "gap"));
});

test("ends of runs are sent again to a page that comes back, as far as they are kept", async (t) => {
  const world = await InspectorWorld.entered(t, { servers: servers(), limits: { maxKeptRuns: 3 } });
  const first = await world.events(t);
  const { connections } = await world.do("connect", {});
  const [connection = 0] = connections;
  for (let call = 0; call < 5; call++) await first.end((await world.do("list", { connection, what: "tools" })).run);
  first.close();
  const second = await world.events(t);
  await second.until(({ runs }) => runs.length === 3);
  deepEqual(
    second.runs.map(({ run }) => run),
    [3, 4, 5],
  );
  await second.end((await world.do("list", { connection, what: "tools" })).run);
  equal(second.runs.length, 4);
});

test("the end of a run follows its lines", async (t) => {
  const world = await InspectorWorld.entered(t, { servers: servers() });
  const page = await world.events(t);
  const [connection = 0] = (await world.do("connect", {})).connections;
  for (let call = 0; call < 20; call++) {
    const end = await page.end((await world.do("call", { connection, name: "moor", arguments: { ship: "Ida" } })).run);
    ok((page.lines.at(-1)?.id ?? 0) >= end.lastLine);
  }
  const again = await world.events(t);
  await again.until(({ runs }) => runs.length === 20);
  ok((again.lines.at(-1)?.id ?? 0) >= (again.runs.at(-1)?.lastLine ?? 0));
});

test("runs and connections are bounded, and the refusal says what to do", async (t) => {
  const world = await InspectorWorld.entered(t, { servers: servers(), limits: { maxRuns: 2, maxConnections: 1 } });
  const page = await world.events(t);
  const [connection = 0] = (await world.do("connect", {})).connections;
  for (let call = 0; call < 2; call++) await world.do("call", { connection, name: "sound-the-horn" });
  const refused = await world.do("call", { connection, name: "moor" }).catch((error: Error) => error.message);
  equal(refused, "too_many: 2 runs are open: wait for one, or cancel one");
  const another = await world.do("connect", {}).catch((error: Error) => error.message);
  equal(another, "too_many: 1 connections are open: close one");
  await world.do("close", { connection });
  await page.until(({ state }) => state?.connections[0]?.status === "closed");
  deepEqual((await world.do("connect", {})).connections, [2]);
});

test("recordings of files are served by number, and are no live lines", async (t) => {
  const text =
    '{"mcpRecording":1,"by":"bowline","at":"2026-01-01T00:00:00Z","unit":"us","redaction":{"profile":"default"}}\n';
  const world = await InspectorWorld.entered(t, {
    parts: { mode: "files", recordings: [{ name: "a.rec.ndjson", lines: 1, text }] },
  });
  const page = await world.events(t);
  await page.until(({ state }) => state !== undefined);
  deepEqual(page.state?.recordings, [{ name: "a.rec.ndjson", lines: 1 }]);
  deepEqual(page.state?.verbs, ["save"]);
  const { status, text: served, headers } = await world.request("GET", "/recordings/0");
  deepEqual([status, served, headers["content-type"]], [200, text, "application/x-ndjson; charset=utf-8"]);
  equal((await world.request("GET", "/recordings/1")).status, 404);
  equal(page.lines.length, 0);
});

test("the limits are those that are documented", () => {
  deepEqual([INSPECT_LIMITS.maxKeptLines, INSPECT_LIMITS.maxKeptBytes], [50_000, 64 * 1024 ** 2]);
});
