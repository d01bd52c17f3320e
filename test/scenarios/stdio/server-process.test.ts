import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { stdioWires } from "../../support/each-wire.js";
import { awaitPresence } from "../../support/presence.js";
import { callOf, type Era, requestOf } from "../../support/raw-peer.js";
import { child, connectChild, exists, NEVER, program, spawnBare } from "../../support/server-child.js";
import { proves, verifies } from "../../support/verifies.js";

/** What a client of that era writes before its first call, as lines. */
function greeting(era: Era): object[] {
  if (era === "modern") return [];
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1.0.0" } };
  return [
    { jsonrpc: "2.0", id: "greeting", method: "initialize", params },
    { jsonrpc: "2.0", method: "notifications/initialized" },
  ];
}

verifies(["transport:stdio", "transport:stdio:clean-shutdown"], stdioWires, async ({ era }, t) => {
  const { client, stderr } = await connectChild(t, era, child("mcp-server"));
  const names: string[] = [];
  for await (const tool of client.tools()) names.push(tool.name);
  ok(names.includes("add"));
  equal((await client.callTool("add", { a: 2, b: 3 })).text, "5");
  const steps: number[] = [];
  equal((await client.callTool("steps", {}, { onProgress: ({ progress }) => steps.push(progress) })).text, "done");
  deepEqual(steps, [1, 2, 3]);
  // The server was given all the time it wants, so nothing but the end of its input has ended it.
  await client.close();
  equal(stderr.all.at(-1), "closed");
});

