import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import * as z from "zod";
import type { InspectTarget } from "#src/inspect/connection.js";
import type { ConnectionState } from "#src/inspect/protocol.js";
import type { FrameEvent } from "#src/recording/events.js";
import { createHarbour, harbourProgram, serve } from "../../support/harbour.js";
import { InspectorWorld, type PageEventsReader } from "../../support/inspector.js";
import { harbour } from "../../support/recorded-wires.js";

const [command = "", ...args] = harbourProgram;

/** Ways to reach a server of the test, and a process. */
const local = (server: McpServer): InspectTarget => ({
  label: "harbour",
  wire: "memory",
  targets: [server],
  options: {},
});
const http = async (t: TestContext, server: McpServer): Promise<InspectTarget> => {
  const url = await serve(t, server);
  return { label: url, wire: "http", url, targets: [url], options: {} };
};
const process_: InspectTarget = { label: "harbour", wire: "stdio", targets: [{ command, args }], options: {} };

const WIRES = [
  { name: "memory", place: async (_: TestContext, server: McpServer) => local(server) },
  { name: "http", place: http },
] as const;

interface Opened {
  readonly world: InspectorWorld;
  readonly page: PageEventsReader;
  readonly connection: number;
}

/** Opens an inspector that is connected in an era. */
async function open(t: TestContext, target: InspectTarget, era?: ConnectionState["era"]): Promise<Opened> {
  const world = await InspectorWorld.entered(t, { servers: [target] });
  const page = await world.events(t);
  const { connections } = await world.do("connect", era === undefined ? {} : { era });
  await untilSettled(page, connections);
  return { world, page, connection: connections[0] as number };
}

async function untilSettled(page: PageEventsReader, numbers: readonly number[]): Promise<ConnectionState[]> {
  const found = () => (page.state?.connections ?? []).filter(({ connection }) => numbers.includes(connection));
  await page.until(() => found().length === numbers.length && found().every(({ status }) => status !== "connecting"));
  return found();
}

function contentOf(result: unknown): unknown {
  return (result as { readonly content?: unknown }).content;
}

for (const { name, place } of WIRES)
  for (const era of ["modern", "legacy"] as const) {
    const at = `${name}, ${era}`;

    test(`${at}: the state describes the server of a connection`, async (t) => {
      const { page, connection } = await open(t, await place(t, harbour()), era);
      const state = page.state?.connections[0];
      deepEqual(
        [state?.connection, state?.status, state?.era, state?.info?.name],
        [connection, "open", era, "harbour"],
      );
      deepEqual(page.state?.verbs.includes("call"), true);
      const opening = await page.line(({ k }) => k === "open");
      equal((opening.event as { c: number }).c, state?.c);
    });

    test(`${at}: a tool is listed and called, and its progress is in the recording`, async (t) => {
      const { world, page, connection } = await open(t, await place(t, harbour()), era);
      const tools = await page.result("list", (await world.do("list", { connection, what: "tools" })).run);
      deepEqual(
        (tools as readonly { name: string }[]).map((tool) => tool.name),
        ["moor", "cast-off", "sound-the-horn", "run-aground"],
      );
      const { run } = await world.do("call", { connection, name: "moor", arguments: { ship: "Maria" } });
      deepEqual(contentOf(await page.result("call", run)), [{ type: "text", text: "Maria is moored" }]);
      const end = await page.end(run);
      const within = page.lines.filter(({ id }) => id > end.line && id <= end.lastLine);
      const methods = within.flatMap(({ event }) => (event as { m?: { method?: string } }).m?.method ?? []);
      equal(methods.filter((method) => method === "notifications/progress").length, 3);
      ok(end.to >= end.from);
    });

    test(`${at}: a question waits for the page, and its answer reaches the tool`, async (t) => {
      const { world, page, connection } = await open(t, await place(t, harbour()), era);
      const { run } = await world.do("call", { connection, name: "cast-off", arguments: { berth: "n1" } });
      await page.until(() => page.state?.questions.length === 1);
      const [question] = page.state?.questions ?? [];
      deepEqual([question?.method, question?.connection], ["elicitation/create", connection]);
      const { c = 0, n = 0 } = question ?? {};
      await rejects(world.do("answer", { c, n }), /give either result or error/);
      await rejects(world.do("answer", { c, n: n + 1, error: "no" }), /unknown_question/);
      await world.do("answer", { c, n, result: { action: "accept", content: { sure: true } } });
      deepEqual(contentOf(await page.result("call", run)), [{ type: "text", text: "off" }]);
      await page.until(() => page.state?.questions.length === 0);
    });

    test(`${at}: a refused question ends as the refusal of the user`, async (t) => {
      const { world, page, connection } = await open(t, await place(t, harbour()), era);
      const { run } = await world.do("call", { connection, name: "cast-off", arguments: { berth: "n1" } });
      await page.until(() => page.state?.questions.length === 1);
      const { c = 0, n = 0 } = page.state?.questions[0] ?? {};
      await world.do("answer", { c, n, error: "not now" });
      const { result, error } = await page.end(run);
      ok(error !== undefined || JSON.stringify(result).includes("isError"), JSON.stringify(result));
    });

    test(`${at}: a call is cancelled on the server`, async (t) => {
      const { world, page, connection } = await open(t, await place(t, harbour()), era);
      const { run } = await world.do("call", { connection, name: "sound-the-horn" });
      await page.line((event) => (event as { m?: { method?: string } }).m?.method === "notifications/progress");
      deepEqual(
        page.state?.runs.map((each) => each.run),
        [run],
      );
      await world.do("cancel", { run, reason: "enough" });
      deepEqual((await page.end(run)).error, { code: "cancelled", message: "enough" });
      await rejects(world.do("cancel", { run }), /unknown_run/);
    });

    test(`${at}: resources are listed and read, and unknown names are failures with their code`, async (t) => {
      const { world, page, connection } = await open(t, await place(t, harbour()), era);
      const listed = await page.result("list", (await world.do("list", { connection, what: "resources" })).run);
      deepEqual(
        (listed as readonly { uri: string }[]).map(({ uri }) => uri),
        ["berth://n1"],
      );
      const { run } = await world.do("read", { connection, uri: "berth://n1" });
      equal(((await page.result("read", run)).contents[0] as { text: string }).text, "free");
      const missing = await world.do("read", { connection, uri: "berth://n9" });
      match((await page.end(missing.run)).error?.code ?? "", /^rpc_error$|not_found|invalid/);
    });
  }

