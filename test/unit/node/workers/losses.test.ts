import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { type Client, connect } from "bowline/client";
import { askPort, openSession } from "../../../support/plain-http.js";
import { callIn, callOf, openStream, WorkersProgram } from "../../../support/workers-program.js";

const TWO = { workers: 2, lameDuckMs: 300 };
const limit = { timeout: 240_000 };

test("a killed worker is replaced, and its calls settle with an error", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO });
  const port = await program.port();
  const headers = await openSession((request) => askPort(port, request));
  const { lines, ended } = openStream(port, callOf(headers, "work"));
  const pid = Number((await program.lines.until(/^working /)).split(" ")[1]);
  const id = (await lines.until(/^id: /)).slice("id: ".length);
  process.kill(pid, "SIGKILL");
  equal(await ended, false);
  await program.errors.until(/worker \d+ was ended by SIGKILL; another one is started/);
  const resumed = openStream(port, {
    method: "GET",
    headers: { ...headers, accept: "text/event-stream", "last-event-id": id },
  });
  match(await resumed.lines.until(/"error"/), /The process that served this request has died/);
  const [, , next = 0] = await program.workers(3);
  const pids = new Set<string>();
  for (let calls = 0; calls < 4; calls++) pids.add(await callIn(port, headers, "pid"));
  ok(pids.has(String(next)) && !pids.has(String(pid)));
});

test(
  "a connection that is handed to a worker does not hang if the worker is killed before it takes it",
  limit,
  async (t) => {
    const program = await WorkersProgram.start(t, { serve: TWO });
    const port = await program.port();
    const headers = await openSession((request) => askPort(port, request));
    const [first = 0] = await program.workers(2);
    process.kill(first, "SIGSTOP");
    const ends = Array.from({ length: 4 }, () => openStream(port, callOf(headers, "pid")).ended);
    const settled: boolean[] = [];
    const others = new Promise<void>((resolve) => {
      for (const end of ends) void end.then((isComplete) => settled.push(isComplete) === 3 && resolve());
    });
    await others;
    process.kill(first, "SIGKILL");
    await Promise.all(ends);
    deepEqual(settled, [true, true, true, false]);
  },
);

for (const era of ["modern", "legacy"] as const)
  test(`a call of a killed worker fails as one that may have run (${era})`, limit, async (t) => {
    const program = await WorkersProgram.start(t, { serve: { ...TWO, workers: 1 } });
    const client = await connect(`http://127.0.0.1:${await program.port()}/mcp`, { era });
    t.after(() => client.close());
    const call = client.callTool("work", {}, { timeoutMs: 20_000 }).then(
      () => undefined,
      (error: { readonly delivery?: string; readonly retrySafe?: boolean }) => error,
    );
    process.kill(Number((await program.lines.until(/^working /)).split(" ")[1]), "SIGKILL");
    const error = await call;
    deepEqual([error?.retrySafe], [false]);
  });

/** Calls without a pause until it is told to stop. Returns the number of calls. */
async function load(client: Client, isOver: () => boolean): Promise<number> {
  let calls = 0;
  for (; !isOver(); calls++)
    equal(JSON.stringify(await client.callTool("rest", { ms: 5 })).includes("rested"), true, `call ${calls}`);
  return calls;
}

for (const era of ["modern", "legacy"] as const)
  test(`a rolling restart fails no call (${era})`, limit, async (t) => {
    const program = await WorkersProgram.start(t, { serve: { ...TWO, lameDuckMs: 1_500 } });
    const port = await program.port();
    const clients = await Promise.all(
      Array.from({ length: 4 }, () => connect(`http://127.0.0.1:${port}/mcp`, { era })),
    );
    t.after(() => Promise.all(clients.map((client) => client.close())));
    await Promise.all(clients.map((client) => client.watch({ resources: ["a:b"] })));
    let isOver = false;
    const loads = clients.map((client) => load(client, () => isOver));
    await Promise.race([program.command("restart"), ...loads]);
    isOver = true;
    ok((await Promise.all(loads)).every((calls) => calls > 10));
    equal((await program.workers(4)).length, 4);
    equal(program.presences.count, 3);
  });

test("a restart whose new worker cannot start leaves the old ones", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO, fail: 3 });
  const port = await program.port();
  match(await program.command("restart"), /^restart true .*the worker has no database/);
  const headers = await openSession((request) => askPort(port, request));
  const pids = new Set<string>();
  for (let calls = 0; calls < 4; calls++) pids.add(await callIn(port, headers, "pid"));
  deepEqual([...pids].map(Number).sort(), (await program.workers(2)).sort());
});

test("a worker that cannot be replaced is tried again, and the others serve on", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO, fail: 3 });
  const port = await program.port();
  const [first = 0, second] = await program.workers(2);
  process.kill(first, "SIGKILL");
  await program.errors.until(/worker 4 ended with code 1 before it served/);
  const headers = await openSession((request) => askPort(port, request));
  equal(await callIn(port, headers, "pid"), String(second));
});

test("all workers may end, and the sessions and the port stay", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO });
  const port = await program.port();
  const headers = await openSession((request) => askPort(port, request));
  for (const pid of await program.workers(2)) process.kill(pid, "SIGKILL");
  const pids = await program.workers(4);
  ok(pids.slice(2).includes(Number(await callIn(port, headers, "pid"))));
});

test("no process is left when the primary is killed", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO });
  await program.port();
  equal(program.presences.count, 3);
  program.signal("SIGKILL", "primary");
  await program.presences.gone();
});

test("Ctrl-C ends workers on loopback without a wait for a load balancer", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: { workers: 2 }, stopped: true });
  const headers = await openSession(async (request) => askPort(await program.port(), request));
  equal(await callIn(await program.port(), headers, "own"), "false");
  program.signal("SIGINT", "group");
  await program.lines.count(2, "drained ");
  equal(await program.ended, 0);
});

test("a signal to all processes does not end calls", limit, async (t) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const program = await WorkersProgram.start(t, { serve: TWO });
    const client = await connect(`http://127.0.0.1:${await program.port()}/mcp`);
    t.after(() => client.close());
    const call = client.callTool("rest", { ms: 1_000 });
    await client.callTool("pid", {});
    program.signal(signal, "group");
    await program.lines.until("draining");
    match(JSON.stringify(await call), /rested/);
    equal(await program.ended, 0);
    await program.presences.gone();
  }
});
