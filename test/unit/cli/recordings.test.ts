import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { McpServer } from "bowline/server";
import { parseRecording } from "bowline/testing";
import { bowline, documentOf, emptyFolder } from "../../support/command.js";
import { createHarbour, harbourProgram, serve, WIRES } from "../../support/harbour.js";

const MOOR = ["moor", "--ship", "Maria", "--berth", "n1"];
const MOORED = { ship: "Maria", berth: "n1", lines: 4 };

for (const { name, place } of WIRES) {
  test(`${name}: a call is recorded, and its recording is a server in both eras`, async (t) => {
    const cwd = emptyFolder(t);
    const recorded = await bowline(t, await place(t, ["call", ...MOOR, "--record", "a.rec.ndjson"]), { cwd });
    equal(recorded.code, 0, recorded.stderr);
    match(recorded.stderr, /recorded in a\.rec\.ndjson; (?:no value was replaced|1 value replaced: 1 session)\n/);
    ok(parseRecording(readFileSync(join(cwd, "a.rec.ndjson"))).complete);
    for (const era of [[], ["--era", "modern"], ["--era", "legacy"]]) {
      const played = await bowline(t, ["call", "a.rec.ndjson", ...MOOR, "--json", ...era], { cwd });
      deepEqual((documentOf(played, "outcome").result as { structured: object }).structured, MOORED, played.stderr);
    }
    const progress = await bowline(t, ["call", "a.rec.ndjson", ...MOOR], { cwd });
    match(progress.stderr, /1\/4[\s\S]*4\/4/);
  });
}

test("--record reaches a server that ends at a request that it does not know", async (t) => {
  const cwd = emptyFolder(t);
  const program = `
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      const serverInfo = { name: "old", version: "1" };
      const results = {
        initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
        "tools/list": { tools: [] },
      };
      if (results[method] === undefined) process.exit(1);
      console.log(JSON.stringify({ jsonrpc: "2.0", id, result: results[method] }));
    });`;
  const server = ["--", process.execPath, "-e", program];
  for (const record of [[], ["--record", "a.rec.ndjson"]]) {
    const { code, stdout, stderr } = await bowline(t, ["list", ...record, ...server], { cwd });
    equal(code, 0, stderr);
    match(stdout, /^old 1, 2025-11-25\n/);
  }
});

test("a list of a recording has what was recorded, and notes what was not", async (t) => {
  const cwd = emptyFolder(t);
  const url = await serve(t, createHarbour());
  equal((await bowline(t, ["call", url, ...MOOR, "--record", "a.rec.ndjson"], { cwd })).code, 0);
  const { code, stdout, stderr } = await bowline(t, ["list", "a.rec.ndjson"], { cwd });
  equal(code, 0, stderr);
  match(stdout, /^harbour 1\.0\.0, [\s\S]*Tools 3\n {2}moor /);
  match(stderr, /nothing is recorded for prompts\/list\n/);
  const other = await bowline(t, ["call", "a.rec.ndjson", "moor", "--ship", "Maria", "--berth", "n2"], { cwd });
  equal(other.code, 6);
  match(other.stderr, /differs at \/arguments\/berth: recorded "n1", now "n2"/);
});

test("a recording that cannot be read is a mistake, told in one line", async (t) => {
  const cwd = emptyFolder(t);
  const header =
    '{"mcpRecording":1,"by":"test","at":"2026-11-19T00:00:00.000Z","unit":"us","redaction":{"profile":"default"}}';
  writeFileSync(join(cwd, "broken.rec.ndjson"), `${header}\n{"t":1,"k":"note","text":"a"}\nnonsense\n`);
  writeFileSync(join(cwd, "empty.rec.ndjson"), "");
  const mistakes: readonly (readonly [name: string, told: RegExp])[] = [
    ["broken.rec.ndjson", /^bowline: broken\.rec\.ndjson, line 3: is not JSON\n$/],
    ["empty.rec.ndjson", /^bowline: empty\.rec\.ndjson, line 1: the recording is empty\n$/],
    ["missing.rec.ndjson", /^bowline: there is no file missing\.rec\.ndjson\n$/],
  ];
  for (const [name, told] of mistakes)
    for (const argv of [
      ["list", name],
      ["replay", name, "http://127.0.0.1:1/mcp"],
      ["record", "--check", name],
    ]) {
      const { code, stderr, stdout } = await bowline(t, argv, { cwd });
      deepEqual([code, stdout], [2, ""], argv.join(" "));
      match(stderr, told);
    }
});

