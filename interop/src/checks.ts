import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Driver, ElicitReply, Era, ProgressReport } from "./driver.js";
import * as words from "./servers/words.js";

/** A client of one SDK, connected to a server of another. */
export interface Session {
  readonly driver: Driver;
  readonly era: Era;
  /** Sets the user's reply to the next elicitations. */
  answer(reply: ElicitReply): void;
}

export interface Check {
  readonly name: string;
  run(session: Session): Promise<void>;
}

export const VERSIONS = { legacy: "2025-11-25", modern: "2026-07-28" } as const;
const TOOLS = ["add", "ask", "count", "echo", "fail", "log", "note", "roots", "sample", "seen", "touch", "wait"];

/** Every kind of line end, a surrogate pair, and text that looks like the end of an SSE event. */
const ODD_TEXT = "a\nb\r\nc\rd\u2028e\u2029f\u0000g \u{1f9f6} data: x\n\nid: 7";

/** Checks that run for every pair of client and server. */
export const checks: readonly Check[] = [
  check("version", async ({ driver, era }) => equal(driver.version, VERSIONS[era])),
  check("name", async ({ driver }) => equal(driver.serverName, words.SERVER_NAME)),
  check("list", async ({ driver }) => {
    deepEqual((await driver.listTools()).sort(), TOOLS);
    deepEqual(await driver.listResources(), [words.NOTE_URI]);
    deepEqual(await driver.listTemplates(), [words.TEMPLATE]);
    deepEqual(await driver.listPrompts(), ["greet"]);
  }),
  check("plain", async ({ driver }) => {
    const reply = await driver.callTool("echo", { text: ODD_TEXT });
    deepEqual(reply, { text: ODD_TEXT, structured: undefined, isError: false });
  }),
  check("large", async ({ driver }) => {
    const text = "bowline ".repeat(131_072);
    ok((await driver.callTool("echo", { text })).text === text, "a megabyte comes back as it was sent");
  }),
  check("parallel", async ({ driver }) => {
    const texts = Array.from({ length: 25 }, (_, index) => `call ${index}`);
    const replies = await Promise.all(texts.map((text) => driver.callTool("echo", { text })));
    deepEqual(
      replies.map(({ text }) => text),
      texts,
    );
  }),
  check("progress", async ({ driver }) => {
    const key = randomUUID();
    const seen: ProgressReport[] = [];
    const onProgress = (report: ProgressReport) => {
      seen.push({ ...report });
      if (seen.length === 3) void driver.callTool("note", { key });
    };
    const reply = await driver.callTool("count", { to: 3, key }, { onProgress });
    equal(reply.text, "counted to 3");
    deepEqual(
      driver.isUnordered ? seen.sort((a, b) => a.progress - b.progress) : seen,
      [1, 2, 3].map((progress) => ({ progress, total: 3, message: `step ${progress}` })),
    );
  }),
  check("structured", async ({ driver }) => {
    const reply = await driver.callTool("add", { a: 2, b: 3 });
    deepEqual(reply, { text: reply.text, structured: { sum: 5 }, isError: false });
    deepEqual(JSON.parse(reply.text), { sum: 5 });
  }),
  check("tool error", async ({ driver }) => {
    const reply = await driver.callTool("fail", {});
    deepEqual(reply, { text: reply.text, structured: undefined, isError: true });
    ok(reply.text.includes(words.FAILURE), reply.text);
  }),
  check("bad input", async ({ driver }) => {
    const reply = await driver.callTool("add", { a: "two", b: 3 });
    equal(reply.isError, true);
    ok(reply.text.includes("a"), reply.text);
  }),
  check("unknown tool", async ({ driver }) => {
    await rejects(driver.callTool("no-such-tool", {}), withCode(driver, -32602));
  }),
  check("cancel", async ({ driver }) => {
    const key = randomUUID();
    const abort = new AbortController();
    const call = driver.callTool("wait", { key }, { signal: abort.signal });
    call.catch(() => {});
    equal((await driver.callTool("seen", { key, what: "started" })).text, "started");
    abort.abort(new Error("enough"));
    await rejects(call);
    equal((await driver.callTool("seen", { key, what: "cancelled" })).text, "cancelled");
  }),
  check("timeout", async ({ driver }) => {
    const key = randomUUID();
    await rejects(driver.callTool("wait", { key }, { timeoutMs: 100 }));
    equal((await driver.callTool("seen", { key, what: "cancelled" })).text, "cancelled");
  }),
  check("resource", async ({ driver }) => {
    equal(await driver.readResource(words.NOTE_URI), words.NOTE_TEXT);
    equal(await driver.readResource("note://numbered/7"), words.numbered("7"));
  }),
  check("no resource", async ({ driver, era }) => {
    await rejects(driver.readResource("note://nowhere"), withCode(driver, era === "legacy" ? -32002 : -32602));
  }),
  check("prompt", async ({ driver }) => {
    equal(await driver.getPrompt("greet", { city: "Oslo" }), words.greeting("Oslo"));
  }),
  check("bad prompt", async ({ driver }) => {
    await rejects(driver.getPrompt("greet", {}), withCode(driver, -32602));
  }),
  check("complete", async ({ driver }) => {
    deepEqual(await driver.complete("greet", "city", "os"), words.suggested("os"));
  }),
  check("elicit", async ({ driver, answer }) => {
    answer({ action: "accept", content: { colour: "blue" } });
    equal((await driver.callTool("ask", {})).text, "colour blue");
    answer({ action: "decline" });
    equal((await driver.callTool("ask", {})).text, "decline");
  }),
  check("sample", async ({ driver }) => {
    equal((await driver.callTool("sample", {})).text, "knot? bowline");
  }),
  check("roots", async ({ driver }) => {
    equal((await driver.callTool("roots", {})).text, "file:///harbour");
  }),
  check("log", async ({ driver }) => {
    deepEqual(await driver.logsOf("log", "logged"), ["logged"]);
  }),
  check("changes", async ({ driver }) => {
    const watch = await driver.watchTools();
    await driver.callTool("touch", {});
    await watch.changed;
    await watch.close();
    equal((await driver.callTool("echo", { text: "after" })).text, "after");
  }),
];

/** Checks that run only for the modes that name them. */
export const moreChecks: readonly Check[] = [
  check("subscription", async ({ driver }) => {
    const watch = await driver.watchResource?.(words.NOTE_URI);
    await driver.callTool("touch", { uri: words.NOTE_URI });
    ok(watch !== undefined, "the client can subscribe to resources");
    await watch.changed;
    await watch.close();
  }),
  check("resume", async ({ driver }) => {
    const key = randomUUID();
    const call = driver.callTool("count", { to: 2, key, cut: true });
    await driver.callTool("note", { key });
    equal((await call).text, "counted to 2");
  }),
];

function check(name: string, run: Check["run"]): Check {
  return { name, run };
}

function withCode(driver: Driver, code: number): (error: unknown) => boolean {
  return (error) => {
    equal(driver.codeOf(error), code, `error code of: ${error}`);
    return true;
  };
}
