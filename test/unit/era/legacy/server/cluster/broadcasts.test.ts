import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { Broadcasts } from "#src/era/legacy/server/cluster/broadcasts.js";
import type { Numbers } from "#src/era/legacy/server/cluster/stream-takeover.js";
import type { HttpSession } from "#src/era/legacy/server/http-session.js";
import type { BroadcastId } from "#src/era/legacy/server/shared-sessions.js";
import { FakeClock } from "../../../../../support/fake-clock.js";

const message = { level: "info", data: "tide" } as const;

/** Messages to all clients as a process without sessions sees them. `told` has what it tells the others. */
function createBroadcasts() {
  const clock = new FakeClock();
  const sessions = new Map<string, HttpSession>();
  const told: (readonly (readonly [string, number])[])[] = [];
  const broadcasts = new Broadcasts({
    node: "own",
    clock,
    local: (session) => sessions.get(session),
    sessions: () => sessions.values(),
    tell: (_session, numbers: Numbers) => void told.push([...numbers]),
    onSilent: () => {},
  });
  const serve = (sessionId: string) => {
    const written: string[] = [];
    const log = (_: unknown, { from, number }: BroadcastId) => void written.push(`${from} ${number}`);
    const protocol = { isReady: true, log };
    sessions.set(sessionId, { sessionId, protocol } as unknown as HttpSession);
    return written;
  };
  return { clock, broadcasts, told, serve };
}

test("a message that could not be stored is not kept for a session that has left the process", async () => {
  const { broadcasts, told, serve } = createBroadcasts();
  broadcasts.receive({ from: "north", number: 3 }, message);
  broadcasts.onUnwritten("s", { from: "north", number: 3 });
  serve("s");
  await broadcasts.release("s", Promise.resolve());
  deepEqual(told, [[["north", 3]]]);
});

test("a takeover is forgotten although the former writer never told what it had written", async () => {
  const { clock, broadcasts, told, serve } = createBroadcasts();
  serve("s");
  broadcasts.begin("s");
  broadcasts.taken("s", { name: "south" });
  await broadcasts.release("s", Promise.resolve());
  clock.advance(10_001);
  broadcasts.receive({ from: "north", number: 1 }, message);
  broadcasts.onTold("s", "south", new Map([["north", 1]]));
  deepEqual(told, []);
});

test("a process that took a stream over and lost it tells what the former writer tells", async () => {
  const { broadcasts, told, serve } = createBroadcasts();
  serve("s");
  broadcasts.begin("s");
  broadcasts.taken("s", { name: "south" });
  broadcasts.receive({ from: "north", number: 2 }, message);
  await broadcasts.release("s", Promise.resolve());
  broadcasts.onTold("s", "south", new Map([["north", 1]]));
  deepEqual(told, [[["north", 1]]]);
});

test("a process that was overtaken while it took a stream over tells what the former writer tells, before or after", async () => {
  const { broadcasts, told, serve } = createBroadcasts();
  serve("s");
  broadcasts.begin("s");
  broadcasts.lose("s", { name: "south" });
  broadcasts.onTold("s", "south", new Map([["north", 1]]));
  broadcasts.begin("s");
  broadcasts.onTold("s", "south", new Map([["north", 2]]));
  broadcasts.onTold("s", "east", new Map([["north", 9]]));
  broadcasts.lose("s", { name: "south" });
  deepEqual(told, [[["north", 1]], [["north", 2]]]);
});

test("a process whose stream is released before it knows the former writer tells what that one tells", async () => {
  const { broadcasts, told, serve } = createBroadcasts();
  serve("s");
  broadcasts.begin("s");
  broadcasts.onTold("s", "south", new Map([["north", 1]]));
  await broadcasts.release("s", Promise.resolve());
  deepEqual(told, []);
  broadcasts.taken("s", { name: "south" });
  deepEqual(told, [[["north", 1]]]);
});

test("the new writer writes what the former one has not written, each message once", async () => {
  const { clock, broadcasts, serve } = createBroadcasts();
  const written = serve("s");
  broadcasts.receive({ from: "north", number: 1 }, message);
  broadcasts.receive({ from: "north", number: 2 }, message);
  broadcasts.begin("s");
  broadcasts.receive({ from: "north", number: 3 }, message);
  broadcasts.taken("s", { name: "south" });
  broadcasts.receive({ from: "north", number: 4 }, message);
  deepEqual(written.splice(0), ["north 1", "north 2"]);
  clock.advance(1_000);
  deepEqual(written.splice(0), ["north 3", "north 4"]);
  broadcasts.onTold("s", "south", new Map([["north", 1]]));
  broadcasts.receive({ from: "north", number: 5 }, message);
  deepEqual(written, ["north 2", "north 5"]);
});
