import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { type Cluster, ClusterError, type ClusterFailure } from "bowline/cluster";
import { type Context, McpServer } from "bowline/server";
import { defineState } from "bowline/state";
import { createMemoryState } from "bowline/testing";
import { eachWire, legacyHttp, type World } from "../../support/each-wire.js";
import { replaceParts } from "../../support/nodes-world.js";
import { accept } from "../../support/task-client.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves, verifies } from "../../support/verifies.js";

const INTERNAL = "connect ECONNREFUSED db.internal:5432: insert into bowline.records";
const LEAKS = /db\.internal|insert into|ECONNREFUSED|state:/;
const KINDS: readonly [ClusterFailure, RegExp][] = [
  ["unavailable", /state of the server is not available\. Try again later$/],
  ["unknown_outcome", /not available, and a change of it may have been made$/],
  ["refused", /could not read or change its state$/],
  ["fenced", /could not read or change its state$/],
];

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];
const count = defineState<number>("count");
const gate = async () => ({ principal: "ann" });
const FORM = { type: "object", properties: { city: { type: "string" } } } as const;

/** Parts of a cluster whose engine fails for values of callers and for questions. */
function failing({ records }: Cluster, failure: () => ClusterFailure): Partial<Cluster> {
  const check = (key: string) => {
    if (/^(state|question):/.test(key)) throw new ClusterError(failure(), `put record ${key}: ${INTERNAL}`);
  };
  return {
    records: replaceParts(records, {
      get: async (key) => {
        check(key);
        return records.get(key);
      },
      put: async (key, ...rest) => {
        check(key);
        return records.put(key, ...rest);
      },
    }),
  };
}

function define(server: McpServer): McpServer {
  server.tool("stores", { task: "optional" }, (_: unknown, ctx: Context) => ctx.state(count).set(1));
  server.tool("steps", { task: "optional" }, (_: unknown, ctx: Context) =>
    ctx.step("s", () => ctx.state(count).set(1)),
  );
  server.tool("asks", (_: unknown, ctx: Context) => ctx.elicit("Where?", FORM));
  server.tool("later", { task: "optional" }, async (_: unknown, ctx: Context) => {
    const failure = await ctx.step("s", () => ctx.state(count).set(1)).catch((error: unknown) => error);
    await ctx.elicit("Where?", FORM, { key: "where" });
    throw failure;
  });
  return server;
}

function open() {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  let failure: ClusterFailure = "unavailable";
  const cluster = createMemoryState().node();
  const used = replaceParts(
    cluster,
    failing(cluster, () => failure),
  );
  const server = define(
    new McpServer({ name: "harbour", version: "1" }, { cluster: used, stateKeys, onError, http: { gate } }),
  );
  const fail = (kind: ClusterFailure) => {
    failure = kind;
  };
  return { server, errors, fail };
}

async function assertTold({ connect }: World, tools: readonly string[]): Promise<void> {
  const { server, errors, fail } = open();
  const client = await connect(server, { onElicit: () => ({ action: "accept", content: {} }) });
  for (const [failure, told] of KINDS)
    for (const name of tools) {
      fail(failure);
      const result = await client.callTool(name as never);
      equal(result.isError, true, name);
      match(result.text ?? "", told, `${name}: ${failure}`);
      doesNotMatch(JSON.stringify(result), LEAKS);
      match(String(errors.at(-1)), /db\.internal/, "the author is told");
    }
}

verifies("cluster:engine-away:handlers", "values and steps", eachWire, (world) =>
  assertTold(world, ["stores", "steps"]),
);
verifies("cluster:engine-away:handlers", "questions", legacyHttp, (world) => assertTold(world, ["asks"]));

proves("cluster:engine-away:handlers", {}, "in tasks, also in a step that is replayed", async (t) => {
  for (const [failure, told] of KINDS) {
    const world = new TaskNodes(t);
    const cluster = world.state.node();
    const used = replaceParts(
      cluster,
      failing(cluster, () => failure),
    );
    const server = { cluster: used, stateKeys, http: { gate } };
    const node = world.node((server) => void define(server), { server });
    for (const name of ["stores", "steps", "later"]) {
      const taskId = await node.client.start(name);
      const ends = (...statuses: string[]) =>
        world.until(name, async () => statuses.includes((await node.client.get(taskId)).status));
      if (name === "later") {
        await ends("input_required");
        await node.client.update(taskId, { where: accept({ city: "Oslo" }) });
      }
      await ends("completed", "failed");
      const task = await node.client.get(taskId);
      deepEqual([task.status, task.result?.isError], ["completed", true], JSON.stringify(task));
      match(JSON.stringify(task.result?.content), new RegExp(told.source.replace("$", "")));
      doesNotMatch(JSON.stringify(task), LEAKS);
      match(node.errors.map(String).join(), /db\.internal/, "the author is told");
    }
  }
});
