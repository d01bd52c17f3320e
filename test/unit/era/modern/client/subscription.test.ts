import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "bowline/testing";
import { CallLifetime } from "#src/call/lifetime.js";
import { ListenSubscriptions } from "#src/era/modern/client/subscription.js";
import { SUBSCRIPTION_KEY } from "#src/era/modern/envelope.js";
import type { ClientTransport, TransportRequest } from "#src/era/transport.js";

/** Opens a subscription at a server that acknowledges it. Returns it with its events. */
async function open() {
  const clock = new FakeClock();
  let lose: (reason: Error) => void = () => {};
  const transport = {
    request: ({ onId }: TransportRequest, life: CallLifetime) =>
      new Promise((_, reject) => {
        lose = reject;
        life.onAbort(reject);
        onId?.(1);
      }),
  } as unknown as ClientTransport;
  const subscriptions = new ListenSubscriptions(transport, clock);
  const receive = (method: string, params: object = {}) =>
    subscriptions.receive({ jsonrpc: "2.0", method, params: { ...params, _meta: { [SUBSCRIPTION_KEY]: 1 } } });
  const seen: string[] = [];
  const events = {
    onChange: ({ kind }: { kind: string }) => seen.push(kind),
    onMissed: () => seen.push("missed"),
    onEnd: (how: string) => seen.push(how),
  };
  const notifications = { toolsListChanged: true };
  const opening = subscriptions.listen({ notifications }, events, new CallLifetime("watch", {}, clock));
  receive("notifications/subscriptions/acknowledged", { notifications });
  const subscription = await opening;
  const change = () => receive("notifications/tools/list_changed");
  change();
  deepEqual(seen.splice(0), ["tools"]);
  return { subscription, seen, change, lose };
}

test("a subscription that its owner closes reports no change and no end", async () => {
  const { subscription, seen, change } = await open();
  subscription.close();
  change();
  await turn();
  deepEqual(seen, []);
});

test("a subscription that is lost reports its end once", async () => {
  const { subscription, seen, change, lose } = await open();
  lose(new Error("cut"));
  await turn();
  change();
  subscription.close();
  await turn();
  equal(seen.join(), "lost");
});
