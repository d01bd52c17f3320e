import { deepEqual, equal, rejects } from "node:assert/strict";
import { ConnectionError, connect, RpcError } from "bowline/client";
import { tasksClient } from "bowline/tasks/client";
import { createChannelPair } from "bowline/testing";
import { createPipePair } from "../../support/each-wire.js";
import { answerAll, scripted } from "../../support/http-script.js";
import type { TestContext } from "../../support/raw-peer.js";
import { state, TaskBench } from "../../support/scripted-tasks.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const EXTENSION = "io.modelcontextprotocol/tasks";

const channels = (["memory", "stdio"] as const).map((transport) => ({
  name: `modern-${transport}`,
  open: (_: TestContext) => new ServerScript(transport === "memory" ? createChannelPair() : createPipePair()),
}));

verifies(
  "tasks-ext:client:outcomes",
  "a connection that ends with the task leaves a call that must not be repeated",
  channels,
  async (script, t) => {
    script.modern({ tools: {}, extensions: { [EXTENSION]: {} } });
    const client = await connect({ channel: script.channel }, { era: "modern", extensions: [tasksClient()] });
    t.after(() => client.close());
    const called = rejects(client.callTool("work"), (error: ConnectionError) => {
      deepEqual([error instanceof ConnectionError, error.retrySafe], [true, false]);
      return true;
    });
    const request = await script.next("tools/call");
    script.result(request, { resultType: "task", ...state("t", "working") });
    void script.close();
    await called;
  },
);

proves(
  "tasks-ext:client:outcomes",
  { wire: "modern-http" },
  "a refused poll leaves a call that must not be repeated",
  async (t) => {
    const bench = new TaskBench();
    const error = { code: -32602, message: "no such task" };
    const { connectTo } = await scripted(
      t,
      answerAll((received) => {
        if (received.rpcMethod === "tools/call")
          return received.result({ resultType: "task", ...state("t", "working") });
        received.json({ jsonrpc: "2.0", id: received.message.id, error }, 404);
      }),
    );
    const client = await connectTo({ era: "modern", ...bench.options() });
    const refused = rejects(client.callTool("work"), (error: RpcError) => {
      deepEqual([error instanceof RpcError, error.rpcCode, error.retrySafe], [true, -32602, false]);
      return true;
    });
    await bench.pass(1111);
    await refused;
    equal(client.pending, 0);
  },
);
