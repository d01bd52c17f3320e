import type { LogEntry } from "#src/cluster/cluster.js";
import type { SimEngine } from "./engine/engine.js";
import { SESSION_CACHE_MS } from "./node.js";
import type { World } from "./world.js";

/** Time in which a change or a message reaches a client of a deployment without faults. */
const ARRIVAL_MS = 5_000;

/** Checks what must hold some time after the last fault. */
export function checkSettled(world: World, engine: SimEngine, isCalm: boolean): void {
  const { history } = world;
  for (const call of history.calls) {
    if (call.settled === undefined)
      history.violate("settles", `call ${call.number} (${call.kind}) of ${call.session.id} never settles`);
    else if (!call.isRead && call.cancelledAt === undefined)
      history.violate("streams end", `the stream of call ${call.number}, which is ${call.settled}, does not end`);
    const { run, cancelledAt } = call;
    if (isCalm && cancelledAt !== undefined && run !== undefined && run.endedAt === undefined)
      history.violate("cancels", `call ${call.number} runs on after its cancellation`);
  }
  checkWatches(world);
  if (world.isResumable) checkEvents(world, engine);
  if (isCalm) checkBroadcasts(world);
}

/** Between the first and the last event that a client got on its stream, it got each one that is stored. */
function checkEvents({ history }: World, engine: SimEngine): void {
  for (const { id, events } of history.sessions.values()) {
    const stored = engine.entriesOf(`session:${id}`, "get").filter(({ data }) => data !== "");
    const isHeard = (entry: LogEntry | undefined) => entry !== undefined && events.has(`g${entry.id}`);
    const missed = stored.slice(stored.findIndex(isHeard), stored.findLastIndex(isHeard) + 1);
    for (const entry of missed)
      if (!isHeard(entry)) history.violate("none missing", `${id} does not get event ${entry.id}: ${entry.data}`);
  }
}

/** Each change after the client has begun to watch must be followed by a message about it. */
function checkWatches(world: World): void {
  const { history } = world;
  const latest = world.now() - ARRIVAL_MS;
  for (const session of history.sessions.values()) {
    if (session.endedAt !== undefined || session.isLeft || session.isEnding) continue;
    for (const [uri, since] of session.watched) {
      const from = Math.max(since, session.listensSince + SESSION_CACHE_MS);
      const change = history.changes.findLast((change) => change.uri === uri && change.at > from && change.at < latest);
      if (change !== undefined && (session.updates.get(uri) ?? 0) < change.at)
        history.violate("changes", `${session.id} is not told of the change of ${uri} at ${change.at}`);
    }
  }
}

/** Without faults each broadcast reaches each client that listens. */
function checkBroadcasts(world: World): void {
  const { history } = world;
  const latest = world.now() - ARRIVAL_MS;
  for (const session of history.sessions.values()) {
    if (session.endedAt !== undefined || session.isLeft || session.isEnding) continue;
    for (const { from, number, at } of history.broadcasts) {
      if (at < session.listensSince + SESSION_CACHE_MS || at > latest) continue;
      if (session.broadcasts.get(from)?.includes(number) !== true)
        history.violate("broadcasts", `${session.id} does not get broadcast ${number} of ${from}`);
    }
  }
}

/** Checks that nothing is left after all sessions have ended. */
export function checkLeftovers(world: World, engine: SimEngine): void {
  for (const leftover of findLeftovers(world, engine)) world.history.violate("nothing left", leftover);
}

/** Describes what is left of the sessions. */
export function findLeftovers({ history, nodes }: World, engine: SimEngine): readonly string[] {
  const found: string[] = [];
  for (const { server, name } of nodes) {
    const { sessions = 0, streams = 0, running = 0, openRequests = 0 } = server.stats();
    if (sessions + streams + running + openRequests > 0) found.push(`${name} has ${JSON.stringify(server.stats())}`);
  }
  const keys = engine.records.map(({ key }) => key).filter((key) => !/^(nodes|lease)\//.test(key));
  if (keys.length > 0) found.push(`the engine keeps the records ${keys.join(", ")}`);
  if (engine.logs.length > 0) found.push(`the engine keeps the logs ${engine.logs.join(", ")}`);
  // A process that ends does not learn if it has deleted the record of a session last.
  const mayMiss = (history.counts["faults crash"] ?? 0) + (history.counts["faults drain"] ?? 0) > 0;
  for (const id of history.opens.keys()) {
    const ends = history.ends.get(id) ?? 0;
    const isMissed = ends === 0 && !mayMiss && history.sessions.has(id);
    if (ends > 1 || isMissed) found.push(`onEnd of ${id} is called ${ends} times`);
  }
  return found;
}
