import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, get, type IncomingMessage } from "node:http";
import { type AddressInfo, connect as connectSocket, createServer as createSocketServer } from "node:net";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client as OfficialClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as OfficialStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { connect } from "bowline/client";
import { createStdioClientChannel } from "bowline/node";
import { parseRecording, Recording } from "bowline/testing";
import { Interrupted, type Io } from "#src/cli/io.js";
import { tapProcess } from "#src/cli/recordings/tap-process.js";
import { isObject } from "#src/protocol/json.js";
import { emptyFolder } from "../../support/command.js";
import { createHarbour, harbourProgram, serve } from "../../support/harbour.js";

const bin = fileURLToPath(import.meta.resolve("#src/cli/bin.js"));
const [node] = [process.execPath];

/** Starts `bowline record`, and ends it with the test. */
function startTap(t: TestContext, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}) {
  const child = spawn(node, [bin, "record", ...args], { cwd, env: { ...process.env, ...env } });
  t.after(() => child.kill("SIGKILL"));
  return child;
}

async function textOf(stream: Readable): Promise<string> {
  return (await stream.toArray()).join("");
}

function codeOf(child: ChildProcess): Promise<number | null> {
  return once(child, "close").then(([code]) => code as number | null);
}

/** Resolves when a file has a text. */
async function untilWritten(file: string, text: string): Promise<void> {
  while (!existsSync(file) || !readFileSync(file, "utf8").includes(text)) await sleep(5);
}

test("a tap passes bytes on unchanged, in both directions, with stderr and the exit code", async (t) => {
  const cwd = emptyFolder(t);
  const program =
    "process.stdin.pipe(process.stdout); process.stdin.on('end', () => { console.error('over'); process.exitCode = 7; });";
  const child = startTap(t, ["a.rec.ndjson", "--", node, "-e", program], cwd);
  // Neither UTF-8, nor lines of a known length, nor a line end at the end.
  const sent = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","method":"a"}\r\n \n'), randomBytes(2_000_000)]);
  child.stdin.end(sent);
  const [code, parts, stderr] = await Promise.all([codeOf(child), child.stdout.toArray(), textOf(child.stderr)]);
  deepEqual([code, stderr], [7, "over\n"]);
  ok(Buffer.concat(parts as Uint8Array[]).equals(sent));
  const { events, complete } = parseRecording(readFileSync(join(cwd, "a.rec.ndjson")));
  ok(complete);
  const messages = events.flatMap((event) => (event.k === "frame" && isObject(event.m) ? [event] : []));
  deepEqual(
    messages.map(({ d, m }) => [d, m]),
    [">", "<"].map((d) => [d, { jsonrpc: "2.0", method: "a" }]),
  );
  deepEqual(
    events.filter(({ k }) => k === "stderr").map((event) => (event as { text: string }).text),
    ["over\n"],
  );
  equal((events.find(({ k }) => k === "close") as { exit?: number }).exit, 7);
});

test("a client notices no tap, and the recording has its frames", async (t) => {
  const cwd = emptyFolder(t);
  for (const era of ["modern", "legacy"] as const) {
    const file = `${era}.rec.ndjson`;
    const direct = new Recording();
    const target = { command: node, args: [bin, "record", file, "--", ...harbourProgram], cwd };
    const channel = createStdioClientChannel({ ...target, env: { API_TOKEN: "three-masts-9" }, stderr: "ignore" });
    const client = await connect(...direct.client({ channel }, { era }));
    const seen: number[] = [];
    const moored = await client.callTool(
      "moor",
      { ship: "three-masts-9", berth: "n1" },
      { onProgress: ({ progress }) => void seen.push(progress) },
    );
    deepEqual(moored.structured, { ship: "three-masts-9", berth: "n1", lines: 4 });
    deepEqual(seen, [1, 2, 3, 4]);
    await client.close();
    await direct.close();
    const text = readFileSync(join(cwd, file), "utf8");
    ok(!text.includes("three-masts-9"), "the value of a variable with such a name is replaced");
    for (const d of [">", "<"]) {
      const framesOf = (recording: string) =>
        parseRecording(recording)
          .events.flatMap((event) => (event.k === "frame" && event.d === d ? [JSON.stringify(event.m)] : []))
          .map((frame) => frame.replaceAll("three-masts-9", "<env:API_TOKEN>"));
      ok(framesOf(text).length >= 2);
      deepEqual(framesOf(text), framesOf(direct.text()));
    }
  }
});

