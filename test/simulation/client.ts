import type { Message } from "./history.js";
import type { SseEvent } from "./http.js";
import { RESOURCES, SESSION_CACHE_MS } from "./node.js";
import { ClientSession } from "./session.js";
import type { World } from "./world.js";

/** Uses sessions one after another until the run closes. All sessions of all clients are in `sessions`. */
export async function runClient(world: World, principal: string, sessions: ClientSession[]): Promise<void> {
  await world.sleep(world.dice.between(0, 500));
  while (!world.isClosing) {
    const session = await open(world, principal);
    if (session === undefined) {
      await world.sleep(world.dice.between(20, 500));
      continue;
    }
    sessions.push(session);
    await use(world, session, sessions);
  }
}

/** Shakes hands. Returns undefined if the client has no session afterwards. */
async function open(world: World, principal: string): Promise<ClientSession | undefined> {
  const protocolVersion = world.dice.chance(80) ? "2025-11-25" : "2025-06-18";
  const params = { protocolVersion, capabilities: { elicitation: {} }, clientInfo: { name: "c", version: "1" } };
  let isDone = false;
  const onEvent = ({ data }: SseEvent) => {
    if (data !== "" && (JSON.parse(data) as Message).result !== undefined) isDone = true;
  };
  const beganAt = world.now();
  const message = { id: 0, method: "initialize", params };
  const flight = await world.send({ method: "POST", principal, message, onEvent });
  const head = await flight?.head;
  if (head === undefined) return undefined;
  await flight?.over;
  const id = head.headers["mcp-session-id"];
  if (head.status !== 200 && !(head.status === 503 && world.wasTroubled(beganAt)))
    world.history.violate("serves", `the handshake of ${principal} gets ${head.status}`);
  if (head.status !== 200 || !isDone || id === undefined) return undefined;
  const session = new ClientSession(world, world.history.session(id, principal));
  world.history.count("sessions");
  const ready = { method: "POST", principal, session: id, message: { method: "notifications/initialized" } } as const;
  const taken = await world.insist(ready, () => true);
  if (taken !== undefined && taken.head.status !== 202)
    world.history.violate("live session", `initialized of ${id} gets ${taken.head.status}`);
  return session;
}

async function use(world: World, session: ClientSession, sessions: readonly ClientSession[]): Promise<void> {
  const { dice } = world;
  if (dice.chance(70)) {
    session.listen();
    for (const uri of RESOURCES) if (dice.chance(60)) session.watch(uri);
  }
  for (let left = dice.whole(2, 7); left > 0 && session.isOpen && !world.isClosing; left--) {
    act(world, session, sessions);
    await world.sleep(dice.chance(70) ? dice.between(1, 600) : dice.between(1, 4_000));
  }
  // Some sessions end while their calls run.
  if (!dice.chance(20)) await Promise.all(session.calls);
  await finish(world, session);
}

/** Begins one action of a client. */
function act(world: World, session: ClientSession, sessions: readonly ClientSession[]): void {
  const { dice } = world;
  const kind = dice.below(100);
  if (kind < 25) session.call("echo", 0, 0);
  else if (kind < 45) session.call("work", dice.whole(1, 6), dice.between(1, 400));
  else if (kind < 55) session.call("work", dice.whole(2, 4), dice.between(500, 4_000));
  else if (kind < 80) session.call("ask", 0, 0);
  else if (kind < 90) cancelLater(world, session);
  else if (kind < 95) session.watch(dice.pick(RESOURCES), dice.chance(60));
  else steal(world, session, dice.pick(sessions));
}

async function cancelLater(world: World, session: ClientSession): Promise<void> {
  const { dice } = world;
  const call = session.call(dice.chance(50) ? "work" : "ask", 8, 200);
  await world.sleep(dice.between(0, 1_200));
  await session.cancel(call);
}

/** Uses the session of another client, which must not work, and gives a false answer to its question. */
async function steal(world: World, own: ClientSession, other: ClientSession): Promise<void> {
  const { principal } = own.record;
  const question = other.questions.at(-1);
  if (question !== undefined && other !== own) {
    const message = { id: question, result: { action: "accept", content: { value: "stolen" } } };
    await world.send({ method: "POST", principal, session: own.record.id, message });
  }
  if (other.record.principal === principal) return;
  const beganAt = world.now();
  const message = { id: 1, method: "tools/list", params: {} };
  const flight = await world.send({ method: "POST", principal, session: other.record.id, message });
  const head = await flight?.head;
  world.history.count("thefts");
  if (head !== undefined && head.status !== 404 && !(head.status === 503 && world.wasTroubled(beganAt)))
    world.history.violate("own principal", `${principal} gets ${head.status} for a session of another`);
}

/** Ends a session, leaves it to expire, or keeps it until the run closes. */
export async function finish(world: World, session: ClientSession): Promise<void> {
  const { dice } = world;
  const kind = dice.below(10);
  if (kind < 5 || world.isClosing) {
    await session.delete();
    for (let left = dice.below(4); left > 0; left--) await haunt(world, session);
  } else if (kind < 8) session.leave();
  else while (!world.isClosing) await world.sleep(500);
}

/** Uses a session after its end. */
async function haunt(world: World, session: ClientSession): Promise<void> {
  const { record } = session;
  await world.sleep(world.dice.between(0, 2 * SESSION_CACHE_MS));
  const call = world.history.call(record, "echo", 1_000, "ghost", 0);
  call.settled = "ghost";
  call.isRead = true;
  world.history.count("requests after the end");
  const params = { name: "echo", arguments: { call: call.number, stepMs: 0 } };
  const message = { id: world.history.calls.length + 1_000, method: "tools/call", params };
  await world.send({ method: "POST", principal: record.principal, session: record.id, message });
}