verifies("transport:stdio:clean-shutdown", "by its own exit, with code 0", stdioWires, async ({ era }, t) => {
  // A process that a signal ends emits no "exit".
  const script = 'process.on("exit", (code) => process.stderr.write("exit " + code + "\\n"))';
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(script)}`;
  const { client, stderr } = await connectChild(t, era, { ...child("mcp-server"), env: { NODE_OPTIONS } });
  const pid = Number((await client.callTool("pid")).text);
  await client.close();
  equal(exists(pid), false);
  equal(stderr.all.at(-1), "exit 0");
});

verifies("transport:stdio:stream-purity", stdioWires, async ({ era }, t) => {
  const server = spawnBare(t, child("mcp-server"));
  for (const message of greeting(era)) server.send(message);
  server.process.stdin.write("not json\n");
  server.send(callOf(era, 1, "fail"));
  server.send({ jsonrpc: "2.0", id: 2, method: 7 });
  server.send(callOf(era, 3, "wait"));
  await server.stderr.until("waiting");
  server.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 3 } });
  await server.stderr.until("debug call cancelled");
  server.send(callOf(era, 4, "noise"));
  await server.stdout.until(/"id":4/);
  server.process.stdin.end();
  deepEqual(await server.gone, { code: 0, signal: null });
  for (const line of server.stdout.all) equal((JSON.parse(line) as { jsonrpc: string }).jsonrpc, "2.0");
  await server.stderr.until(/^error Parse error/);
  await server.stderr.until("error a handler's own mistake");
});

verifies("transport:stdio:stdout-guard", stdioWires, async ({ era }, t) => {
  const noise = ["noise by console", "noise by stream"];
  const guarded = spawnBare(t, child("mcp-server", { say: "after" }));
  for (const message of greeting(era)) guarded.send(message);
  guarded.send(callOf(era, 1, "noise"));
  await guarded.stdout.until(/"id":1/);
  guarded.process.stdin.end();
  await guarded.gone;
  deepEqual(guarded.stderr.all, [...noise, "closed"]);
  equal(guarded.stdout.all.at(-1), "after");
  deepEqual(
    guarded.stdout.all.filter((line) => noise.includes(line)),
    [],
  );

  const open = spawnBare(t, child("mcp-server", { serve: { guardStdout: false } }));
  for (const message of greeting(era)) open.send(message);
  open.send(callOf(era, 1, "noise"));
  await open.stdout.until(/"id":1/);
  deepEqual(
    open.stdout.all.filter((line) => noise.includes(line)),
    noise,
  );
  open.process.stdin.end();
  await open.gone;
  deepEqual(open.stderr.all, ["closed"]);
});

proves(
  "transport:stdio:stdout-guard",
  { wire: "stdio" },
  "in development the place that wrote is named, once",
  async (t) => {
    const server = spawnBare(t, child("mcp-server"), { NODE_ENV: "development" });
    server.send(callOf("modern", 1, "noise"));
    server.send(callOf("modern", 2, "noise"));
    await server.stdout.until(/"id":2/);
    server.process.stdin.end();
    await server.gone;
    const places = server.stderr.all.filter((line) => /^\s+at .*mcp-server\.mjs:\d+/.test(line));
    equal(server.stderr.all.filter((line) => line.startsWith("bowline: stdout is reserved")).length, 2);
    match(String(places[0]), /mcp-server\.mjs:\d+/);
  },
);

verifies("transport:stdio:server-exits-on-eof", stdioWires, async ({ era }, t) => {
  const server = spawnBare(t, child("mcp-server"));
  for (const message of greeting(era)) server.send(message);
  server.send(callOf(era, 1, "wait"));
  await server.stderr.until("waiting");
  if (era === "modern") {
    server.send(requestOf(era, "listen", "subscriptions/listen", { notifications: { toolsListChanged: true } }));
    await server.stdout.until(/acknowledged/);
  }
  server.process.stdin.end();
  deepEqual(await server.gone, { code: 0, signal: null });
  deepEqual(server.stderr.all, ["waiting", "aborted The client disconnected", "closed"]);
  deepEqual(
    server.stdout.all.filter((line) => line.includes('"id":1,')),
    [],
  );
});

verifies("transport:stdio:server-flushes-on-eof", stdioWires, async ({ era }, t) => {
  const server = spawnBare(t, child("mcp-server"));
  const size = 3_000_000;
  const input = [...greeting(era), callOf(era, 1, "add", { a: 1, b: 2 }), callOf(era, 2, "big", { size })];
  server.process.stdin.end(input.map((message) => `${JSON.stringify(message)}\n`).join(""));
  deepEqual(await server.gone, { code: 0, signal: null });
  const answers = server.stdout.all.map(
    (line) => JSON.parse(line) as { id: unknown; result: { content: { text: string }[] } },
  );
  const [three, big] = answers.slice(-2);
  deepEqual([three?.id, three?.result.content[0]?.text], [1, "3"]);
  deepEqual([big?.id, big?.result.content[0]?.text.length], [2, size]);
});

verifies("transport:stdio:server-stdout-broken", stdioWires, async ({ era }, t) => {
  const server = spawnBare(t, child("mcp-server"));
  for (const message of greeting(era)) server.send(message);
  const meta = { progressToken: 1 };
  const call = callOf(era, 1, "stream") as { params: { _meta?: object } };
  server.send({ ...call, params: { ...call.params, _meta: { ...call.params._meta, ...meta } } });
  await server.stdout.until(/notifications\/progress/);
  server.process.stdout.destroy();
  deepEqual(await server.gone, { code: 0, signal: null });
  equal(server.stderr.all.length, 3);
  match(server.stderr.all[0] ?? "", /^warn The output of the stdio channel failed: .*EPIPE/);
  match(server.stderr.all[1] ?? "", /^error The output of the stdio channel failed: .*EPIPE/);
  equal(server.stderr.all[2], "closed");
});

verifies("transport:stdio:server-signals", stdioWires, async ({ era }, t) => {
  for (const [signal, code] of [
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const) {
    const server = spawnBare(t, child("mcp-server"));
    for (const message of greeting(era)) server.send(message);
    server.send(callOf(era, 1, "wait"));
    await server.stderr.until("waiting");
    server.process.kill(signal);
    deepEqual(await server.gone, { code, signal: null });
    deepEqual(server.stderr.all, ["waiting", "aborted The server is shutting down", "closed"]);
    // The client is there to hear it: its call is answered.
    match(server.stdout.all.at(-1) ?? "", /"id":1.*shutting down|shutting down.*"id":1/);
  }
});

proves(
  "transport:stdio:server-signals",
  { wire: "stdio" },
  "what keeps the process alive does not keep the signal from ending it, and an opt-out leaves the signal alone",
  async (t) => {
    const held = spawnBare(t, child("mcp-server", { hold: true }));
    held.send(callOf("modern", 1, "pid"));
    await held.stdout.until(/"id":1/);
    held.process.kill("SIGTERM");
    deepEqual(await held.gone, { code: null, signal: "SIGTERM" });
    equal(held.stderr.all.at(-1), "closed");
    const bare = spawnBare(t, child("mcp-server", { serve: { signals: false } }));
    bare.send(callOf("modern", 1, "pid"));
    await bare.stdout.until(/"id":1/);
    bare.process.kill("SIGTERM");
    deepEqual(await bare.gone, { code: null, signal: "SIGTERM" });
    deepEqual(bare.stderr.all, []);
  },
);

proves(
  "transport:stdio:server-exits-on-eof",
  { wire: "stdio" },
  "a server goes with its parent, though its input is held open by another process",
  async (t) => {
    using server = await awaitPresence();
    const args = [program("foster"), program("mcp-server"), JSON.stringify({ port: server.port })];
    const foster = spawn(process.execPath, args, { stdio: ["pipe", "ignore", "ignore"] });
    t.after(() => foster.stdin.destroy());
    await server.arrived;
    foster.kill("SIGKILL");
    await once(foster, "exit");
    await server.gone;
  },
);

verifies("transport:stdio:stderr-free", stdioWires, async ({ era }, t) => {
  const { client, stderr } = await connectChild(t, era, child("mcp-server"));
  for (let call = 1; call <= 4; call++) {
    const calls = [client.callTool("log", { size: 1_000_000 }), client.callTool("add", { a: call, b: 1 })];
    deepEqual(
      (await Promise.all(calls)).map(({ text }) => text),
      ["logged", String(call + 1)],
    );
  }
  await client.close();
  ok(stderr.all.length > 4 * 15_000);
});

verifies("transport:stdio:stderr-not-error", stdioWires, async ({ era }, t) => {
  const errors: Error[] = [];
  const options = { onError: (error: Error) => void errors.push(error) };
  const target = { ...child("mcp-server"), env: { NODE_DEBUG: "module" }, shutdown: NEVER };
  const { client, stderr } = await connectChild(t, era, target, options);
  equal((await client.callTool("log", { size: 6600 })).text, "logged");
  equal((await client.callTool("add", { a: 1, b: 1 })).text, "2");
  await client.close();
  ok(stderr.all.length > 100);
  deepEqual(errors, []);
  await rejects(client.callTool("add"), { name: "ConnectionError" });
});