test("one call in both eras: two runs with equal results, in two connections", async (t) => {
  const { world, page, connection } = await open(t, await http(t, harbour()));
  const { run, other } = await world.do("call", { connection, name: "moor", arguments: { ship: "Maria" }, both: true });
  const [one, two] = [await page.end(run), await page.end(other as number)];
  deepEqual(contentOf(one.result), contentOf(two.result));
  deepEqual([one.other, two.other], [other, run]);
  const eras = [one, two].map((end) => page.state?.connections.find((each) => each.connection === end.connection)?.era);
  deepEqual(eras, ["modern", "legacy"]);
  const again = await world.do("call", { connection, name: "moor", arguments: { ship: "Ida" }, both: true });
  await page.end(again.other as number);
  equal(page.state?.connections.length, 2);
});

test("connect in both eras opens two connections to a process", async (t) => {
  const world = await InspectorWorld.entered(t, { servers: [process_] });
  const page = await world.events(t);
  const { connections } = await world.do("connect", { both: true });
  const states = await untilSettled(page, connections);
  deepEqual(
    states.map(({ status, era }) => [status, era]),
    [
      ["open", "modern"],
      ["open", "legacy"],
    ],
  );
  const opened = page.lines.flatMap(({ event }) => (event.k === "open" ? [event.wire] : []));
  deepEqual(new Set(opened), new Set(["stdio"]));
  const [one] = connections as [number];
  const { run } = await world.do("call", { connection: one, name: "moor", arguments: { ship: "Maria", berth: "n1" } });
  match(JSON.stringify(await page.result("call", run)), /Maria/);
});

test("skills are listed, and a file is read with its digest verified", async (t) => {
  const { world, page, connection } = await open(t, process_);
  const listed = await page.result("list", (await world.do("list", { connection, what: "skills" })).run);
  const [skill] = listed as readonly { uri: string }[];
  ok(skill !== undefined);
  const { run } = await world.do("read", { connection, uri: skill.uri, skill: skill.uri });
  ok(((await page.result("read", run)).contents[0] as { text: string }).text.length > 0);
});

test("a watch lasts until it is ended, and its changes are lines", async (t) => {
  const server = harbour();
  const { world, page, connection } = await open(t, local(server));
  const { run } = await world.do("watch", { connection });
  await page.line((event) => /acknowledged|subscri/.test(JSON.stringify((event as FrameEvent).m ?? "")));
  server.tool("new-tool", () => "new");
  await page.line((event) => (event as { m?: { method?: string } }).m?.method === "notifications/tools/list_changed");
  await world.do("unwatch", { run });
  deepEqual((await page.end(run)).result, {});
});

