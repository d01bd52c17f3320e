import type { HttpExchange } from "../../../../http/exchange.js";
import { SseConnection } from "../../../../http/sse/connection.js";
import { toEventId } from "../event-id.js";
import type { FollowingSession, StreamPosition } from "../shared-sessions.js";
import type { SessionLog } from "./session-log.js";

/**
 * Answers an exchange with the events of a stream that another process writes, from the log, until the stream or the
 * session ends. A newer connection of this process to the stream ends it as well. Returns when the response has begun.
 */
export function followStream(
  log: SessionLog,
  session: FollowingSession,
  exchange: HttpExchange,
  { streamId, after }: StreamPosition,
): void {
  if (exchange.answered) return;
  const { clock, keepAlive, limits, primes, sessionId } = session;
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  const connection = new SseConnection(exchange, { clock, keepAlive, limits, onGone: stop });
  const lifeMs = session.followLifeOf(exchange);
  const old = lifeMs === undefined ? undefined : clock.schedule(stop, lifeMs);
  session.followers.get(streamId)?.();
  session.followers.set(streamId, stop);
  session.onConnected();
  const write = (id: string, data: string) => {
    if (primes || data !== "") connection.write({ id: toEventId(streamId, id), data });
  };
  const copy = async () => {
    // As in `SessionStream`: some clients forget their position when they resume.
    write(after, "");
    for await (const { id, data } of log.follow(sessionId, streamId, after, stopped.signal)) {
      write(id, data);
      await connection.drained;
    }
  };
  copy()
    .catch((error: unknown) => session.report(error))
    .finally(() => {
      clock.cancel(old);
      if (session.followers.get(streamId) === stop) session.followers.delete(streamId);
      connection.end();
      session.onDisconnected();
    });
}