test("the official client notices no tap: results, questions and frames are those of a direct run", async (t) => {
  const cwd = emptyFolder(t);
  const run = async (command: string, args: string[]) => {
    const client = new OfficialClient({ name: "host", version: "1" }, { capabilities: { elicitation: {} } });
    const transport = new OfficialStdio({ command, args, cwd, stderr: "ignore" });
    const frames: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { sure: true } }));
    await client.connect(transport);
    const { onmessage } = transport;
    transport.onmessage = (message) => {
      frames.push(JSON.stringify(message));
      onmessage?.(message);
    };
    const seen: unknown[] = [client.getServerVersion(), client.getServerCapabilities(), await client.listTools()];
    // Progress that arrives together with the result may come too late for this client. The frames have it.
    const onprogress = () => {};
    const moor = { name: "moor", arguments: { ship: "Maria", berth: "n1" } };
    seen.push(await client.callTool(moor, undefined, { onprogress }));
    seen.push(await client.callTool({ name: "cast-off", arguments: { berth: "n1" } }));
    await client.close();
    return { seen, frames };
  };
  const [program = "", ...args] = harbourProgram;
  const direct = await run(program, args);
  ok(direct.frames.some((frame) => frame.includes("elicitation/create")));
  deepEqual(await run(node, [bin, "record", "a.rec.ndjson", "--", ...harbourProgram]), direct);
  const { events } = parseRecording(readFileSync(join(cwd, "a.rec.ndjson"), "utf8"));
  const recorded = events.flatMap((event) => (event.k === "frame" && event.d === "<" ? [JSON.stringify(event.m)] : []));
  // The first is the answer to the handshake, which the transport had not been asked for yet.
  deepEqual(recorded.slice(1), direct.frames);
});

test("signals reach the server, whose exit code is that of the tap", async (t) => {
  const program = "process.on('SIGTERM', () => process.exit(5)); process.stdin.resume(); console.log('{}');";
  const child = startTap(t, ["a.rec.ndjson", "--", node, "-e", program], emptyFolder(t));
  await once(child.stdout, "data");
  child.kill("SIGTERM");
  equal(await codeOf(child), 5);
  const killed = startTap(
    t,
    ["b.rec.ndjson", "--", node, "-e", "process.kill(process.pid, 'SIGKILL')"],
    emptyFolder(t),
  );
  equal(await codeOf(killed), 137);
});

test("kill -9 of a tap leaves a readable file, and ends a server that ignores the end of its input", async (t) => {
  const cwd = emptyFolder(t);
  const lifeline = createSocketServer();
  await new Promise<void>((resolve) => lifeline.listen(0, "127.0.0.1", resolve));
  t.after(() => lifeline.close());
  const { port } = lifeline.address() as AddressInfo;
  const alive = once(lifeline, "connection");
  const program = `
    require("node:net").connect(${port}, "127.0.0.1").on("error", () => {});
    process.stdin.on("data", (text) => process.stdout.write(text));
    setInterval(() => {}, 1e6);`;
  const child = startTap(t, ["a.rec.ndjson", "--", node, "-e", program], cwd);
  const [socket] = (await alive) as [import("node:net").Socket];
  const gone = once(socket.resume(), "close");
  socket.on("error", () => {});
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  const file = join(cwd, "a.rec.ndjson");
  await untilWritten(file, '"d":"<"');
  child.kill("SIGKILL");
  await gone;
  const { events, complete } = parseRecording(readFileSync(file));
  equal(complete, false);
  equal(events.filter(({ k }) => k === "frame").length, 2);
  // The lock of the tap that was killed keeps no other away.
  const next = startTap(t, ["a.rec.ndjson", "--overwrite", "--", node, "-e", ""], cwd);
  next.stdin.end();
  equal(await codeOf(next), 0);
});

