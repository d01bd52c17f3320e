import { deepEqual, equal, rejects } from "node:assert/strict";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { MemoryEventLog } from "#src/store/memory-event-log.js";
import { FakeClock } from "../../support/fake-clock.js";
import { aborted, gate } from "../../support/gate.js";
import { settled } from "../../support/http-links.js";
import { proves } from "../../support/verifies.js";

const me = { name: "test", version: "1.0.0" };

class CountingLog extends MemoryEventLog {
  appended = 0;

  override append(sessionId: string, streamId: string, data: string): string {
    this.appended++;
    return super.append(sessionId, streamId, data);
  }
}

proves(
  "flow:cancel:event-store-no-leak",
  { wire: "legacy-http" },
  "cancelled and timed-out calls leave nothing behind on either side",
  async (t) => {
    const log = new CountingLog();
    const clock = new FakeClock();
    let ended = gate();
    const server = new McpServer(me, { http: { resumable: log } })
      .tool("wait", {}, async (_, ctx) => {
        ctx.progress(1, 2);
        await aborted(ctx.signal);
        ctx.progress(2, 2);
        ended.open();
        return "too late";
      })
      .tool("add", {}, () => "3");
    const http = await serveHttp(server);
    t.after(() => http.close());
    const asked: (string | undefined)[] = [];
    const problems: unknown[] = [];
    const client = await connect(http.url, {
      era: "legacy",
      clock,
      onError: (error) => problems.push(error),
      fetch: (url, init) => {
        asked.push(init.method);
        return fetch(url, init);
      },
    });
    for (let n = 0; n < 50; n++) {
      for (const how of ["abort", "timeout"]) {
        ended = gate();
        const abort = new AbortController();
        const onProgress = () => (how === "abort" ? abort.abort("enough") : clock.advance(50));
        const call = client.callTool("wait", {}, { onProgress, signal: abort.signal, deadlineMs: 50 });
        await rejects(call, (error) =>
          how === "abort" ? error === "enough" : (error as Error).name === "TimeoutError",
        );
        await ended.opened;
        const { appended } = log;
        await settled();
        equal(log.appended, appended);
        await client.callTool("add", {});
      }
    }
    equal(asked.filter((method) => method === "GET").length, 1);
    deepEqual(problems, []);
    await client.close();
    equal(clock.pending, 0);
    equal(log.size(), 0);
  },
);
