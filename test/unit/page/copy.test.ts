import { deepEqual, equal, match, ok } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Recording } from "bowline/testing";
import { copyOf } from "#src/page/model/copy.js";
import { RECORDED_WIRES } from "../../support/recorded-wires.js";
import { named, record, recordText, runOf, useHarbour } from "./recorded.js";

describe("a call is copied", () => {
  for (const wire of RECORDED_WIRES)
    it(`as programs and commands that say the same, over ${wire.name}`, async () => {
      const run = await record(wire, useHarbour);
      const span = named(run, "moor");
      match(copyOf("typescript", run, span) ?? "", /await client\.callTool\("moor", \{"ship":"Maria"\}\);/);
      const test = copyOf("test", run, span) ?? "";
      match(test, /replayServer\("test\.rec\.ndjson"\)/);
      ok(
        test.includes(
          'assert.deepEqual((await client.callTool("moor", {"ship":"Maria"})).content, [{"type":"text","text":"Maria is moored"}]);',
        ),
      );
      const rejected = copyOf("test", run, named(run, "sound-the-horn")) ?? "";
      match(rejected, /assert\.rejects\(client\.callTool\("sound-the-horn"\), \{ code: "AbortError" \}\)/);
      const frames = JSON.parse(copyOf("json", run, span) ?? "") as readonly { readonly message: object }[];
      deepEqual(frames[0]?.message, { name: "moor", arguments: { ship: "Maria" } });
      const place = wire.isHttp ? "bowline call http://localhost/mcp moor" : "bowline call moor";
      ok(copyOf("command", run, span)?.startsWith(`${place} --args '{"ship":"Maria"}'`));
      equal(copyOf("curl", run, span) !== undefined, wire.isHttp);
    });

  for (const wire of RECORDED_WIRES)
    it(`as a test that passes, over ${wire.name}`, async (t) => {
      const folder = mkdtempSync(fileURLToPath(new URL("copied-", import.meta.url)));
      t.after(() => rmSync(folder, { recursive: true }));
      const { text, run } = await recordText(wire, useHarbour);
      writeFileSync(join(folder, "test.rec.ndjson"), text);
      const calls = ["moor", "cast-off"].map((name) => named(run, name));
      for (const span of calls) writeFileSync(join(folder, `${span.name}.mjs`), copyOf("test", run, span) ?? "");
      const { NODE_TEST_CONTEXT: _, ...env } = process.env;
      for (const { name } of calls) {
        const { status, stdout } = spawnSync(process.execPath, [`${name}.mjs`], { cwd: folder, env, encoding: "utf8" });
        equal(status, 0, stdout);
        match(stdout, /pass 1/);
      }
    });

  it("as curl with all headers, and a variable in place of the token", () => {
    const recording = new Recording();
    const connection = recording.connection({ wire: "http", role: "client", server: { url: "https://a.example/mcp" } });
    const headers = { authorization: "Bearer abcdefgh", "mcp-method": "tools/call", "content-length": "9" };
    const exchange = connection.exchange("POST", "/mcp", headers);
    exchange.requestBody(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"it's"}}`);
    const run = runOf(recording);
    const lines = (copyOf("curl", run, named(run, "it's")) ?? "").split(" \\\n");
    deepEqual(lines, [
      "curl -N -X POST https://a.example/mcp",
      '  -H "Authorization: Bearer $MCP_TOKEN"',
      "  -H 'mcp-method: tools/call'",
      `  --data '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"it'\\''s"}}'`,
    ]);
  });

  it("so that no text of a server leaves its quotes", () => {
    const recording = new Recording();
    const connection = recording.connection({
      wire: "stdio",
      role: "client",
      server: { command: "node", args: ["a b.js", "$(rm)"] },
    });
    connection.frame(
      ">",
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri: "x://'; rm -rf ~; '" } }),
    );
    const run = runOf(recording);
    const [span] = run.spans;
    if (span === undefined) throw new Error("no call");
    equal(copyOf("command", run, span), `bowline read 'x://'\\''; rm -rf ~; '\\''' -- node 'a b.js' '$(rm)'`);
  });
});
