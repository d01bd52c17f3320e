import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { ResumeToken, SavedSession } from "bowline/client";
import { McpServer } from "bowline/server";
import { eachWire, legacyHttp } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { sessionWorld } from "../../support/http-transports.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const id = "client-transport:http:resume-stream-api";

function counting() {
  const goOn = gate();
  const server = new McpServer(me, { http: { resumable: true } })
    .tool("count", {}, async (_, ctx) => {
      await ctx.progress(1, 3);
      await goOn.opened;
      await ctx.progress(2, 3);
      await ctx.progress(3, 3);
      return "done";
    })
    .tool("wait", {}, async (_, ctx) => {
      await ctx.progress(1);
      throw await aborted(ctx.signal);
    });
  return { server, goOn };
}

/** What another process would get. */
const copy = <T>(value: T) => JSON.parse(JSON.stringify(value)) as T;

verifies(id, "another client takes the call up where the first has left it", legacyHttp, async ({ connect }) => {
  const { server, goOn } = counting();
  const first = await connect(server);
  const tokens: ResumeToken[] = [];
  const begun = gate();
  const heard: number[] = [];
  const cut = first.callTool("count", undefined, {
    onProgress: ({ progress }) => {
      heard.push(progress);
      begun.open();
    },
    onResumable: (token) => void tokens.push(token),
  });
  const lost = rejects(cut, { name: "ConnectionError", delivery: "answer_lost" });
  await begun.opened;
  const known = copy(first.server);
  deepEqual(copy(first.session), copy(tokens.at(-1)?.session));
  await first.close({ keepSession: true });
  await lost;
  // The mark at the beginning, and the first report.
  equal(tokens.length, 2);
  equal(new Set(tokens.map(({ lastEventId }) => lastEventId)).size, 2);
  deepEqual(first.wire.requests("notifications/cancelled"), []);

  for (const [token, missed] of [
    [tokens[1], [2, 3]],
    [tokens[0], [1, 2, 3]],
  ] as const) {
    ok(token !== undefined);
    const second = await connect(server, { session: copy(token.session) });
    equal(second.era, "legacy");
    deepEqual(copy(second.server), known);
    const again: number[] = [];
    const outcome = second.callTool("count", undefined, {
      resume: copy(token),
      onProgress: ({ progress }) => again.push(progress),
    });
    goOn.open();
    equal((await outcome).text, "done");
    deepEqual(again, missed);
    const posts = second.wire.exchanges.filter(({ method }) => method === "POST");
    deepEqual(posts, [], "nothing was asked again");
    await second.close({ keepSession: true });
  }
  deepEqual(heard, [1]);
});

verifies(id, "a call that was taken up can be given up, by its own id", legacyHttp, async ({ connect }) => {
  const { server } = counting();
  const first = await connect(server);
  const begun = gate();
  let last: ResumeToken | undefined;
  const cut = first.callTool("wait", undefined, {
    id: "mine",
    onProgress: () => begun.open(),
    onResumable: (token) => {
      last = token;
    },
  });
  await begun.opened;
  await Promise.all([first.close({ keepSession: true }), rejects(cut, { name: "ConnectionError" })]);
  equal(last?.id, "mine");

  const second = await connect(server, { session: last?.session });
  const abort = new AbortController();
  const outcome = second.callTool("wait", undefined, { resume: last, signal: abort.signal });
  await second.wire.until(({ exchanges }) => exchanges.filter(({ method }) => method === "GET").length === 2);
  abort.abort("enough");
  await rejects(outcome, (reason) => reason === "enough");
  await second.wire.until((wire) => wire.notifications("client", "notifications/cancelled").length === 1);
  equal(second.wire.notifications("client", "notifications/cancelled")[0]?.params?.requestId, "mine");
  equal(second.pending, 0);
});

verifies(id, "a token of another session, and a session that is none, are refused", legacyHttp, async ({ connect }) => {
  const { server, goOn } = counting();
  goOn.open();
  const tokens: ResumeToken[] = [];
  const one = await connect(server);
  await one.callTool("count", undefined, { onResumable: (token) => void tokens.push(token) });
  const [resume] = tokens;
  const other = await connect(server);
  await rejects(other.callTool("count", undefined, { resume }), { code: "cannot_resume" });
  const session = one.session as SavedSession;
  for (const [wrong, code] of [
    [{ ...session, era: "baroque" }, "unknown_era"],
    [{ ...session, id: 7 }, "invalid_session"],
    [{ ...session, initialized: null }, "invalid_session"],
    [{ ...session, initialized: { protocolVersion: "2025-11-25" } }, "invalid_result"],
  ] as const) {
    await rejects(connect(server, { session: wrong as unknown as SavedSession }), { code });
  }
  await one.close();
  const late = await connect(server, { session });
  await rejects(late.callTool("count", undefined, { resume }), {
    name: "ConnectionError",
    delivery: "answer_lost",
    retrySafe: false,
    message: /HTTP status 404/,
  });
});

verifies(
  id,
  "where nothing can be resumed, nothing is sent in its place",
  eachWire,
  async ({ connect, era, transport }) => {
    const { server } = counting();
    const client = await connect(server, era === "modern" ? { versions: ["2026-07-28"] } : {});
    const isHttp = transport === "node" || transport === "fetch";
    equal(client.session === undefined, era === "modern" || !isHttp);
    const before = client.wire.frames.length;
    const session = { era: "legacy" as const, id: "session-0123456789", initialized: {} };
    const resume = { session, id: 0, lastEventId: "e1" };
    await rejects(client.callTool("count", undefined, { resume }), { code: "cannot_resume" });
    equal(client.wire.frames.length, before);
    await client.listTools();
    ok(client.wire.frames.length > before);
  },
);

proves(
  id,
  { wire: "legacy-http" },
  "tokens come after what they stand behind, and none after the answer",
  async (t) => {
    const seen: unknown[] = [];
    const { script, told, call } = await sessionWorld(t);
    (await script.next("GET")).status(405);
    const answered = call({
      onProgress: ({ progress }) => seen.push(progress),
      onEventId: (_, eventId) => seen.push(eventId),
    });
    const received = await script.next("tools/call");
    const progressToken = received.message.params._meta.progressToken;
    received.stream().raw("id: e1\ndata:\n\n").notify("notifications/progress", { progressToken, progress: 1 }, "e2");
    received.raw("id:\ndata:\n\n").resultEvent({}, "e3").end();
    await answered;
    deepEqual(seen, ["e1", 1, "e2"]);
    deepEqual(told.problems, []);
  },
);