test("a prompt is fetched, and its argument completed", async (t) => {
  const server = createHarbour().prompt(
    "greeting",
    {
      arguments: z.object({ ship: z.string() }),
      complete: { ship: (typed) => ["Maria", "Martha", "Anna"].filter((name) => name.startsWith(typed)) },
    },
    ({ ship }) => `Greet the ${ship}.`,
  );
  const { world, page, connection } = await open(t, local(server));
  const prompts = await page.result("list", (await world.do("list", { connection, what: "prompts" })).run);
  deepEqual(
    (prompts as readonly { name: string }[]).map(({ name }) => name),
    ["log-entry", "greeting"],
  );
  const completion = await world.do("complete", {
    connection,
    ref: { type: "ref/prompt", name: "greeting" },
    argument: { name: "ship", value: "Mar" },
  });
  deepEqual((await page.result("complete", completion.run)).values, ["Maria", "Martha"]);
  const { run } = await world.do("prompt", { connection, name: "greeting", arguments: { ship: "Maria" } });
  deepEqual((await page.result("prompt", run)).messages, [
    { role: "user", content: { type: "text", text: "Greet the Maria." } },
  ]);
});

test("a call that became a task is followed by its id, and gives its result", async (t) => {
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const { world, page, connection } = await open(t, local(survey(finished)));
  const begun = taskOf(
    await page.result("call", (await world.do("call", { connection, name: "survey", task: true })).run),
  );
  const of = (act: "get" | "result") => world.do("task", { connection, id: begun.taskId, act });
  equal(taskOf(await page.result("task", (await of("get")).run)).status, "working");
  finish();
  deepEqual(contentOf(await page.result("task", (await of("result")).run)), [{ type: "text", text: "12 m" }]);
});

test("a task is cancelled by its id", async (t) => {
  const { world, page, connection } = await open(t, local(survey(new Promise(() => {}))));
  const begun = taskOf(
    await page.result("call", (await world.do("call", { connection, name: "survey", task: true })).run),
  );
  const { run } = await world.do("task", { connection, id: begun.taskId, act: "cancel" });
  equal((await page.end(run)).error, undefined);
  const { run: after } = await world.do("task", { connection, id: begun.taskId, act: "get" });
  equal(taskOf(await page.result("task", after)).status, "cancelled");
});

/** Server with a tool that runs as a task until it is told to finish, or is cancelled. */
function survey(finished: Promise<void>): McpServer {
  return new McpServer({ name: "survey", version: "1.0.0" })
    .extend(tasks())
    .tool("survey", { task: { support: "required" } }, async (_args, { signal }) => {
      await Promise.race([finished, once(signal, "abort")]);
      return "12 m";
    });
}

const taskOf = (result: unknown) => result as { readonly taskId: string; readonly status: string };

test("a connection that fails says why, and verbs on it too", async (t) => {
  const nowhere: InspectTarget = {
    label: "nowhere",
    wire: "stdio",
    targets: [{ command: process.execPath, args: ["-e", "console.error('no licence'); process.exit(3)"] }],
    options: {},
  };
  const { world, page, connection } = await open(t, nowhere);
  const state = page.state?.connections[0];
  equal(state?.status, "failed");
  match(state?.error?.message ?? "", /no licence|exit/);
  const { event } = await page.line(({ k }) => k === "stderr");
  equal((event as { text?: string }).text, "no licence\n");
  const { run } = await world.do("list", { connection, what: "tools" });
  const { error } = await page.end(run);
  equal(error?.code, "not_available");
  match(error?.message ?? "", /connection 1 is failed: /);
  await rejects(world.do("list", { connection: 7, what: "tools" }), /unknown_connection: there is no connection 7/);
  await rejects(world.do("connect", { server: 3 }), /there is no server 3/);
});

test("closing a connection cancels its runs", async (t) => {
  const { world, page, connection } = await open(t, local(harbour()));
  const { run } = await world.do("call", { connection, name: "sound-the-horn" });
  await page.until(() => page.state?.runs.length === 1);
  await world.do("close", { connection });
  equal((await page.end(run)).error?.message, "the connection was closed");
  await page.until(() => page.state?.connections[0]?.status === "closed");
});

test("the recording is saved as it was shown", async (t) => {
  const { world, page, connection } = await open(t, local(harbour()));
  await page.end((await world.do("call", { connection, name: "moor", arguments: { ship: "Maria" } })).run);
  const { name, text } = await world.do("save", { as: "recording" });
  match(name, /^inspection-.*\.rec\.ndjson$/);
  const lines = text.trimEnd().split("\n");
  await page.until(() => page.lines.length === lines.length);
  deepEqual(
    page.lines.map(({ event }) => event),
    lines.map((line) => JSON.parse(line)),
  );
  deepEqual(
    page.lines.map(({ id }) => id),
    lines.map((_, index) => index + 1),
  );
});

test("the recording is saved as one HTML page", async (t) => {
  const files = async (name: string) => ({ type: "text/plain", text: name.endsWith(".js") ? "run()" : "a {}" });
  const world = await InspectorWorld.entered(t, { servers: [local(harbour())], files });
  world.recording.note("a storm");
  const { name, type, text } = await world.do("save", { as: "html" });
  deepEqual([name.endsWith(".html"), type], [true, "text/html"]);
  match(text, /<script type="module">run\(\)<\/script>/);
  match(text, /a storm/);
});
