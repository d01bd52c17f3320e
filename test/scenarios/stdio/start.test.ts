import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { ConnectionError, connect } from "bowline/client";
import { createStdioClientChannel, defaultEnvironment } from "bowline/node";
import { childEnvironment } from "#src/node/environment.js";
import { lastWordsOf, likelyCauseOf } from "#src/node/process/diagnosis.js";
import { ChannelLog } from "../../support/channel-log.js";
import { stdioWires } from "../../support/each-wire.js";
import { speaking } from "../../support/raw-peer.js";
import { child, connectChild, exists, held, Lines, NEVER, program } from "../../support/server-child.js";
import { proves, verifies } from "../../support/verifies.js";

const TRANSFORM_FAILED = [
  "/srv/node_modules/esbuild/lib/main.js:1467",
  "Error: Transform failed with 1 error:",
  '/srv/server.ts:12:0: ERROR: Top-level await is currently not supported with the "cjs" output format',
  "    at failureErrorWithLog (/srv/node_modules/esbuild/lib/main.js:1467:15)",
];

proves("transport:stdio:spawn-failure", { wire: "stdio" }, "each cause is told", async () => {
  const before = await held();
  const targets = [
    { target: { command: "no-such-program", args: ["--token=secret"] }, code: "ENOENT", cause: /no such program/ },
    { target: { command: program("echo") }, code: "EACCES", cause: /not an executable file/ },
    { target: { command: process.execPath, cwd: "/no/such/folder" }, code: "ENOENT", cause: /working directory/ },
  ];
  for (const { target, code, cause } of targets) {
    for (const era of ["modern", "legacy", "auto"] as const) {
      await rejects(connect(target, { era }), (error) => {
        ok(error instanceof ConnectionError);
        equal((error.cause as NodeJS.ErrnoException).code, code);
        equal(error.command, target.command);
        match(String(error.likelyCause), cause);
        ok(!error.message.includes("secret"));
        return true;
      });
    }
  }
  deepEqual(await held(), before);
});

verifies("transport:stdio:early-exit", stdioWires, async ({ era }) => {
  const lines: string[] = [];
  const target = { ...child("exit-three"), stderr: (line: string) => void lines.push(line), shutdown: NEVER };
  await rejects(connect(target, { era }), (error) => {
    ok(error instanceof ConnectionError);
    deepEqual([error.exitCode, error.exitSignal], [3, null]);
    deepEqual(error.stderr, ["cannot open the store", "its lock is held"]);
    equal(error.command, process.execPath);
    match(error.message, /exited with code 3/);
    match(error.message, /its lock is held/);
    return true;
  });
});

proves("transport:stdio:early-exit", {}, "the likely cause is told, where there are signs of it", () => {
  const none = { exitCode: null, exitSignal: null, stderr: [], spoke: true };
  equal(likelyCauseOf(none), undefined);
  equal(likelyCauseOf({ ...none, exitCode: 1 }), undefined);
  match(String(likelyCauseOf({ ...none, stderr: ["Error: Cannot find module 'x'"] })), /not installed or not built/);
  const missing = "the program failed to load: an import does not exist";
  for (const line of [
    "SyntaxError: The requested module './a.js' does not provide an export named 'b'",
    "SyntaxError: Named export 'b' not found. The requested module './a.cjs' is a CommonJS module, which may not",
    "Error [ERR_PACKAGE_PATH_NOT_EXPORTED]: Package subpath './b' is not defined by \"exports\" in a/package.json",
    "ImportError: cannot import name 'b' from 'a'",
  ])
    equal(likelyCauseOf({ ...none, exitCode: 1, stderr: ["", line, "Node.js v22"] }), missing);
  for (const extension of [".ts", ".mts", ".tsx"]) {
    const line = `TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension "${extension}" for a${extension}`;
    match(String(likelyCauseOf({ ...none, stderr: [line] })), /TypeScript: use Node 22\.18 .* `node --import tsx`/);
  }
  for (const [stderr, cause] of [
    [
      [
        "file:///srv/server.ts:1",
        "enum A { B }",
        "^^^^^^",
        "SyntaxError [ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX]: TypeScript enum is not supported in strip-only mode",
        "    at parseTypeScript (node:internal/modules/typescript:67:40) {",
        "  code: 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'",
      ],
      /enum, namespace or parameter property.* --erasableSyntaxOnly .* `node --import tsx`$/,
    ],
    [["SyntaxError [ERR_INVALID_TYPESCRIPT_SYNTAX]: Unexpected token `=`."], /^its TypeScript has a syntax error$/],
    [
      ["/srv/server.ts:1", "interface A {}", "SyntaxError: Unexpected identifier 'A'"],
      /TypeScript: use Node 24 or later/,
    ],
    [
      [
        '(node:7) Warning: Failed to load the ES module: /srv/server.ts. Make sure to set "type": "module" in the nearest package.json file or use the .mjs extension.',
        "/srv/server.ts:2",
        'import { serveStdio } from "bowline/node";',
        "^^^^^^",
        "SyntaxError: Cannot use import statement outside a module",
      ],
      /package\.json says "type": "commonjs", or no type.* `npm pkg set type=module`/,
    ],
    [TRANSFORM_FAILED, /`npm pkg set type=module`/],
    [
      ["Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'tsx' imported from /"],
      /^tsx was not found .* absolute path$/,
    ],
    [["Error: Cannot find module 'tsx/cli'", "  code: 'MODULE_NOT_FOUND'"], /^tsx was not found/],
    [["Error: Cannot find module 'tsxy'", "  code: 'MODULE_NOT_FOUND'"], /^a module is missing/],
  ] as const)
    match(String(likelyCauseOf({ ...none, exitCode: 1, stderr })), cause);
  const broken = /cannot read its program: wrong version or not built/;
  match(String(likelyCauseOf({ ...none, stderr: ["SyntaxError: Unexpected token"] })), broken);
  match(String(likelyCauseOf({ ...none, exitCode: 127 })), /not found/);
  match(String(likelyCauseOf({ ...none, exitSignal: "SIGKILL" })), /memory/);
  match(String(likelyCauseOf({ ...none, exitCode: 0, spoke: false })), /wrong program or arguments/);
});

