import { deepEqual, equal, match, ok } from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { McpServer, RpcError, type ServerOptions } from "bowline/server";
import { parseRecording } from "bowline/testing";
import { RULES } from "#src/doctor/rules/index.js";
import { isObject } from "#src/protocol/json.js";
import { defaultValidator } from "#src/schema/json-schema/validator.js";
import { bowline, documentOf, emptyFolder, type Ran } from "../../support/command.js";
import { createHarbour, harbourProgram, serve } from "../../support/harbour.js";

interface Found {
  readonly findings: readonly {
    readonly rule: string;
    readonly level: string;
    readonly text: string;
    readonly evidence: readonly { readonly line: number; readonly text: string }[];
  }[];
  readonly passed: readonly string[];
  readonly notApplicable: readonly string[];
  readonly summary?: { readonly ms: number; readonly speaks: readonly string[] };
}

function reportOf(ran: Ran): Found {
  return documentOf(ran, "doctor").result as Found;
}

function rulesOf(ran: Ran): string[] {
  return [...new Set(reportOf(ran).findings.map(({ rule }) => rule))];
}

/** Program of a server of the era of handshakes, whose answers are `handlers`. `before` runs first. */
function program(handlers: string, before = ""): string[] {
  const code = `${before}
    const handlers = { initialize: ({ protocolVersion }) => ({ result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "own", version: "1" } } }), ${handlers} };
    const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
    let text = "";
    process.stdin.on("data", (chunk) => {
      const lines = (text + chunk).split("\\n");
      text = lines.pop();
      for (const { id, method, params } of lines.map((line) => JSON.parse(line)))
        if (id !== undefined) send({ id, ...(handlers[method]?.(params) ?? { error: { code: -32601, message: "no" } }) });
    });`;
  return [process.execPath, "-e", code];
}

const TOOL =
  '{ name: "look", description: "Look", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }';
const TOOLS = `"tools/list": () => ({ result: { tools: [${TOOL}] } })`;

/** Rules that a server of handshakes alone, with one tool, always has. */
const OLD = "era/versions";

test("a healthy server is clean on both wires and in both eras, and no tool is called", async (t) => {
  const folder = emptyFolder(t);
  const http = [await serve(t, createHarbour())];
  for (const [name, place] of [
    ["http", http],
    ["stdio", ["--", ...harbourProgram]],
  ] as const) {
    const args = ["doctor", "--json", "--overwrite", "--record", `${name}.rec.ndjson`, ...place];
    const ran = await bowline(t, args, { cwd: folder });
    deepEqual([ran.code, rulesOf(ran)], [0, []], ran.stdout + ran.stderr);
    const { summary, passed } = reportOf(ran);
    equal(summary?.speaks.length, 2);
    ok(passed.length >= (name === "http" ? 15 : 20), passed.join());
    const { events } = parseRecording(readFileSync(join(folder, `${name}.rec.ndjson`)));
    const methods = events.flatMap((event) => (event.k === "frame" && isObject(event.m) ? [event.m.method] : []));
    ok(methods.includes("tools/list"));
    ok(!methods.includes("tools/call"));
  }
});

test("--try calls the tool, and the report has what the calls show", async (t) => {
  const url = await serve(t, createHarbour());
  const ran = await bowline(t, ["doctor", url, "--json", "--try", "moor --ship 'Maria B' --berth n1"]);
  deepEqual([ran.code, rulesOf(ran)], [0, []], ran.stdout + ran.stderr);
  const { passed } = reportOf(ran);
  for (const rule of ["call/cancel", "call/silence", "call/progress", "schema/output"]) ok(passed.includes(rule), rule);
  const unknown = await bowline(t, ["doctor", url, "--try", "mor --ship a"]);
  deepEqual([unknown.code, /no tool "mor"; did you mean "moor"\?/.test(unknown.stderr)], [2, true], unknown.stderr);
  const misfit = await bowline(t, ["doctor", url, "--try", "moor --ship a"]);
  deepEqual([misfit.code, /berth/.test(misfit.stderr)], [2, true], misfit.stderr);
});

