import { equal, rejects } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { eachWire } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies(
  ["protocol:cancel:abort-signal", "protocol:cancel:in-flight", "protocol:cancel:handler-abort-propagates"],
  eachWire,
  async ({ connect }) => {
    const started = gate();
    const stopped = gate<unknown>();
    const server = new McpServer(me)
      .tool("wait", {}, async (_, ctx) => {
        started.open();
        const reason = await aborted(ctx.signal);
        stopped.open(reason);
        throw reason;
      })
      .tool("next", {}, () => "still here");
    const client = await connect(server);
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { signal: abort.signal });
    await started.opened;
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
    await stopped.opened;
    equal((await client.callTool("next")).text, "still here");
    equal(client.wire.responsesTo("tools/call").length, 1);
    equal(client.pending, 0);
  },
);
