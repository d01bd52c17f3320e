import { deepEqual, equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Context } from "bowline/server";
import { blocks, type LegacyClient, messages, settle, status } from "../../support/legacy-endpoint.js";
import { at, type Node, NodesWorld } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";

/** Two nodes of an engine that begins without state. Sessions are named in the order in which they are opened. */
function open(t: TestContext): readonly [Node, Node] {
  let sessions = 0;
  const world = new NodesWorld(t, { resumable: true, sessions: { createId: () => `s${++sessions}` } });
  const node = () =>
    world.node(({ server }) => {
      server.tool("count", {}, async (_: unknown, ctx: Context) => {
        for (let step = 1; step <= 3; step++) await ctx.progress(step, 3);
        return "counted";
      });
    });
  return [node(), node()];
}

/** Makes a call, and returns the ids of its events. */
async function idsOf(client: LegacyClient, id: number): Promise<string[]> {
  const call = client.call(id, "count");
  await call.done;
  return blocks(call).flatMap(({ id }) => (id === undefined ? [] : [id]));
}

/** The id without the part that is random. */
const numberOf = (id: string) => id.slice(0, id.lastIndexOf("-"));

proves(
  "cluster:stream:event-ids",
  { wire },
  "no id means another event after the engine has lost what it had confirmed",
  async (t) => {
    const [before] = open(t);
    const lost = await idsOf(await before.endpoint.open(), 1);
    // The engine of the same processes, after it has lost everything.
    const [one, other] = open(t);
    const client = await one.endpoint.open();
    const ids = await idsOf(client, 2);
    deepEqual(ids.map(numberOf), lost.map(numberOf), "the numbers alone would be ambiguous");
    equal(new Set([...ids, ...lost]).size, 2 * ids.length);
    for (const node of [one, other]) {
      for (const id of lost) {
        const resumed = await status(at(node, client).get(id), 204);
        equal(resumed.body(), "");
      }
      const resumed = at(node, client).get(ids[0]);
      await resumed.done;
      deepEqual(
        messages(resumed).map(({ method, id }) => method ?? id),
        [...Array(ids.length - 2).fill("notifications/progress"), 2],
      );
    }
  },
);

proves("cluster:stream:event-ids", { wire }, "an id of another session is unknown", async (t) => {
  const [one, other] = open(t);
  const [owner, stranger] = [await one.endpoint.open(), await one.endpoint.open()];
  const ids = await idsOf(owner, 1);
  await idsOf(stranger, 1);
  await settle();
  for (const node of [one, other])
    for (const id of ids) equal((await status(at(node, stranger).get(id), 204)).body(), "");
});
