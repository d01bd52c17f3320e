import { messageOf as reasonOf } from "../../protocol/text.js";
import { type Asked, programsOf, type Recorded } from "../exchanges.js";
import type { IdleStream } from "../http-facts.js";
import { isAnswer, messageIn } from "../log.js";
import type { Network } from "../network.js";
import type { Session } from "../session.js";

const SESSION = "mcp-session-id";
/** Time for which a stream is observed. Gateways cut idle streams after 30 to 100 s. */
const OBSERVED_MS = 125_000;

/** Opens the streams on which a server sends by itself, and watches what happens while it has nothing to send. */
export async function observeIdle(
  session: Session,
  network: Network,
  posts: readonly Recorded[],
): Promise<readonly IdleStream[]> {
  const observed = streamsOf(posts).map((asked) => observe(session, network, asked));
  return (await Promise.all(observed)).flatMap((stream) => stream ?? []);
}

/** Returns the requests that open streams: a GET in a session, and a subscription. */
function streamsOf(posts: readonly Recorded[]): readonly Asked[] {
  const inside = posts.findLast(({ asked }) => SESSION in asked.headers)?.asked;
  const outside = posts.find(({ asked, headers }) => !(SESSION in asked.headers) && !(SESSION in headers));
  const streams: Asked[] = [];
  if (inside !== undefined) {
    const { "content-type": _, ...headers } = inside.headers;
    streams.push({ method: "GET", url: inside.url, headers: { ...headers, accept: "text/event-stream" } });
  }
  if (outside?.asked.headers["mcp-method"] !== undefined) {
    const { asked, message } = outside;
    const method = "subscriptions/listen";
    const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    const params = { ...(message.params as object | undefined), notifications };
    const headers = { ...asked.headers, "mcp-method": method };
    streams.push({ ...asked, headers, body: JSON.stringify({ ...message, method, params }) });
  }
  return streams;
}

/** Watches a stream. Returns undefined if there is none, or if the server ended it by an answer. */
async function observe(
  session: Session,
  network: Network,
  { method = "POST", url, headers, body }: Asked,
): Promise<IdleStream | undefined> {
  const { subject, log } = session;
  const { clock } = subject;
  const mark = log.mark;
  const { c, fetch } = session.fetch(network.fetch);
  const end = new AbortController();
  const signal = subject.signal === undefined ? end.signal : AbortSignal.any([end.signal, subject.signal]);
  const timer = clock.schedule(() => end.abort(), OBSERVED_MS);
  const began = clock.now();
  let last = began;
  let silenceMs = 0;
  const heard = () => {
    silenceMs = Math.max(silenceMs, clock.now() - last);
    last = clock.now();
  };
  let told: Headers | undefined;
  let reason: string | undefined;
  try {
    const response = await fetch(url, {
      method,
      headers,
      signal,
      redirect: "manual",
      ...(body !== undefined && { body }),
    });
    told = response.headers;
    const isStream = told.get("content-type")?.startsWith("text/event-stream") === true;
    if (response.status !== 200 || !isStream || response.body === null) {
      await response.body?.cancel().catch(() => {});
      return undefined;
    }
    const reader = response.body.getReader();
    while (!(await reader.read()).done) heard();
  } catch (error) {
    subject.signal?.throwIfAborted();
    reason = reasonOf(error);
  } finally {
    clock.cancel(timer);
  }
  heard();
  const events = log.since(mark, c);
  const isAnswered = events.some((one) => isAnswer(messageIn(one, "<") ?? { method: "" }));
  if (told === undefined || isAnswered) return undefined;
  return {
    request: method === "GET" ? "GET" : "subscriptions/listen",
    silenceMs,
    endedMs: end.signal.aborted ? undefined : clock.now() - began,
    reason,
    by: programsOf(Object.fromEntries(told)),
    lines: events.filter(({ event }) => event.k === "response" || event.k === "end").map(({ line }) => line),
  };
}
