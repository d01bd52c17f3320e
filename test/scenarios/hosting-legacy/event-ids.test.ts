import { equal, match } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { type EventLog, MemoryEventLog } from "#src/store/event-log.js";
import { legacy, onEachHost, openSession } from "../../support/plain-http.js";
import { proves } from "../../support/verifies.js";

const PREFIX = "\u00e9/\u{1f4a1} ";

/** Log whose ids have letters of several bytes. */
function createLog(): EventLog {
  const log = new MemoryEventLog();
  const inner = (id: string) => (id.startsWith(PREFIX) ? id.slice(PREFIX.length) : "unknown");
  return {
    append: (session, stream, data) => PREFIX + log.append(session, stream, data),
    find: (session, id) => log.find(session, inner(id)),
    readAfter: (session, stream, id) =>
      log.readAfter(session, stream, id && inner(id))?.map((event) => ({ ...event, id: PREFIX + event.id })),
    drop: (session) => log.drop(session),
  };
}

proves("hosting:resume:utf8-ids", { wire: "legacy-http" }, "as browsers send them", async (t) => {
  await onEachHost(
    t,
    () => new McpServer({ name: "s", version: "1" }, { http: { resumable: createLog() } }).tool("t", {}, () => "done"),
    async (ask) => {
      const headers = await openSession(ask);
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "t" } };
      const { text } = await ask(legacy(call, { headers }));
      const id = /^id: (.*)$/m.exec(text)?.[1] ?? "";
      equal(id.includes(PREFIX), true);
      const bytes = Buffer.from(id, "utf8").toString("latin1");
      const resumed = await ask({
        method: "GET",
        headers: { ...headers, accept: "text/event-stream", "last-event-id": bytes },
      });
      equal(resumed.status, 200);
      match(resumed.text, /"done"/);
      const unknown = { ...headers, accept: "text/event-stream", "last-event-id": `${id[0]}\u00e9 of Latin-1` };
      equal((await ask({ method: "GET", headers: unknown })).status, 204, "an unknown id of a call's stream");
    },
  );
});