test("--record replaces what the server is given, and no file without being told", async (t) => {
  const cwd = emptyFolder(t);
  // The secret that the server was given comes back in a result.
  const echo = new McpServer({ name: "echo", version: "1" }).tool("echo", () => "got seven-seas-77");
  const url = await serve(t, echo);
  const argv = ["call", url, "echo", "--header", "X-Pass: seven-seas-77", "--record", "a.rec.ndjson"];
  const first = await bowline(t, argv, { cwd });
  equal(first.code, 0, first.stderr);
  match(first.stdout, /got seven-seas-77/);
  match(first.stderr, /recorded in a\.rec\.ndjson; \d+ values? replaced: .*\d env/);
  const text = readFileSync(join(cwd, "a.rec.ndjson"), "utf8");
  ok(!text.includes("seven-seas-77"));
  ok(text.includes("got <env:x-pass>"));
  const again = await bowline(t, argv, { cwd });
  equal(again.code, 2);
  match(again.stderr, /a\.rec\.ndjson exists: choose another name, or pass --overwrite\n/);
  equal(readFileSync(join(cwd, "a.rec.ndjson"), "utf8"), text);
  equal((await bowline(t, [...argv, "--overwrite"], { cwd })).code, 0);
  const quiet = await bowline(t, [...argv, "--overwrite", "--quiet"], { cwd });
  equal(quiet.stderr, "");
  const none = await bowline(t, ["list", "--record", "b.rec.ndjson"], { cwd });
  equal(none.code, 2);
  const nowhere = await bowline(t, ["list", url, "--record", "a.rec.ndjson/b.rec.ndjson"], { cwd });
  deepEqual([nowhere.code, nowhere.stdout], [2, ""], "nothing was sent");
});

test("a replay tells what a server answers differently", async (t) => {
  const cwd = emptyFolder(t);
  let price = 3;
  const shop = new McpServer({ name: "shop", version: "1" }).tool(
    "price",
    { output: { type: "object", properties: { price: { type: "number" } } } },
    () => ({ structuredContent: { price }, content: [{ type: "text", text: "a price" }] }),
  );
  const url = await serve(t, shop);
  equal((await bowline(t, ["call", url, "price", "--record", "a.rec.ndjson"], { cwd })).code, 0);
  const replay = (...more: string[]) => bowline(t, ["replay", "a.rec.ndjson", url, ...more], { cwd });
  const same = await replay();
  deepEqual([same.code, same.stdout], [0, ""], same.stderr);
  match(same.stderr, /3 requests, all answered as recorded/);
  price = 4;
  const other = await replay();
  equal(other.code, 1);
  match(other.stdout, /^tools\/call price \(line \d+\): \/result\/structuredContent\/price: recorded 3, now 4\n$/);
  const { result } = documentOf(await replay("--json"), "replay") as {
    result: { same: boolean; calls: { name: string; differences: object[] }[] };
  };
  equal(result.same, false);
  deepEqual(result.calls.find(({ name }) => name === "price")?.differences, [
    { path: "/result/structuredContent/price", recorded: 3, live: 4 },
  ]);
  equal((await replay("--shape")).code, 0);
  equal((await replay("--ignore", "/result/structuredContent/price")).code, 0);
  const usage = await replay("--era", "any");
  deepEqual([usage.code, /--era is for a recording that is the server/.test(usage.stderr)], [2, true]);
  const none = await bowline(t, ["replay"], { cwd });
  deepEqual([none.code, /needs a recording/.test(none.stderr)], [2, true]);
  const gone = await bowline(t, ["replay", "a.rec.ndjson", "http://127.0.0.1:1/mcp"], { cwd });
  equal(gone.code, 4, gone.stderr);
});

test("a recording of stdio is replayed against a process", async (t) => {
  const cwd = emptyFolder(t);
  const call = ["call", ...MOOR, "--record", "a.rec.ndjson", "--", ...harbourProgram];
  equal((await bowline(t, call, { cwd })).code, 0);
  const replayed = await bowline(t, ["replay", "a.rec.ndjson", "--", ...harbourProgram], { cwd });
  deepEqual([replayed.code, replayed.stdout], [0, ""], replayed.stderr);
  const none = await bowline(t, ["replay", "a.rec.ndjson", "--", "./no-such-server"], { cwd });
  equal(none.code, 4, none.stderr);
  const http = await bowline(t, ["replay", "a.rec.ndjson", "http://127.0.0.1:1/mcp"], { cwd });
  deepEqual([http.code, /is no recording of HTTP/.test(http.stderr)], [2, true]);
});

test("record --check reports what looks secret by its place, never the value", async (t) => {
  const cwd = emptyFolder(t);
  const url = await serve(t, createHarbour());
  equal((await bowline(t, ["list", url, "--record", "clean.rec.ndjson"], { cwd })).code, 0);
  const clean = await bowline(t, ["record", "--check", "."], { cwd });
  deepEqual([clean.code, clean.stdout], [0, "nothing looks secret in 1 recording\n"], clean.stderr);
  const lines = readFileSync(join(cwd, "clean.rec.ndjson"), "utf8").split("\n");
  const planted = { t: 1, k: "stderr", c: 1, text: "password=hunter2hunter2" };
  const random = { t: 1, k: "frame", c: 1, d: ">", m: { params: { id: "q7Xv9LmB2TzR8kWfN4hYc6PdJs3G" } } };
  lines.splice(2, 0, JSON.stringify(planted), JSON.stringify(random));
  writeFileSync(join(cwd, "left.rec.ndjson"), lines.join("\n"));
  const left = await bowline(t, ["record", "--check", "clean.rec.ndjson", "left.rec.ndjson"], { cwd });
  equal(left.code, 1);
  deepEqual(left.stdout.split("\n"), [
    "left.rec.ndjson:3 /text looks secret (secret)",
    "left.rec.ndjson:4 /m/params/id looks secret (random)",
    "",
  ]);
  const none = await bowline(t, ["record", "--check", emptyFolder(t)], { cwd });
  equal(none.code, 2);
});