proves("transport:stdio:early-exit", {}, "a line that announces the next is quoted with it", () => {
  equal(lastWordsOf(TRANSFORM_FAILED), TRANSFORM_FAILED.slice(1, 3).join(" "));
  equal(lastWordsOf(["Error: it failed:", "", "  at the end  ", "Node.js v20"]), "Error: it failed: at the end");
  equal(lastWordsOf(["Error: it failed:", ""]), "Error: it failed:");
  equal(lastWordsOf(["no error", "named:", ""]), "named:");
});

verifies("transport:stdio:server-initiated-exit", stdioWires, async ({ era }, t) => {
  for (const code of [0, 1]) {
    const closes: (Error | undefined)[] = [];
    const { client } = await connectChild(t, era, child("mcp-server"), {
      onClose: (reason) => void closes.push(reason),
    });
    const waiting = client.callTool("wait");
    const exit = client.callTool("exit", { code });
    for (const call of [waiting, exit]) {
      await rejects(call, (error) => {
        ok(error instanceof ConnectionError);
        deepEqual([error.exitCode, error.exitSignal, error.delivery], [code, null, "sent"]);
        return true;
      });
    }
    equal(closes.length, 1);
    ok(closes[0] instanceof ConnectionError);
    await client.close();
    equal(closes.length, 1);
    equal(client.pending, 0);
  }
});

verifies(
  "transport:stdio:server-initiated-exit",
  "calls end with the server's output, not with the server",
  stdioWires,
  async ({ era }, t) => {
    const closes: (Error | undefined)[] = [];
    const { client } = await connectChild(t, era, child("recorder", era, "deaf-to-end"), {
      onClose: (reason) => void closes.push(reason),
    });
    const pid = Number((await client.callTool("any")).text);
    t.after(() => exists(pid) && process.kill(pid, "SIGKILL"));
    const waiting = client.callTool("never");
    for (const call of [waiting, client.callTool("mute")]) {
      await rejects(call, (error) => {
        ok(error instanceof ConnectionError);
        match(error.message, /closed its output/);
        deepEqual([error.exitCode, error.exitSignal, error.delivery], [null, null, "sent"]);
        return true;
      });
    }
    equal(closes.length, 1);
    await rejects(client.callTool("any"), { name: "ConnectionError", delivery: "not_sent" });
    ok(exists(pid), "nothing but its end of input has been asked of it yet");
    const closed = client.close();
    process.kill(pid, "SIGKILL");
    await closed;
    equal(exists(pid), false);
    equal(closes.length, 1);
  },
);

verifies("transport:stdio:write-after-exit", stdioWires, async ({ era }, t) => {
  const { client } = await connectChild(t, era, child("mcp-server"));
  const pid = Number((await client.callTool("pid")).text);
  const uncaught: unknown[] = [];
  const listen = (error: unknown) => void uncaught.push(error);
  process.on("uncaughtException", listen).on("unhandledRejection", listen);
  t.after(() => process.off("uncaughtException", listen).off("unhandledRejection", listen));
  process.kill(pid, "SIGKILL");
  // Sent before this process can know: the pipe is broken, or about to be.
  const calls = Array.from({ length: 20 }, () => client.callTool("big", { size: 1, pad: "x".repeat(65_536) }));
  for (const call of calls) {
    await rejects(call, (error) => {
      ok(error instanceof ConnectionError);
      equal(error.exitSignal, "SIGKILL");
      equal(error.delivery, "sent");
      return true;
    });
  }
  await rejects(client.callTool("add"), { name: "ConnectionError", delivery: "not_sent" });
  await new Promise(setImmediate);
  deepEqual(uncaught, []);
});