test("a server at SIGTERM: a call that ends passes, a call that is lost is found, in a process at a URL", async (t) => {
  const port = 20_000 + (process.pid % 20_000);
  const server = (atSigterm: string) => `
    import { serveHttp } from "bowline/node";
    import { McpServer } from "bowline/server";
    const server = new McpServer({ name: "slow", version: "1" }).tool("wait", { description: "Wait", annotations: { readOnlyHint: true } },
      () => new Promise((resolve) => setTimeout(resolve, 300, "done")));
    const running = await serveHttp(server, { port: ${port} });
    process.once("SIGTERM", async () => { ${atSigterm} });`;
  const url = `http://127.0.0.1:${port}/mcp`;
  const cases = [
    ["await running.drain(5_000); process.exit();", []],
    ["process.exit(1);", ["drain/term"]],
  ] as const;
  for (const [atSigterm, rules] of cases) {
    const argv = ["doctor", "--json", "--only", "drain", "--url", url, "--try", "wait", "--"];
    const ran = await bowline(t, [...argv, process.execPath, "--input-type=module", "-e", server(atSigterm)], {
      cwd: process.cwd(),
    });
    equal(ran.code, 0, ran.stdout + ran.stderr);
    deepEqual(rulesOf(ran), rules, ran.stdout);
  }
});

test("findings of a process name line and text of the recording", async (t) => {
  const argv = ["doctor", "--json", "--", ...program(TOOLS, 'console.log("hello");')];
  const ran = await bowline(t, argv);
  equal(ran.code, 1, ran.stderr);
  deepEqual(rulesOf(ran), ["stdio/noise", OLD]);
  const [noise] = reportOf(ran).findings;
  match(noise!.evidence[0]!.text, /"k":"noise".*"text":"hello"/);
});

test("a program that does not start, or needs a variable of the shell, is found", async (t) => {
  const missing = await bowline(t, ["doctor", "--json", "--", "bowline-no-such-program"]);
  deepEqual([missing.code, rulesOf(missing)], [1, ["start/failed"]], missing.stderr);
  const needy = program(TOOLS, 'if (!process.env.HARBOUR_KEY) throw new Error("HARBOUR_KEY is not set");');
  const ran = await bowline(t, ["doctor", "--json", "--", ...needy], { env: { HARBOUR_KEY: "shell-value-of-key" } });
  deepEqual([ran.code, rulesOf(ran)], [1, ["start/failed"]], ran.stderr);
  match(reportOf(ran).findings[0]!.text, /with your whole environment it starts, so it needs HARBOUR_KEY$/);
  ok(!ran.stdout.includes("shell-value-of-key"));
});

test("a process that stays, and what it leaves behind, are found", {
  skip: process.platform === "win32",
}, async (t) => {
  const stays = await bowline(t, ["doctor", "--json", "--", ...program(TOOLS, "setInterval(() => {}, 1000);")]);
  deepEqual(rulesOf(stays), ["stdio/exit", OLD], stays.stderr);
  const leaves = `require("node:child_process").spawn(process.execPath, ["-e", "setTimeout(() => {}, 60_000)"], { stdio: "ignore" }).unref();`;
  const left = await bowline(t, ["doctor", "--json", "--", ...program(TOOLS, leaves)]);
  deepEqual(rulesOf(left), ["stdio/orphans", OLD], left.stdout);
});

test("a server that ends, or is silent, at the probe of newer hosts is found", async (t) => {
  const ends = await bowline(t, [
    "doctor",
    "--json",
    "--",
    ...program(`${TOOLS}, "server/discover": () => process.exit(1)`),
  ]);
  deepEqual(rulesOf(ends), ["era/probe", OLD], ends.stdout);
});

test("--fail-on chooses the level of exit code 1", async (t) => {
  const argv = (level: string) => ["doctor", "--fail-on", level, "--", ...program(TOOLS)];
  const codes = await Promise.all(["error", "warning", "note"].map((level) => bowline(t, argv(level))));
  deepEqual(
    codes.map(({ code }) => code),
    [0, 0, 1],
    codes[1]?.stdout,
  );
});

test("--only and --skip choose rules by id and group; --list lists them; misspelt names are errors", async (t) => {
  const listed = async (...more: string[]) => {
    const { result } = documentOf(await bowline(t, ["doctor", "--list", "--json", ...more]), "rules");
    return (result as { readonly rules: readonly { readonly id: string }[] }).rules.map(({ id }) => id);
  };
  deepEqual(
    await listed(),
    RULES.map(({ id }) => id),
  );
  deepEqual(await listed("--only", "stdio,era/probe", "--skip", "stdio/exit"), [
    "stdio/noise",
    "stdio/orphans",
    "stdio/flood",
    "era/probe",
  ]);
  match((await bowline(t, ["doctor", "--list"])).stdout, /^start\/failed +a command that is not found/);
  for (const [argv, told] of [
    [["--only", "stdoi"], /no rule or group "stdoi"; did you mean "stdio"\?/],
    [["--skip", "era/prob"], /no rule or group "era\/prob"; did you mean "era\/probe"\?/],
    [["--for", "gemni", "x"], /no host "gemni"; did you mean "gemini"\?/],
    [["--era", "legacy", "x"], /--era is not for the doctor/],
    [[], /needs a server, or --hosts/],
    [["--url", "x", "--", "node"], /--url must be a URL/],
    [["--url", "http://127.0.0.1/", "http://127.0.0.1/"], /--url is for a command/],
  ] as const) {
    const ran = await bowline(t, ["doctor", ...argv]);
    deepEqual([ran.code, told.test(ran.stderr)], [2, true], ran.stderr);
  }
});

