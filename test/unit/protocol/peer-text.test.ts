import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer, ProtocolError, RpcError, ToolError } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import { oneLine, quoted } from "#src/protocol/text.js";

/** What is sent to a user's terminal, or into a log, must not do anything there. */
const ACTIVE = /[\p{Cc}\p{Cf}\u2028\u2029]/u;
const EVIL = "\u001b]0;owned\u0007\u009b31m\r\nINFO all is well \u202egnp.exe\u2066\u200b\ufeff\u2028";

function harmless(error: unknown): true {
  ok(error instanceof Error && /owned|INFO/.test(error.message), String(error));
  ok(!ACTIVE.test(error.message), JSON.stringify(error.message));
  ok(error.message.length < 5000);
  return true;
}

test("text of a peer is one short line of visible characters", () => {
  equal(oneLine(EVIL), "]0;owned 31m INFO all is well gnp.exe");
  equal(oneLine("a\tb\n\n c "), "a b c");
  equal(oneLine("schöne 中文 🙂"), "schöne 中文 🙂");
  equal(oneLine("x".repeat(1000)).length, 303);
  equal(oneLine("\n".repeat(1_000_000), 5), "");
  equal(oneLine("\ud800x"), "x");
  equal(quoted('a"\u202e'), '"a\\""');
});

test("messages of errors about a peer are harmless; those that are sent stay as they are", () => {
  harmless(new ProtocolError(EVIL));
  harmless(new ProtocolError(`INFO${"x".repeat(100_000)}`));
  equal(new ToolError("two\nlines").message, "two\nlines");
  equal(new RpcError(1, "two\nlines").message, "two\nlines");
});

test("whatever a server says over HTTP, the error of the call is harmless", async () => {
  const json = { "content-type": "application/json" };
  const error = JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: 5, message: EVIL } });
  for (const answer of [
    () => new Response(EVIL, { status: 500 }),
    () => new Response(error, { status: 400, headers: json }),
    () => new Response("", { headers: { "content-type": "text/\u009bINFO" } }),
    () => Promise.reject(new TypeError("fetch failed", { cause: new Error(EVIL) })),
  ]) {
    const options = { era: "modern" as const, fetch: async () => await answer() };
    await rejects(
      connect("http://127.0.0.1:9/mcp", options).then((client) => client.callTool("x")),
      harmless,
    );
  }
});

test("a server that repeats the request puts no credentials into the error", async () => {
  const fetch = async (_: URL, init: RequestInit) => {
    const { authorization } = init.headers as Record<string, string>;
    return new Response(`Authorization: ${authorization}, failed`, { status: 500 });
  };
  for (const scheme of ["Bearer", "Basic", "DPoP"]) {
    const headers = { authorization: `${scheme} c2VjcmV0LXRva2Vu` };
    await rejects(connect("http://127.0.0.1:9/mcp", { era: "modern", fetch, headers }), (error) => {
      ok(error instanceof Error && error.message.includes(`${scheme} ..., failed`), String(error));
      return !error.message.includes("c2VjcmV0");
    });
  }
});

test("an error of a server reaches the caller as one line, and its data as it is", async (t) => {
  const server = new McpServer({ name: "s", version: "1" }).method("evil/method", {}, () => {
    throw new RpcError(5, EVIL, { said: EVIL });
  });
  const client = await connect(server);
  t.after(() => client.close());
  await rejects(client.request("evil/method", {}), (error) => {
    deepEqual((error as RpcError).data, { said: EVIL });
    return harmless(error);
  });
});

test("a server's report of a client's words is harmless, and so is its answer", async (t) => {
  const [ours, theirs] = createChannelPair();
  const reports: Error[] = [];
  const server = new McpServer({ name: "s", version: "1" }, { onError: (error) => void reports.push(error as Error) });
  await server.accept(theirs);
  t.after(() => server.close());
  const answers: { error?: { message: string } }[] = [];
  const answered = new Promise<void>((resolve) => {
    ours.open({
      onFrame: (frame) => {
        answers.push(JSON.parse(frame));
        resolve();
      },
      onProblem: () => {},
      onClose: () => {},
    });
  });
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
  };
  await ours.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: EVIL.repeat(1000), params: { _meta } }));
  await answered;
  const [{ error } = {}] = answers;
  ok(error !== undefined && error.message.length < 400 && !ACTIVE.test(error.message), JSON.stringify(error));
  for (const report of reports) ok(!ACTIVE.test(report.message));
});

test("the last words of a process are harmless in the error", async () => {
  const script = `process.stderr.write(${JSON.stringify(`Error: INFO ${EVIL}`)}); process.exit(3)`;
  const target = { command: process.execPath, args: ["-e", script], stderr: "pipe" as const };
  await rejects(connect(target), harmless);
});