proves(
  ["transport:stdio:default-env-safelist", "transport:stdio:env-explicit", "transport:stdio:no-shell"],
  { wire: "stdio" },
  "arguments and environment arrive as given",
  async (t) => {
    process.env.BOWLINE_TEST_SECRET = "secret";
    t.after(() => delete process.env.BOWLINE_TEST_SECRET);
    const args = ["a b", "$HOME", '"; exit 1', "*", "a;b", "`id`", "é", ""];
    const plain = createStdioClientChannel({ ...child("facts", ...args), stderr: "ignore" });
    t.after(() => plain.close());
    const [first] = await (await ChannelLog.open(plain)).received(1);
    const given = createStdioClientChannel({
      ...child("facts"),
      cwd: tmpdir(),
      env: { EXTRA: "1", HOME: "/elsewhere" },
      stderr: "ignore",
    });
    t.after(() => given.close());
    const [second] = await (await ChannelLog.open(given)).received(1);
    type Facts = { readonly args: string[]; readonly env: Record<string, string>; readonly cwd: string };
    const [inherited, explicit] = [JSON.parse(first!) as Facts, JSON.parse(second!) as Facts];
    deepEqual(inherited.args, args);
    deepEqual(inherited.env, defaultEnvironment());
    equal(inherited.env.BOWLINE_TEST_SECRET, undefined);
    equal(inherited.env.PATH, process.env.PATH);
    deepEqual(explicit.env, { ...defaultEnvironment(), EXTRA: "1", HOME: "/elsewhere" });
    equal(explicit.cwd, realpathSync(tmpdir()));
    deepEqual(childEnvironment({}, { PATH: "/bin", HOME: "() { :; }", TOKEN: "secret" }, "linux"), { PATH: "/bin" });
  },
);

verifies(["transport:stdio:pid", "transport:stdio:pre-started-tolerated"], stdioWires, async ({ era }, t) => {
  const channel = createStdioClientChannel({ ...child("recorder", era), stderr: "ignore", shutdown: NEVER });
  t.after(() => channel.close());
  equal(channel.pid, undefined);
  await channel.open({ onFrame() {}, onProblem() {}, onClose() {} });
  const { pid } = channel;
  ok(exists(pid));
  await rejects(connect({ channel }, speaking(era)), { code: "already_open" });
  equal(channel.pid, pid);
  await channel.close();
  equal(channel.pid, undefined);
  equal(exists(pid), false);

  const fresh = createStdioClientChannel({ ...child("recorder", era), stderr: "ignore", shutdown: NEVER });
  const client = await connect({ channel: fresh }, speaking(era));
  t.after(() => client.close());
  equal((await client.callTool("any")).text, String(fresh.pid));
});

verifies("lifecycle:connect:onerror-pre-handshake", stdioWires, async ({ era }, t) => {
  const errors: string[] = [];
  const { client } = await connectChild(t, era, child("recorder", era, "early"), {
    onError: (error) => void errors.push(error.message),
  });
  await client.callTool("any");
  const written = '"garbage before the first message"';
  deepEqual(errors, [`Parse error: not JSON: ${written}; a stdio server must log to stderr`]);
});

verifies("transport:stdio:stderr-passthrough", stdioWires, async ({ era }, t) => {
  const channel = createStdioClientChannel({ ...child("recorder", era, "early"), stderr: "pipe", shutdown: NEVER });
  ok(channel.stderr);
  const text = channel.stderr.setEncoding("utf8").toArray();
  const client = await connect({ channel }, speaking(era));
  t.after(() => client.close());
  await client.callTool("any");
  await client.close();
  const lines = (await text).join("").split("\n");
  equal(lines[0], "early words");
  equal(lines.at(-2), "rest 0");
  equal(lines.filter((line) => line.startsWith("> ")).length, era === "modern" ? 1 : 3);

  const ignoring = createStdioClientChannel({ ...child("recorder", era, "early"), stderr: "ignore", shutdown: NEVER });
  equal(ignoring.stderr, undefined);
  t.after(() => ignoring.close());
  await (await connect({ channel: ignoring }, speaking(era))).close();
  deepEqual(ignoring.stderrTail, []);
});

proves(
  "transport:stdio:stderr-passthrough",
  { wire: "stdio" },
  "inherited, it appears on the host's own; ignored, nowhere",
  async (t) => {
    for (const [stderr, expected] of [
      ["inherit", ["early words"]],
      ["ignore", []],
    ] as const) {
      const told = new Lines();
      const host = createStdioClientChannel({
        ...child("inheriting", stderr, program("recorder"), "modern", "early"),
        stderr: told.take,
        shutdown: NEVER,
      });
      t.after(() => host.close());
      const log = await ChannelLog.open(host);
      await log.closed;
      deepEqual(told.all.slice(0, 1), expected);
    }
  },
);

verifies("transport:stdio:stderr-drained", stdioWires, async ({ era }, t) => {
  const channel = createStdioClientChannel({ ...child("mcp-server"), stderr: "pipe", shutdown: NEVER });
  const client = await connect({ channel }, speaking(era));
  t.after(() => client.close());
  equal((await client.callTool("log", { size: 2 ** 20 })).text, "logged");
  equal((await client.callTool("log", { size: 2 ** 21 })).text, "logged");
});
