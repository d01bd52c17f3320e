import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { isDone, LegacyEndpoint, messages, settle, status, textOf } from "../support/legacy-endpoint.js";

function create(preferJson: boolean) {
  const ran: unknown[] = [];
  const endpoint = new LegacyEndpoint({ preferJson });
  endpoint.server.tool("run", {}, (_, ctx) => {
    ran.push(ctx.requestId);
    return "ran";
  });
  return { endpoint, ran };
}

for (const preferJson of [false, true]) {
  const form = preferJson ? "as JSON" : "as a stream";

  test(`a cancellation that overtakes its request ends it before it begins, ${form}`, async () => {
    const { endpoint, ran } = create(preferJson);
    const client = await endpoint.open();
    await status(client.cancel(7, "changed my mind"), 202);
    const call = await status(client.call(7, "run"), preferJson ? 204 : 200);
    equal(call.body().includes("result"), false);
    await settle();
    deepEqual([ran, endpoint.stats.running, endpoint.stats.streams], [[], 0, 0]);
    // It counts once: the id is free again.
    const again = client.call(7, "run");
    await again.done;
    equal(textOf(messages(again).at(-1)), "ran");
  });

  test(`a cancellation that comes too late does not harm the id's next call, ${form}`, async () => {
    const { endpoint, ran } = create(preferJson);
    const client = await endpoint.open();
    await client.call(7, "run").done;
    await status(client.cancel(7), 202);
    const again = client.call(7, "run");
    equal(await isDone(again), true);
    equal(textOf(messages(again).at(-1)), "ran");
    deepEqual(ran, [7, 7]);
  });
}

test("what is remembered of cancellations is bounded", async () => {
  const { endpoint, ran } = create(false);
  const client = await endpoint.open();
  for (let id = 0; id < 1000; id++) await status(client.cancel(id), 202);
  await client.call(0, "run").done;
  await client.call(999, "run").done;
  deepEqual(ran, [0]);
});
