import { deepEqual, doesNotMatch, equal, match, rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { modernRequest } from "../../../support/modern-request.js";
import { askPort, lastMessage, legacy, openSession } from "../../../support/plain-http.js";
import { callIn, callOf, openStream, WorkersProgram } from "../../../support/workers-program.js";

const TWO = { workers: 2, lameDuckMs: 100 };
const limit = { timeout: 240_000 };

test("each worker serves each session", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO });
  const port = await program.port();
  const headers = await openSession((request) => askPort(port, request));
  const pids = new Set<string>();
  for (let calls = 0; calls < 4; calls++) pids.add(await callIn(port, headers, "pid"));
  deepEqual([...pids].map(Number).sort(), (await program.workers(2)).sort());
  equal(await program.lines.until(/^url /), `url http://127.0.0.1:${port}/mcp true`);
});

test("the keys of states are neither in the environment nor in the arguments", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: { ...TWO, workers: 1 } });
  const port = await program.port();
  const text = await callIn(port, await openSession((request) => askPort(port, request)), "keys");
  match(text, /workers\.mjs/);
  doesNotMatch(text, /[A-Za-z0-9+/]{43}=/);
});

test("an answer reaches the worker that asked", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO });
  const port = await program.port();
  const ask = (request?: Parameters<typeof askPort>[1]) => askPort(port, request);
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
    clientInfo: { name: "c", version: "1" },
  };
  const opened = await ask(legacy({ jsonrpc: "2.0", id: 0, method: "initialize", params }));
  const headers = { "mcp-session-id": String(opened.headers["mcp-session-id"]), "mcp-protocol-version": "2025-11-25" };
  await ask(legacy({ jsonrpc: "2.0", method: "notifications/initialized" }, { headers }));
  for (let round = 0; round < 2; round++) {
    const { lines, ended } = openStream(port, callOf(headers, "ask"));
    const question = JSON.parse((await lines.until(/elicitation\/create/)).slice("data: ".length));
    const result = { action: "accept", content: { name: "Ada" } };
    // Connections go to the workers in turn: the answer of one of the rounds goes to the worker that did not ask.
    for (let turn = 0; turn < round; turn++) await callIn(port, headers, "pid");
    equal((await ask(legacy({ jsonrpc: "2.0", id: question.id, result }, { headers }))).status, 202);
    equal(await ended, true);
    match(lines.all.join(), /Ada \d+/);
  }
});

test("each worker opens the state of a call, and runs its last round once", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO });
  const port = await program.port();
  const meta = { "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } } };
  const call = async (more: object) => {
    const params = { name: "ask", arguments: {}, ...more };
    return lastMessage(await askPort(port, modernRequest("tools/call", { params, meta })));
  };
  const { requestState, inputRequests } = (await call({})).result as {
    readonly requestState: string;
    readonly inputRequests: object;
  };
  const [key = ""] = Object.keys(inputRequests);
  const inputResponses = { [key]: { action: "accept", content: { name: "Ada" } } };
  const answers = [];
  for (let times = 0; times < 3; times++) answers.push(JSON.stringify(await call({ requestState, inputResponses })));
  match(answers[0] ?? "", /Ada \d+/);
  equal(new Set(answers).size, 1, "the outcome is that of the first round, on each worker");
});

for (const era of ["modern", "legacy"] as const)
  test(`a change in one worker reaches the clients of all (${era})`, limit, async (t) => {
    const program = await WorkersProgram.start(t, { serve: TWO });
    const port = await program.port();
    const clients = await Promise.all([1, 2].map(() => connect(`http://127.0.0.1:${port}/mcp`, { era })));
    t.after(() => Promise.all(clients.map((client) => client.close())));
    const watches = await Promise.all(clients.map((client) => client.watch({ resources: ["a:b"] })));
    const seen = watches.map((watch) => watch[Symbol.asyncIterator]().next());
    await clients[0]?.callTool("change", {});
    for (const change of await Promise.all(seen)) deepEqual(change.value, { kind: "resource", uri: "a:b" });
  });

test("a server with a cluster of its own shares nothing by the primary", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: { ...TWO, workers: 1 }, own: true });
  const port = await program.port();
  equal(await callIn(port, await openSession((request) => askPort(port, request)), "own"), "true");
});

test("close and drain end all processes", limit, async (t) => {
  for (const command of ["close", "drain"] as const) {
    const program = await WorkersProgram.start(t, { serve: TWO });
    const port = await program.port();
    equal((await askPort(port, { method: "GET", path: "/readyz" })).text, "ok");
    equal(await program.command(command), `${command} false`);
    await program.presences.gone();
    equal(await program.ended, 0);
  }
});

test("a program whose workers cannot start tells why", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO, fail: 1 });
  const told = JSON.parse(await program.lines.until(/^\{/));
  equal(told.primary, true);
  match(told.message, /^serveHttp: worker \d+ ended with code 1 before it served:\n/);
  match(told.message, /the worker has no database/);
  await program.presences.gone();
});

test("a port in use is told by the primary", limit, async (t) => {
  const first = await WorkersProgram.start(t, { serve: TWO });
  const port = await first.port();
  const second = await WorkersProgram.start(t, { serve: { ...TWO, port } });
  const told = JSON.parse(await second.lines.until(/"primary":true/));
  match(told.message, /^serveHttp: .*EADDRINUSE.*; choose another port, or 0 for a free one$/);
  equal(told.code, "EADDRINUSE");
  await second.presences.gone();
});

test("wrong options are refused before a process is started", async () => {
  const server = new McpServer({ name: "s", version: "1" });
  for (const workers of [0, 1.5, "all", 2_000])
    await rejects(
      serveHttp(server, { workers: workers as number }),
      /^DefinitionError: serveHttp: workers must be "cores" or an integer from 1 to 1024, got /,
    );
  const other = { handle: () => {}, close: async () => {} };
  await rejects(serveHttp(other, { workers: 1 }), /^DefinitionError: serveHttp: workers needs a server with join/);
});