test("a server that does not read holds its host back", async (t) => {
  const input = new PassThrough();
  const end = new AbortController();
  const program = [node, "-e", "console.error('up'); setInterval(() => {}, 1e6)"];
  const stderr = new PassThrough();
  const io: Io = {
    stdin: input,
    stdout: new PassThrough(),
    stderr,
    env: process.env,
    cwd: emptyFolder(t),
    home: "",
    platform: process.platform,
    signal: end.signal,
    interrupt: () => {},
  };
  const code = tapProcess(program, new Recording(), io);
  await once(stderr, "data");
  const most = 16e6;
  let sent = 0;
  for (; sent < most && input.write(Buffer.alloc(1024, "a")); sent += 1024) await new Promise(setImmediate);
  ok(sent < most, "the host is told to wait");
  end.abort(new Interrupted("SIGTERM"));
  equal(await code, 143);
});

test("a file that exists is kept, and what cannot be recorded is a mistake", async (t) => {
  const cwd = emptyFolder(t);
  writeFileSync(join(cwd, "a.rec.ndjson"), "mine");
  const mistakes: readonly (readonly [args: readonly string[], code: number, told: RegExp])[] = [
    [["a.rec.ndjson", "--", "touch", "started"], 2, /exists: choose another name, or pass --overwrite/],
    [["b.rec.ndjson"], 2, /needs what to record/],
    [["b.rec.ndjson", "--http", "ftp://x", "--port", "1"], 2, /--http must be a URL/],
    [["b.rec.ndjson", "--port", "1", "--", "touch", "started"], 2, /--port is for --http/],
    [["b.rec.ndjson", "--max", "7", "--", "touch", "started"], 2, /--max must be a size/],
    [["b.rec.ndjson", "c.rec.ndjson", "--", "touch", "started"], 2, /unexpected argument "c\.rec\.ndjson"/],
    [["d.rec.ndjson", "--", "./no-such-server"], 4, /Cannot start the server process/],
  ];
  for (const [args, code, told] of mistakes) {
    const child = startTap(t, args, cwd);
    const [ended, stderr] = await Promise.all([codeOf(child), textOf(child.stderr)]);
    equal(ended, code, stderr);
    match(stderr, told);
  }
  equal(readFileSync(join(cwd, "a.rec.ndjson"), "utf8"), "mine");
  ok(!existsSync(join(cwd, "started")));
});

test("--max ends the recording, not the traffic", async (t) => {
  const cwd = emptyFolder(t);
  const child = startTap(t, ["a.rec.ndjson", "--max", "1kB", "--", "cat"], cwd);
  const line = `${JSON.stringify({ jsonrpc: "2.0", method: "a", params: { text: "b".repeat(2000) } })}\n`;
  const file = join(cwd, "a.rec.ndjson");
  child.stdin.write(line);
  await untilWritten(file, '"k":"done"');
  const before = readFileSync(file, "utf8");
  child.stdin.end(line.repeat(50));
  const [code, text] = await Promise.all([codeOf(child), textOf(child.stdout)]);
  deepEqual([code, text.length], [0, line.length * 51]);
  equal(readFileSync(file, "utf8"), before);
  match(before, /The recording ended at its limit of 1000 bytes/);
});

/** Starts a tap of an HTTP server. Returns its URL. */
async function startHttpTap(t: TestContext, cwd: string, url: string) {
  const child = startTap(t, ["a.rec.ndjson", "--http", url], cwd);
  const [first] = await once(child.stdout, "data");
  return { child, url: String(first).trim() };
}

