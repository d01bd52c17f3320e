import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { RetryWaits } from "#src/call/backoff.js";
import { CallLifetime } from "#src/call/lifetime.js";
import { RestartingConnection } from "#src/client/connections/restarting.js";
import { ResilientSubscription, type SubscriptionRuntime } from "#src/client/subscriptions/resilient.js";
import type { ClientRuntime, Connection, Subscription, WatchEvents } from "#src/era/client-era.js";
import { ConnectionError } from "#src/protocol/errors.js";
import { aborted, gate } from "../../../support/gate.js";
import { RawServer } from "../../../support/server-script.js";

const filter = { toolsListChanged: true };
const subscription = { honoured: filter, close: async () => {} } as unknown as Subscription;
const events = (told: string[]): WatchEvents => ({
  onChange: () => {},
  onMissed: () => void told.push("missed"),
  onEnd: (how) => void told.push(how),
});

test("a subscription whose first attempt fails is not made again, also where it was told to be lost before", async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const host: SubscriptionRuntime = {
    clock,
    waits: new RetryWaits(),
    listening: new Set(),
    listen: async () => {
      told.push("again");
      return subscription;
    },
  };
  const first: SubscriptionRuntime["listen"] = async (_filter, inner) => {
    inner.onEnd("lost", undefined);
    throw new Error("refused");
  };
  await rejects(ResilientSubscription.open(host, filter, events(told), {}, first), /refused/);
  equal(clock.pending, 0);
  clock.advance(60_000);
  await new Promise(setImmediate);
  deepEqual([told, host.listening.size], [[], 0]);
});

test("subscriptions that are lost with their acknowledgment count as attempts in vain", async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  let attempts = 0;
  const listen: SubscriptionRuntime["listen"] = async (_filter, inner) => {
    attempts++;
    inner.onEnd("lost", undefined);
    return subscription;
  };
  const host: SubscriptionRuntime = { clock, waits: new RetryWaits(), listening: new Set(), listen };
  let lose = () => {};
  await ResilientSubscription.open(host, filter, events(told), { attempts: 3 }, async (_filter, inner) => {
    lose = () => inner.onEnd("lost", undefined);
    return subscription;
  });
  clock.advance(60_000);
  lose();
  for (let round = 0; round < 20 && !told.includes("lost"); round++) {
    await new Promise(setImmediate);
    clock.advance(2000);
  }
  deepEqual([attempts, told.at(-1)], [3, "lost"]);
});

test("a server that answers calls but refuses to be listened to is asked ever less often, and when it wants to be", async () => {
  const clock = new FakeClock();
  const waits = new RetryWaits();
  let retryAfterMs: number | undefined = 20_000;
  let attempts = 0;
  const listen: SubscriptionRuntime["listen"] = async () => {
    attempts++;
    throw new ConnectionError("full", { status: 503, retryAfterMs });
  };
  const host: SubscriptionRuntime = { clock, waits, listening: new Set(), listen };
  let lose = () => {};
  const lasting = await ResilientSubscription.open(host, filter, events([]), {}, async (_filter, inner) => {
    lose = () => inner.onEnd("lost", undefined);
    return subscription;
  });
  lose();
  /** Attempts while calls succeed all the time. */
  const attemptsIn = async (ms: number) => {
    const before = attempts;
    for (let at = 0; at < ms; at += 50) {
      clock.advance(50);
      waits.end();
      await new Promise(setImmediate);
    }
    return attempts - before;
  };
  equal(await attemptsIn(300), 1);
  equal(await attemptsIn(19_000), 0);
  retryAfterMs = undefined;
  equal(await attemptsIn(2_000), 2);
  ok((await attemptsIn(60_000)) < 8);
  await lasting.close();
  equal(clock.pending, 0);
});

test("closing ends an attempt that is under way", async () => {
  const clock = new FakeClock();
  const trying = gate<AbortSignal>();
  const host: SubscriptionRuntime = {
    clock,
    waits: new RetryWaits(),
    listening: new Set(),
    listen: async (_filter, _events, options?: { signal?: AbortSignal }) => {
      const signal = options?.signal as AbortSignal;
      trying.open(signal);
      throw await aborted(signal);
    },
  };
  let lose = () => {};
  const lasting = await ResilientSubscription.open(host, filter, events([]), {}, async (_filter, inner) => {
    lose = () => inner.onEnd("lost", undefined);
    return subscription;
  });
  lose();
  clock.advance(250);
  const signal = await trying.opened;
  equal(signal.aborted, false);
  await lasting.close();
  equal(signal.aborted, true);
});

test("a watch of a server that is restarted when it dies hears that it ended with its beginning", async () => {
  const clock = new FakeClock();
  const told: string[] = [];
  const connection = {
    watch: async (_filter: unknown, inner: WatchEvents) => {
      inner.onEnd("graceful", undefined);
      return subscription;
    },
    close: async () => {},
  } as unknown as Connection;
  const kept = await RestartingConnection.open({ clock } as unknown as ClientRuntime, {}, async () => connection);
  await kept.watch(filter, events(told), new CallLifetime("watch", {}, clock));
  await new Promise(setImmediate);
  deepEqual(told, ["graceful"]);
});

test("a server that dies as it has been started again counts as an attempt that failed", async () => {
  const clock = new FakeClock();
  const made: Connection[] = [];
  const ended = gate<Error | undefined>();
  const hosts: ClientRuntime[] = [];
  const host = {
    clock,
    onProblem: () => {},
    onClose: (reason?: Error) => ended.open(reason),
  } as unknown as ClientRuntime;
  const kept = await RestartingConnection.open(host, { attempts: 2 }, async (inner, again) => {
    const connection = { prior: { era: "modern" }, close: async () => {} } as unknown as Connection;
    made.push(connection);
    hosts.push(inner);
    if (again !== undefined) inner.onClose(new Error("gone"), connection);
    return connection;
  });
  hosts[0]?.onClose(new Error("lost"), made[0] as Connection);
  while (made.length < 3) {
    await new Promise(setImmediate);
    clock.advance(1000);
  }
  equal((await ended.opened)?.name, "ConnectionError");
  await kept.close();
});

test("a watch that ends does not take along what a newer one subscribes to meanwhile", async (t) => {
  const [leaving, left] = [gate(), gate()];
  const told: string[] = [];
  const server = new RawServer({
    era: "legacy",
    capabilities: { resources: { subscribe: true } },
    handlers: {
      "resources/subscribe": ({ uri }) => {
        told.push(`+${uri}`);
        return {};
      },
      "resources/unsubscribe": async ({ uri }) => {
        told.push(`-${uri}`);
        leaving.open();
        await left.opened;
        return {};
      },
    },
  });
  const client = await server.connect(t);
  const first = await client.watch({ resources: ["note://1", "note://2"] });
  const closed = first.close();
  await leaving.opened;
  await client.watch({ resources: ["note://2"] });
  left.open();
  await closed;
  deepEqual(told, ["+note://1", "+note://2", "-note://1", "+note://2"]);
});