test("a server that is not reached has the exit code of that, and a recording is no server", async (t) => {
  const gone = await bowline(t, ["doctor", "--only", "catalogue", "http://127.0.0.1:1/mcp"]);
  deepEqual([gone.code, /cannot connect/.test(gone.stderr)], [4, true], gone.stderr);
  const cwd = emptyFolder(t);
  const recorded = ["doctor", "--record", "own.rec.ndjson", "--", ...program(TOOLS)];
  equal((await bowline(t, recorded, { cwd })).code, 0);
  const replayed = await bowline(t, ["doctor", "own.rec.ndjson"], { cwd });
  deepEqual([replayed.code, /needs a live server/.test(replayed.stderr)], [2, true], replayed.stderr);
});

test("text of a server cannot control the terminal, in any format", async (t) => {
  const evil = "\u001b]0;title\u0007\u202e\n::error::forged";
  const server = new McpServer({ name: `evil${evil}`, version: "1" }).tool(
    "look",
    { description: evil, annotations: { readOnlyHint: true } },
    () => "seen",
  );
  const url = await serve(t, server);
  for (const format of ["text", "json", "sarif", "github"]) {
    const ran = await bowline(t, ["doctor", url, "-v", "--format", format]);
    equal(ran.code, 1, ran.stderr);
    ok(!["\u001b", "\u0007", "\u202e"].some((char) => ran.stdout.includes(char)), format);
    if (format === "github")
      for (const line of ran.stdout.trim().split("\n")) match(line, /^::(error|warning|notice) title=/);
  }
});

