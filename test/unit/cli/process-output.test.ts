import { deepEqual, equal, match, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { bowline, documentOf, emptyFolder } from "../../support/command.js";

/** A server without an SDK. It greets on stderr and stdout, says why a call fails on stderr alone, and talks on stdout. */
const TALKER = `
console.error("greeting");
console.log("listening");
const answer = (id, rest) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...rest }) + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    answer(id, { result: {
      protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "talker", version: "1" },
    } });
  else if (method === "tools/list")
    answer(id, { result: { tools: ["fail", "work"].map((name) => ({ name, inputSchema: { type: "object" } })) } });
  else if (method === "tools/call" && params.name === "work") {
    console.log("working");
    answer(id, { result: { content: [{ type: "text", text: "done" }] } });
  } else if (method === "tools/call") {
    console.error("\\nTypeError: no \\u001b[31mdatabase\\n    at open (db.js:1:1)");
    answer(id, { error: { code: -32603, message: "Internal error" } });
  }
});
`;

function talker(t: TestContext): string[] {
  const file = join(emptyFolder(t), "talker.cjs");
  writeFileSync(file, TALKER);
  return ["--", process.execPath, file];
}

test("a call that fails quotes what the process wrote to stderr meanwhile", async (t) => {
  const program = talker(t);
  const ran = await bowline(t, ["call", "fail", "--era", "legacy", "--quiet", ...program]);
  deepEqual([ran.code, ran.stdout], [6, ""], ran.stderr);
  const [problem, advice, wrote, ...more] = ran.stderr.trimEnd().split("\n");
  equal(problem, "bowline: Internal error");
  match(advice ?? "", /^ {2}The server answered with this error\. It may have done a part/);
  match(wrote ?? "", /^ {2}The server wrote to stderr \(-v shows all\): TypeError: no .*database$/);
  deepEqual(more, []);
  ok(!ran.stderr.includes("\u001b"));

  const told = documentOf(await bowline(t, ["call", "fail", "--era", "legacy", "--json", ...program]));
  deepEqual([told.error.rpcCode, told.error.stderr], [-32603, ["TypeError: no \u001b[31mdatabase"]]);

  const all = await bowline(t, ["call", "fail", "--era", "legacy", "-v", ...program]);
  equal(all.stderr.match(/TypeError: no/g)?.length, 1, "-v has shown the line");
  match(all.stderr, /stderr {2}.*at open/);
});

test("text on stdout of a server is noted once on stderr, and each with -v", async (t) => {
  const program = talker(t);
  const call = (...more: string[]) => bowline(t, ["call", "work", "--era", "legacy", ...more, ...program]);
  const notes = (stderr: string) =>
    stderr.match(/does not follow the protocol: .*"; a stdio server must log to stderr/g);
  const ran = await call();
  deepEqual([ran.code, ran.stdout], [0, "done\n"], ran.stderr);
  equal(notes(ran.stderr)?.length, 1, ran.stderr);
  match(ran.stderr, /"listening"; a stdio server/);

  const json = await call("--json");
  equal(documentOf(json).ok, true);
  equal(notes(json.stderr)?.length, 1);

  match((await call("-v")).stderr, /"listening"; a stdio server[\s\S]*"working"; a stdio server/);
  equal((await call("--quiet")).stderr, "");
});

test("a connection that fails tells what the server wrote to stdout in its error alone", async (t) => {
  const file = join(emptyFolder(t), "printer.cjs");
  writeFileSync(file, 'console.log("usage: printer");');
  const ran = await bowline(t, ["list", "--era", "legacy", "--", process.execPath, file]);
  equal(ran.code, 4);
  equal(ran.stderr.match(/usage: printer/g)?.length, 1, ran.stderr);
});
