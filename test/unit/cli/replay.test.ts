import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { parseRecording } from "bowline/testing";
import { bowline, documentOf, emptyFolder, type Running } from "../../support/command.js";
import { harbourProgram, serve, WIRES } from "../../support/harbour.js";

const bin = fileURLToPath(import.meta.resolve("#src/cli/bin.js"));
const MOOR = ["moor", "--ship", "Maria", "--berth", "n1"];
const MOORED = { ship: "Maria", berth: "n1", lines: 4 };

/** Records a call of the harbour. Returns the folder of `a.rec.ndjson`. */
async function recordMoor(t: TestContext, place: (typeof WIRES)[number]["place"]): Promise<string> {
  const cwd = emptyFolder(t);
  const recorded = await bowline(t, await place(t, ["call", ...MOOR, "--record", "a.rec.ndjson"]), { cwd });
  equal(recorded.code, 0, recorded.stderr);
  return cwd;
}

for (const { name, place } of WIRES)
  test(`${name}: a recording is a server by stdio and by HTTP`, async (t) => {
    const cwd = await recordMoor(t, place);
    const program = ["--", process.execPath, bin, "replay", "a.rec.ndjson"];
    for (const [era, more] of [
      [[], []],
      [
        ["--era", "modern"],
        ["--era", "any"],
      ],
      [
        ["--era", "legacy"],
        ["--era", "any", "--order", "strict"],
      ],
    ]) {
      const played = await bowline(t, ["call", ...MOOR, ...era!, "--json", ...program, ...more!], { cwd });
      deepEqual((documentOf(played, "outcome").result as { structured: object }).structured, MOORED, played.stderr);
    }
    let url = "";
    const served = await serveReplay(t, cwd, ["--era", "any"], async (address) => {
      url = address;
      const called = await bowline(t, ["call", address, ...MOOR, "--json"], { cwd });
      deepEqual((documentOf(called, "outcome").result as { structured: object }).structured, MOORED, called.stderr);
      equal(await statusFor(address, "evil.example"), 403);
    });
    deepEqual([served.code, served.stdout], [0, `${url}\n`], served.stderr);
  });

/** Serves `a.rec.ndjson` over HTTP while `use` runs. */
async function serveReplay(t: TestContext, cwd: string, more: readonly string[], use: (url: string) => Promise<void>) {
  let told = (_url: string, _running: Running) => {};
  const listening = new Promise<[string, Running]>((resolve) => {
    told = (url, running) => resolve([url, running]);
  });
  const ran = bowline(t, ["replay", "a.rec.ndjson", "--listen", "0", ...more], { cwd, onLine: told });
  const [url, running] = await listening;
  try {
    await use(url);
  } finally {
    running.interrupt();
  }
  return ran;
}

/** Returns the status for a request with another host. */
function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(url, { method: "POST", headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end("{}");
  });
}

test("a recording that is the server tells what was sent otherwise, and what was not", async (t) => {
  const cwd = await recordMoor(t, WIRES[0]!.place);
  const served = await serveReplay(t, cwd, [], async (url) => {
    const client = await connect(url);
    const refused = client.callTool("moor", { ship: "Maria", berth: "n2" });
    await refused.then(
      () => ok(false, "nothing is recorded for n2"),
      (error: Error) => match(error.message, /recorded "n1", now "n2"/),
    );
    await client.close();
  });
  equal(served.code, 1);
  match(served.stderr, /differs at \/arguments\/berth: recorded "n1", now "n2"/);
  match(served.stderr, /tools\/call moor \(line \d+\) was not sent/);
});

test("a recording that is the server checks the answers of its client", async (t) => {
  const cwd = emptyFolder(t);
  const cast = ["call", "cast-off", "--berth", "n1"];
  const moored = ["--", ...harbourProgram];
  const asked = await bowline(t, [...cast, "--answer", "sure=true", "--record", "a.rec.ndjson", ...moored], { cwd });
  ok([0, 5].includes(asked.code), asked.stderr);
  const played = ["--", process.execPath, bin, "replay", "a.rec.ndjson"];
  for (const [more, isTold] of [
    [[], false],
    [["--answers", "check"], true],
  ] as const) {
    const { stderr } = await bowline(t, [...cast, "--decline-all", "--verbose", ...played, ...more], { cwd });
    equal(/action: recorded "accept", now "decline"/.test(stderr), isTold, stderr);
  }
});