test("the text report names findings, remedies and, with -v, evidence and all rules", async (t) => {
  const argv = ["doctor", "-v", "--", ...program(TOOLS, 'console.log("hello");')];
  const { stdout } = await bowline(t, argv);
  match(stdout, /^own 1 by stdio, 2025-11-25; not 2026-07-28 {2}\d+\.\d s, \d+ lines\n/);
  match(stdout, / {2}error {4}stdio\/noise\n {11}stdout has text that is no message: "hello"/);
  match(stdout, /remedy: Write logs to stderr/);
  match(stdout, /requirement: transport:stdio:stream-purity/);
  match(stdout, /docs\/doctor\.md#stdionoise/);
  match(stdout, /passed: start\/failed/);
  match(stdout, /not applicable: [\s\S]*era\/same/);
  match(stdout, /1 error, 0 warnings, 1 note\./);
});

/** What SARIF 2.1.0 requires of the parts that the report has. The whole schema is in no maintained package. */
const SARIF = {
  type: "object",
  required: ["version", "runs"],
  properties: {
    $schema: { type: "string" },
    version: { const: "2.1.0" },
    runs: { type: "array", items: { $ref: "#/$defs/run" } },
  },
  additionalProperties: false,
  $defs: {
    text: { type: "object", required: ["text"], properties: { text: { type: "string" } }, additionalProperties: false },
    run: {
      type: "object",
      required: ["tool", "results"],
      properties: {
        tool: {
          type: "object",
          required: ["driver"],
          properties: {
            driver: {
              type: "object",
              required: ["name"],
              properties: {
                name: { type: "string" },
                semanticVersion: { type: "string", pattern: "^\\d+\\.\\d+\\.\\d+" },
                informationUri: { type: "string" },
                rules: { type: "array", uniqueItems: true, items: { $ref: "#/$defs/rule" } },
              },
              additionalProperties: false,
            },
          },
          additionalProperties: false,
        },
        results: { type: "array", items: { $ref: "#/$defs/result" } },
      },
      additionalProperties: false,
    },
    rule: {
      type: "object",
      required: ["id"],
      properties: {
        id: { type: "string" },
        shortDescription: { $ref: "#/$defs/text" },
        help: { $ref: "#/$defs/text" },
        helpUri: { type: "string", pattern: "^https://" },
      },
      additionalProperties: false,
    },
    result: {
      type: "object",
      required: ["message"],
      properties: {
        ruleId: { type: "string" },
        ruleIndex: { type: "integer", minimum: 0 },
        level: { enum: ["none", "note", "warning", "error"] },
        message: { $ref: "#/$defs/text" },
        locations: { type: "array", items: { $ref: "#/$defs/location" } },
        properties: { type: "object" },
      },
      additionalProperties: false,
    },
    location: {
      type: "object",
      properties: {
        logicalLocations: { type: "array", items: { type: "object" } },
        physicalLocation: {
          type: "object",
          required: ["artifactLocation"],
          properties: {
            artifactLocation: { type: "object", required: ["uri"], properties: { uri: { type: "string" } } },
            region: {
              type: "object",
              required: ["startLine"],
              properties: { startLine: { type: "integer", minimum: 1 } },
            },
          },
        },
      },
      additionalProperties: false,
    },
  },
};

test("SARIF has the shape of 2.1.0, and its locations are lines of the recording", async (t) => {
  const cwd = emptyFolder(t);
  const argv = [
    "doctor",
    "--format",
    "sarif",
    "--record",
    "a b.rec.ndjson",
    "--",
    ...program(TOOLS, 'console.log("hello");'),
  ];
  const ran = await bowline(t, argv, { cwd });
  equal(ran.code, 1, ran.stderr);
  const report = JSON.parse(ran.stdout);
  deepEqual(defaultValidator.compile(SARIF)(report), []);
  const [{ results, tool }] = report.runs;
  const [noise] = results;
  equal(tool.driver.rules[noise.ruleIndex].id, "stdio/noise");
  const { artifactLocation, region } = noise.locations[0].physicalLocation;
  equal(artifactLocation.uri, "a%20b.rec.ndjson");
  const lines = readFileSync(join(cwd, "a b.rec.ndjson"), "utf8").split("\n");
  match(lines[region.startLine - 1]!, /"k":"noise".*"hello"/);
  ok(lines.some((line) => /"k":"verdict".*"stdio\/noise"/.test(line)));
});

test("a secret of the server's environment is in no report", async (t) => {
  const secret = "harbour-secret-0123456789";
  const noisy = program(TOOLS, "console.log('key ' + process.env.HARBOUR_KEY);");
  const ran = await bowline(t, ["doctor", "-v", "--env", `HARBOUR_KEY=${secret}`, "--", ...noisy]);
  equal(ran.code, 1, ran.stderr);
  ok(!ran.stdout.includes(secret), ran.stdout);
});

test("--hosts checks the files of applications, and starts nothing", async (t) => {
  const [cwd, home] = [emptyFolder(t), emptyFolder(t)];
  mkdirSync(join(cwd, ".git"));
  mkdirSync(join(home, ".cursor"));
  const servers = {
    gone: { command: "bowline-no-such-program" },
    relative: { command: process.execPath, args: ["./server.js"] },
    plain: { command: process.execPath, args: ["-e", "process.exit(1)"], env: { API_TOKEN: "0123456789abcdef" } },
    fine: {
      command: process.execPath,
      args: ["/srv/server.js"],
      env: { API_TOKEN: `\${API_TOKEN}`, MODE: "production" },
    },
  };
  writeFileSync(join(home, ".cursor", "mcp.json"), JSON.stringify({ mcpServers: servers }));
  writeFileSync(join(cwd, "mcp.json"), "{ broken");
  const ran = await bowline(t, ["doctor", "--hosts", "--json"], { cwd, home, platform: "linux" });
  equal(ran.code, 1, ran.stderr);
  const { findings } = reportOf(ran);
  deepEqual(
    findings.map(({ level, text }) => [level, /mcp\.json: (?=is not)|(?<=server ")\w+/.exec(text)?.[0]]),
    [
      ["error", "mcp.json: "],
      ["error", "gone"],
      ["warning", "relative"],
      ["warning", "plain"],
    ],
    JSON.stringify(findings),
  );
  ok(!ran.stdout.includes("0123456789abcdef"));
});

test("a server whose listing fails is examined as far as possible", async (t) => {
  const interceptors: NonNullable<ServerOptions["interceptors"]> = [
    (call, next) => {
      if (call.method === "tools/list") throw new RpcError(-32603, "broken");
      return next(call);
    },
  ];
  const server = new McpServer({ name: "own", version: "1" }, { interceptors });
  server.tool("look", { description: "Look" }, () => "seen");
  const ran = await bowline(t, ["doctor", "--json", await serve(t, server)]);
  equal(ran.code, 1, ran.stdout);
  match(reportOf(ran).findings[0]!.text, /^tools\/list fails: "broken"$/);
});