test("a tap of HTTP passes JSON, streams and questions in both eras", async (t) => {
  const cwd = emptyFolder(t);
  const { child, url } = await startHttpTap(t, cwd, await serve(t, createHarbour()));
  match(url, /^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
  for (const era of ["modern", "legacy"] as const) {
    const seen: number[] = [];
    const onElicit = () => ({ action: "accept" as const, content: { sure: true } });
    const headers = { authorization: "Bearer seven-seas-77" };
    const client = await connect(url, { era, onElicit, headers });
    const args = { ship: "Maria", berth: "n1" };
    await client.callTool("moor", args, { onProgress: ({ progress }) => void seen.push(progress) });
    deepEqual(seen, [1, 2, 3, 4]);
    equal((await client.callTool("cast-off", { berth: "n1" })).text, "Maria is off");
    await client.close();
  }
  child.kill("SIGINT");
  equal(await codeOf(child), 0);
  const text = readFileSync(join(cwd, "a.rec.ndjson"), "utf8");
  ok(!text.includes("seven-seas-77"));
  const { events, complete } = parseRecording(text);
  ok(complete);
  equal(events.filter(({ k }) => k === "request").length, events.filter(({ k }) => k === "end").length);
});

test("a tap of HTTP has no bodies of logins, unless told", async (t) => {
  const cwd = emptyFolder(t);
  const issuer = createServer((request, response) => {
    request.resume().on("end", () => response.end('{"access_token":"three-masts-9","expires_in":60}'));
  });
  await new Promise<void>((resolve) => issuer.listen(0, "127.0.0.1", resolve));
  t.after(() => issuer.close().closeAllConnections());
  const target = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/mcp`;
  for (const more of [[], ["--bodies", "auth"]]) {
    const child = startTap(t, ["a.rec.ndjson", "--overwrite", "--http", target, ...more], cwd);
    const [url] = (await once(child.stdout, "data")) as [Buffer];
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const body = "code=q7Xv9LmB2T&grant_type=authorization_code";
    const answer = await fetch(new URL("/token", String(url).trim()), { method: "POST", headers, body });
    match(await answer.text(), /three-masts-9/);
    child.kill("SIGINT");
    equal(await codeOf(child), 0);
    const text = readFileSync(join(cwd, "a.rec.ndjson"), "utf8");
    ok(text.includes('"path":"/token"') && text.includes('"status":200'));
    for (const secret of ["three-masts-9", "q7Xv9LmB2T"]) ok(!text.includes(secret), secret);
    equal(text.includes("authorization_code"), more.length > 0);
    equal(text.includes("expires_in"), more.length > 0);
  }
});

test("a tap of HTTP passes events as they come, resumption, and the end of either side", async (t) => {
  const cwd = emptyFolder(t);
  const requests: IncomingMessage[] = [];
  const upstream = createServer((request, response) => {
    requests.push(request);
    if (request.url !== "/mcp?key=k1") return void response.socket?.destroy();
    response.writeHead(200, { "content-type": "text/event-stream" }).write("id: e2\ndata: {}\n\n");
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  t.after(() => upstream.closeAllConnections());
  t.after(() => upstream.close());
  const { port } = upstream.address() as AddressInfo;
  const { child, url } = await startHttpTap(t, cwd, `http://127.0.0.1:${port}/mcp?key=k1`);
  const response = await new Promise<IncomingMessage>((resolve) =>
    get(url, { headers: { "last-event-id": "e1" } }, resolve),
  );
  const [event] = await once(response, "data");
  equal(String(event), "id: e2\ndata: {}\n\n");
  equal(requests[0]?.headers["last-event-id"], "e1");
  const closed = new Promise((resolve) => requests[0]!.once("close", resolve));
  response.destroy();
  await closed;
  const cut = await fetch(new URL("/elsewhere", url));
  equal(cut.status, 502);
  child.kill("SIGINT");
  equal(await codeOf(child), 0);
  const { events } = parseRecording(readFileSync(join(cwd, "a.rec.ndjson")));
  const ends = events.filter(({ k }) => k === "end") as readonly { by: string }[];
  deepEqual(
    ends.map(({ by }) => by),
    ["client", "lost"],
  );
});

test("a tap of HTTP listens on this machine alone, and refuses other hosts and origins", async (t) => {
  const { url } = await startHttpTap(t, emptyFolder(t), await serve(t, createHarbour()));
  const statusOf = (headers: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      get(url, { headers, agent: false }, (response) => {
        resolve(response.statusCode);
        response.destroy();
      }).on("error", reject);
    });
  equal(await statusOf({ host: "evil.example" }), 403);
  equal(await statusOf({ origin: "https://evil.example" }), 403);
  ok((await statusOf({})) !== 403);
  const other = connectSocket(Number(new URL(url).port), "127.0.0.2");
  await rejects(once(other, "connect"), { code: "ECONNREFUSED" });
});
