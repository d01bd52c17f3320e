import type { HttpExchange } from "../../../../http/exchange.js";
import { SseConnection } from "../../../../http/sse/connection.js";
import type { FollowingSession } from "../shared-sessions.js";
import type { SessionLog } from "./session-log.js";

/**
 * Answers an exchange with the events of a stream that another process writes, from the log, until the stream or the
 * session ends. Returns when the response has begun.
 */
export function followStream(
  log: SessionLog,
  session: FollowingSession,
  exchange: HttpExchange,
  streamId: string,
  after: string,
): void {
  if (exchange.answered) return;
  const { clock, keepAlive, limits, primes, sessionId } = session;
  const stopped = new AbortController();
  const stop = () => stopped.abort();
  const connection = new SseConnection(exchange, { clock, keepAlive, limits, onGone: stop });
  const lifeMs = session.followLifeOf(exchange);
  const old = lifeMs === undefined ? undefined : clock.schedule(stop, lifeMs);
  session.followers.add(stop);
  session.onConnected();
  const copy = async () => {
    for await (const { id, data } of log.follow(sessionId, streamId, after, stopped.signal)) {
      if (primes || data !== "") connection.write({ id, data });
      await connection.drained;
    }
  };
  copy()
    .catch((error: unknown) => session.report(error))
    .finally(() => {
      clock.cancel(old);
      session.followers.delete(stop);
      connection.end();
      session.onDisconnected();
    });
}
