import type { Fetch } from "../http/client/send.js";
import { isObject } from "../protocol/json.js";
import { messageOf as reasonOf } from "../protocol/text.js";
import type { RecordingEvent } from "../recording/events.js";
import type { Heard } from "./http-facts.js";
import { isAnswer, type LoggedEvent, type Message, messageIn } from "./log.js";
import type { Network } from "./network.js";
import type { Session } from "./session.js";

/** HTTP request as a probe sends it. */
export interface Asked {
  /** @default "POST" */
  readonly method?: "POST" | "GET" | "OPTIONS" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes are not recorded. */
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
}

/** Request of a client, which probes repeat with one change. */
export type Sample = Asked & { readonly body: string };

/** Time for a response. */
const ANSWER_MS = 10_000;
/** Time that is spent on responses that do not come. After that, each has the least time. */
const PATIENCE_MS = 30_000;
const LEAST_MS = 2_000;
/** Most characters of a body that are read. */
const MAX_CHARS = 65_536;
const SESSION = "mcp-session-id";

/** Sends single HTTP requests, each of which is recorded as a connection of its own. */
export class Exchanges {
  readonly #session: Session;
  readonly #network: Network;
  #patience = PATIENCE_MS;

  constructor(session: Session, network: Network) {
    this.#session = session;
    this.#network = network;
  }

  /** Sends a request and reads the response, up to its JSON-RPC message. Ends the session that the response begins. */
  async ask(asked: Asked, by: Fetch = this.#network.fetch): Promise<Heard> {
    const heard = await this.#exchange(asked, by);
    const begun = heard.headers.get(SESSION);
    if (begun !== null && !(SESSION in asked.headers) && asked.method === undefined)
      await this.#exchange(
        { ...asked, method: "DELETE", headers: { ...asked.headers, [SESSION]: begun }, body: undefined },
        by,
      );
    return heard;
  }

  async #exchange({ method = "POST", url, headers, body }: Asked, by: Fetch): Promise<Heard> {
    const { subject, log } = this.#session;
    const mark = log.mark;
    const { c, fetch } = this.#session.fetch(by);
    const limit = new AbortController();
    const ms = Math.max(LEAST_MS, Math.min(ANSWER_MS, this.#patience));
    const late = () => {
      this.#patience -= ms;
      limit.abort(new DOMException(`no response within ${ms / 1000} s`, "TimeoutError"));
    };
    const timer = subject.clock.schedule(late, ms);
    const signal = subject.signal === undefined ? limit.signal : AbortSignal.any([limit.signal, subject.signal]);
    const lines = () => log.since(mark, c).flatMap(({ event, line }) => (isTelling(event) ? [line] : []));
    let response: Response | undefined;
    try {
      response = await fetch(url, { method, headers, signal, redirect: "manual", ...(body !== undefined && { body }) });
      const { text, message } = await readBody(response);
      return { status: response.status, headers: response.headers, text, message, failure: undefined, lines: lines() };
    } catch (error) {
      subject.signal?.throwIfAborted();
      const failure = { isLate: limit.signal.aborted, code: codeOf(error), message: deepest(error) };
      const { status, headers: told = new Headers() } = response ?? {};
      return { status, headers: told, text: "", message: undefined, failure, lines: lines() };
    } finally {
      subject.clock.cancel(timer);
    }
  }
}

/** True for the heads of an exchange, for what the server sent, and for an end that it did not want. */
function isTelling(event: RecordingEvent): boolean {
  if (event.k === "frame") return event.d === "<";
  return event.k === "request" || event.k === "response" || (event.k === "end" && event.by !== "server");
}

/** Reads a body to its end, to its JSON-RPC response, or to the limit. */
async function readBody({ body, headers }: Response): Promise<Pick<Heard, "text" | "message">> {
  if (body === null) return { text: "", message: undefined };
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") === true;
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let message: Message | undefined;
  while (message === undefined && text.length < MAX_CHARS) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    message = isStream ? answerOfStream(text) : done ? answerOf(text) : undefined;
    if (done) return { text, message };
  }
  await reader.cancel().catch(() => {});
  return { text, message };
}

function answerOfStream(text: string): Message | undefined {
  for (const block of text.split(/\r?\n\r?\n/).slice(0, -1)) {
    const data = [...block.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => line).join("\n");
    const message = answerOf(data);
    if (message !== undefined) return message;
  }
  return undefined;
}

function answerOf(text: string): Message | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isObject(json) && isAnswer(json) ? json : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the code of the error that is the cause of all others, as the platform tells it. */
function codeOf(error: unknown): string | undefined {
  const { code, cause, errors } = (error ?? {}) as { code?: unknown; cause?: unknown; errors?: readonly unknown[] };
  const inner = cause ?? errors?.[0];
  return (inner === undefined ? undefined : codeOf(inner)) ?? (typeof code === "string" ? code : undefined);
}

function deepest(error: unknown): string {
  const { cause } = (error ?? {}) as { cause?: unknown };
  return cause === undefined ? reasonOf(error) : deepest(cause);
}

/** An HTTP exchange of a connection, as it was recorded. */
export interface Recorded {
  readonly asked: Sample;
  readonly message: Message;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Messages of the response, with their times in microseconds. */
  readonly frames: readonly { readonly message: Message; readonly t: number; readonly line: number }[];
  /** Time of the request in microseconds. */
  readonly t: number;
  readonly line: number;
}

/** Returns the requests by POST in the traffic, with their responses. */
export function recordedPosts(events: readonly LoggedEvent[], server: URL): readonly Recorded[] {
  const byExchange = new Map<number, LoggedEvent[]>();
  for (const one of events) {
    const { x } = one.event as { readonly x?: number };
    if (x === undefined) continue;
    const known = byExchange.get(x);
    if (known === undefined) byExchange.set(x, [one]);
    else known.push(one);
  }
  return [...byExchange.values()].flatMap((all) => recorded(all, server) ?? []);
}

function recorded(all: readonly LoggedEvent[], server: URL): Recorded | undefined {
  const [head] = all;
  const sent = all.find(({ event }) => event.k === "frame" && event.d === ">");
  const message = sent && messageIn(sent, ">");
  if (head?.event.k !== "request" || head.event.method !== "POST" || message === undefined) return undefined;
  const { event: response, line = head.line } = all.find(({ event }) => event.k === "response") ?? {};
  const { status, headers = {} } = response?.k === "response" ? response : { status: undefined };
  const frames = all.flatMap((one) => {
    const heard = messageIn(one, "<");
    return heard === undefined ? [] : [{ message: heard, t: one.event.t, line: one.line }];
  });
  const asked = { url: new URL(head.event.path, server), headers: head.event.headers, body: JSON.stringify(message) };
  return { asked, message, status, headers, frames, t: head.event.t, line };
}

/** Returns the programs that the headers of a response name. */
export function programsOf(headers: Readonly<Record<string, string>>): string | undefined {
  const told = [headers.via, headers.server].filter((name) => name !== undefined && name !== "");
  return told.length > 0 ? told.join(", ") : undefined;
}
