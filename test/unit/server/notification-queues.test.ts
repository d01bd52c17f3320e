import { deepEqual, equal, match } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { withJsonSchema } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import type { StandardSchema } from "#src/schema/standard-schema.js";
import { LegacyEndpoint, settle, status, until } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";

const NAME = "notifications/com.example/note";

/** A check that takes as long as a test likes, of what says that it is slow. */
function createWorld(t: TestContext, limits: object = {}) {
  const heard: unknown[] = [];
  const endpoint = new LegacyEndpoint({}, { limits });
  const release: (() => void)[] = [];
  const schema = withJsonSchema(
    {
      "~standard": {
        version: 1,
        vendor: "test",
        validate: (value: unknown) => {
          const { slow } = value as { slow?: boolean };
          return slow ? new Promise((resolve) => release.push(() => resolve({ value }))) : { value };
        },
      },
    } as StandardSchema,
    { type: "object" },
  );
  endpoint.server.onNotification(NAME, { params: schema }, async (params) => {
    heard.push((params as { n: number }).n);
    if ((params as { hangs?: boolean }).hangs) await new Promise<void>((resolve) => release.push(resolve));
  });
  t.after(() => endpoint.server.close());
  const reports = () => endpoint.reports.filter(({ where }) => where === "notification");
  return { endpoint, heard, release, reports };
}

const note = (params: object) => ({ jsonrpc: "2.0", method: NAME, params });

test("a check that never settles holds up the notifications of its own session alone", async (t) => {
  const { endpoint, heard, release } = createWorld(t);
  const [stuck, other] = [await endpoint.open(), await endpoint.open()];
  await status(stuck.post(note({ n: 1, slow: true })), 202);
  await status(stuck.post(note({ n: 2 })), 202);
  await status(other.post(note({ n: 3 })), 202);
  await settle();
  deepEqual(heard, [3]);
  for (const next of release) next();
  await until(() => heard.length === 3);
  deepEqual(heard, [3, 1, 2], "a session's own keep their order");
});

test("a check that never settles holds up nobody where each request stands alone", async (t) => {
  const { endpoint, heard } = createWorld(t);
  for (const params of [{ n: 1, slow: true }, { n: 2 }]) {
    const { body, headers } = modernRequest(NAME, { params });
    const { id: _, ...notification } = body;
    await status(endpoint.send("POST", notification, { headers }), 202);
  }
  await settle();
  deepEqual(heard, [2]);
});

test("a check that never settles holds up the notifications of its own channel alone", async (t) => {
  const { endpoint, heard } = createWorld(t);
  const channels = [createChannelPair(), createChannelPair()];
  for (const [ours, theirs] of channels) {
    await ours.open({ onFrame: () => {}, onProblem: () => {}, onClose: () => {} });
    await endpoint.server.accept(theirs);
  }
  const [stuck, other] = channels.map(([ours]) => ours);
  await stuck?.send(JSON.stringify(note({ n: 1, slow: true })));
  await stuck?.send(JSON.stringify(note({ n: 2 })));
  await other?.send(JSON.stringify(note({ n: 3 })));
  await until(() => heard.length > 0);
  await settle();
  deepEqual(heard, [3]);
});

for (const fault of ["slow", "hangs"]) {
  test(`the newest of too many notifications are dropped, and that is told once (${fault})`, async (t) => {
    const { endpoint, heard, release, reports } = createWorld(t, { maxWaitingNotifications: 3 });
    const client = await endpoint.open();
    for (let n = 0; n < 10; n++) await status(client.post(note({ n, [fault]: true })), 202);
    await settle();
    equal(reports().length, 1);
    match(String(reports()[0]?.error), /limits\.maxWaitingNotifications/);
    for (const next of release.splice(0)) next();
    await until(() => heard.length === 3);
    deepEqual(heard, [0, 1, 2]);
    await settle();
    await status(client.post(note({ n: 10 })), 202);
    await settle();
    deepEqual(heard, [0, 1, 2, 10]);
    equal(reports().length, 1);
  });
}

test("where each request stands alone, so many notifications are handled at once as calls may run", async (t) => {
  const { endpoint, heard, release } = createWorld(t, { maxCalls: 3 });
  const send = (n: number) => {
    const { body, headers } = modernRequest(NAME, { params: { n, hangs: true } });
    const { id: _, ...notification } = body;
    return status(endpoint.send("POST", notification, { headers }), 202);
  };
  for (let n = 0; n < 10; n++) await send(n);
  deepEqual([heard, endpoint.server.stats().refused], [[0, 1, 2], 7]);
  for (const next of release.splice(0)) next();
  await settle();
  await send(10);
  deepEqual(heard, [0, 1, 2, 10]);
});