test("a recording is played as fast as it was, by a factor", async (t) => {
  const cwd = emptyFolder(t);
  const slow = new McpServer({ name: "slow", version: "1" }).tool("wait", async () => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    return "waited";
  });
  const url = await serve(t, slow);
  equal((await bowline(t, ["call", url, "wait", "--record", "a.rec.ndjson"], { cwd })).code, 0);
  const timeOf = async (...time: string[]) => {
    let ms = 0;
    await serveReplay(t, cwd, time, async (address) => {
      const client = await connect(address);
      const began = performance.now();
      await client.callTool("wait", {});
      ms = performance.now() - began;
      await client.close();
    });
    return ms;
  };
  ok((await timeOf("--time", "recorded")) >= 290);
  ok((await timeOf("--time", "2")) >= 590);
  for (const wrong of ["0", "-1", "fast", ""]) {
    const { code, stderr } = await bowline(t, ["replay", "a.rec.ndjson", `--time=${wrong}`], { cwd });
    equal(code, 2, wrong);
    match(stderr, /--time must be none, recorded, or a factor above zero/);
  }
});

test("options of the other form of a replay are mistakes", async (t) => {
  const cwd = await recordMoor(t, WIRES[0]!.place);
  for (const [argv, told] of [
    [["--update"], /--update is for a replay against a server, and none is named/],
    [["--shape"], /--shape is for a replay against a server/],
    [["http://127.0.0.1:1/mcp", "--listen", "0"], /--listen is for a recording that is the server/],
    [["--listen", "many"], /--listen must be a number from 0 to 65535, got "many"/],
    [["--era", "modern"], /--era must be recorded, any, got "modern"/],
    [["--version", "2025-11-25"], /--version is not for a replay/],
  ] as const) {
    const { code, stdout, stderr } = await bowline(t, ["replay", "a.rec.ndjson", ...argv], { cwd });
    deepEqual([code, stdout], [2, ""], argv.join(" "));
    match(stderr, told);
  }
});

test("--update writes the answers of the server into the recording", async (t) => {
  const cwd = emptyFolder(t);
  const file = join(cwd, "a.rec.ndjson");
  let price = 3;
  let reports = 1;
  const shop = new McpServer({ name: "shop", version: "1" }).tool("price", async (_, ctx) => {
    for (let report = 1; report <= reports; report++) await ctx.progress(report);
    return { structuredContent: { price }, content: [{ type: "text", text: "a price" }] };
  });
  const url = await serve(t, shop);
  equal((await bowline(t, ["call", url, "price", "--record", "a.rec.ndjson"], { cwd })).code, 0);
  const before = readFileSync(file, "utf8");
  const replay = (...more: string[]) => bowline(t, ["replay", "a.rec.ndjson", url, ...more], { cwd });
  equal((await replay("--update")).code, 0);
  equal(readFileSync(file, "utf8"), before, "nothing differs");
  price = 4;
  const updated = await replay("--update");
  deepEqual([updated.code, updated.stdout], [0, ""], updated.stderr);
  match(updated.stderr, /1 answered differently; a\.rec\.ndjson has the new answers\n/);
  ok(parseRecording(readFileSync(file)).complete);
  match(readFileSync(file, "utf8"), /"structuredContent":\{"price":4\}/);
  equal((await replay()).code, 0);
  // A recording with other notifications would be another run.
  price = 5;
  reports = 2;
  const left = await replay("--update");
  equal(left.code, 1);
  match(left.stdout, /^tools\/call price \(line \d+\): \/notifications[^\n]*\n$/);
  match(readFileSync(file, "utf8"), /"structuredContent":\{"price":5\}/);
});
