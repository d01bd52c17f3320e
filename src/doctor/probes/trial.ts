import { pause } from "../../call/abortable.js";
import { isObject } from "../../protocol/json.js";
import type { Tool } from "../../protocol/types/index.js";
import type { CallFacts, CancelFacts, DrainFacts, EraFacts, TrialFacts } from "../facts.js";
import { isAnswer, type LoggedEvent, messageIn } from "../log.js";
import { type Link, type Session, START_MS } from "../session.js";

/** Longest call. */
const CALL_MS = 10 * 60_000;
/** A call that is quicker than this cannot be cancelled on purpose. */
const CANCELLABLE_MS = 60;
/** Longest time before a call is cancelled, and after it. */
const MOST_MS = 2_000;
/** Time in which messages may cross a cancellation. */
const CROSSING_MS = 250;

/** A call that was tried, with what is needed to make it again. */
export interface Tried {
  readonly facts: TrialFacts;
  readonly params: Readonly<Record<string, unknown>>;
}

/** Calls a tool to its end and, unless that was quick, once more to cancel it. */
export async function probeTrial(
  session: Session,
  link: Link,
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
): Promise<Tried> {
  const params = { name: tool.name, arguments: args };
  const call = await callTool(session, link, params);
  const cancelled = call.ms < CANCELLABLE_MS ? undefined : await cancelCall(session, link, params, call.ms);
  return { params, facts: { tool, call, ...(cancelled && { cancelled }) } };
}

async function callTool({ log }: Session, link: Link, params: Tried["params"]): Promise<CallFacts> {
  const mark = log.mark;
  const options = { timeoutMs: CALL_MS, deadlineMs: CALL_MS, onProgress: () => {} };
  const { result, error, failure, line, ms } = await link.ask("tools/call", params, options);
  const events = log.since(mark, link.c);
  const times = events.filter((one) => messageIn(one, "<") ?? messageIn(one, ">")).map(({ event }) => event.t / 1000);
  const silenceMs = Math.max(0, ...times.slice(1).map((time, index) => time - times[index]!));
  const token = tokenOf(events);
  const message = typeof error?.message === "string" ? error.message : failure?.message;
  return {
    ms,
    line,
    result,
    error: result === undefined ? message : undefined,
    silenceMs,
    token,
    progress: progressIn(events),
  };
}

async function cancelCall(
  { log, subject }: Session,
  link: Link,
  params: Tried["params"],
  ms: number,
): Promise<CancelFacts> {
  const mark = log.mark;
  const stop = new AbortController();
  const calling = link.ask("tools/call", params, { signal: stop.signal, onProgress: () => {} });
  await pause(subject.clock, Math.min(ms / 2, MOST_MS), subject.signal);
  stop.abort(new Error("cancelled by bowline doctor"));
  await calling;
  await pause(subject.clock, CROSSING_MS, subject.signal);
  const call = log.since(mark, link.c);
  const late = log.mark;
  await pause(subject.clock, Math.min(ms, MOST_MS), subject.signal);
  const pinged = await link.client?.ping({ timeoutMs: MOST_MS }).then(
    () => true,
    () => false,
  );
  const after = log.since(late, link.c);
  const token = tokenOf(call);
  const id = idOf(call);
  return {
    answers: after
      .filter((one) => messageIn(one, "<")?.id === id && isAnswer(messageIn(one, "<")!))
      .map(({ line }) => line),
    progress: progressIn(after).flatMap((one) => (one.token === token ? [one.line] : [])),
    isResponsive: pinged === true,
  };
}

/** Sends SIGTERM to a process of its own during a call. Undefined if the server is no process, or the call is quick. */
export async function probeDrain(
  session: Session,
  { versions }: EraFacts,
  { facts, params }: Tried,
): Promise<DrainFacts | undefined> {
  const { subject } = session;
  if (facts.call.ms < CANCELLABLE_MS) return undefined;
  if (subject.start === undefined && subject.service === undefined) return undefined;
  const link = await session.open({ versions, timeoutMs: START_MS });
  const running = subject.service ?? link.server;
  if (link.client === undefined || running === undefined) return undefined;
  // Some eras connect without a message, so that the process may not have begun to handle signals.
  await link.client.ping({ timeoutMs: CALL_MS });
  const calling = link.ask("tools/call", params, { timeoutMs: CALL_MS, onProgress: () => {} });
  await pause(subject.clock, Math.min(facts.call.ms / 2, MOST_MS), subject.signal);
  const began = subject.clock.now();
  const exit = running.terminate();
  const knocking = subject.url && knock(session, subject.url, exit);
  const { result, line } = await calling;
  const { code, signal, isForced } = await exit;
  const dropped = await knocking;
  const ms = isForced ? undefined : subject.clock.now() - began;
  return { answered: result !== undefined, ms, code, signal, line, ...(dropped !== undefined && { dropped }) };
}

/** Time between two connections. */
const KNOCK_MS = 20;

/** Connects again and again until a process has ended. Returns how many connections it accepted and closed without an answer. */
async function knock({ subject }: Session, url: URL, end: Promise<unknown>): Promise<number> {
  let hasEnded = false;
  void end.then(() => {
    hasEnded = true;
  });
  let dropped = 0;
  while (!hasEnded) {
    try {
      // A connection of its own: an old one would be closed by either side.
      const response = await fetch(url, { method: "OPTIONS", headers: { connection: "close" } });
      await response.body?.cancel();
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { readonly code?: string };
      if (code === "ECONNRESET" || code === "UND_ERR_SOCKET") dropped++;
    }
    await pause(subject.clock, KNOCK_MS, subject.signal);
  }
  return dropped;
}

function request(events: readonly LoggedEvent[]) {
  return events.map((one) => messageIn(one, ">")).find((message) => message?.method === "tools/call");
}

function idOf(events: readonly LoggedEvent[]): unknown {
  return request(events)?.id;
}

function tokenOf(events: readonly LoggedEvent[]): unknown {
  const params = request(events)?.params;
  const meta = isObject(params) ? params._meta : undefined;
  return isObject(meta) ? meta.progressToken : undefined;
}

function progressIn(events: readonly LoggedEvent[]): CallFacts["progress"] {
  return events.flatMap((one) => {
    const message = messageIn(one, "<");
    if (message?.method !== "notifications/progress" || !isObject(message.params)) return [];
    const { progressToken, progress } = message.params;
    return [{ token: progressToken, progress, line: one.line }];
  });
}
