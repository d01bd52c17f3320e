import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { legacyServer } from "#src/era/legacy/server/era.js";
import { modernServer } from "#src/era/modern/server/era.js";
import { defaultValidator } from "#src/schema/json-schema/validator.js";
import type { HttpServerOptions, ServerOptions } from "#src/server/options.js";
import type { Server } from "#src/server/server.js";
import { type ArrayExchange, createArrayExchange } from "#src/testing/array-exchange.js";
import { serverOfEras } from "./core-of.js";

export interface Message {
  readonly jsonrpc?: "2.0";
  readonly id?: string | number | null;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface SseBlock {
  readonly id?: string;
  readonly retry?: string;
  readonly data?: string;
  readonly comment?: string;
}

export interface Sender {
  readonly session?: string | undefined;
  readonly principal?: string | undefined;
  /** Address of the caller. */
  readonly remote?: string | undefined;
  readonly headers?: Record<string, string | undefined> | undefined;
}

const BOTH = "application/json, text/event-stream";

/** A server of both eras that is spoken to by single exchanges, as an HTTP client of the older era would. */
export class LegacyEndpoint {
  readonly server: Server;
  /** What was reported, with its place. */
  readonly reports: { readonly error: unknown; readonly where: string }[] = [];

  constructor(http: HttpServerOptions = {}, options: ServerOptions = {}) {
    const onError = (error: unknown, { where }: { where: string }) => this.reports.push({ error, where });
    const all = { onError, validator: defaultValidator, ...options, http };
    this.server = serverOfEras({ name: "s", version: "1" }, all, [modernServer, legacyServer]);
  }

  get stats(): { readonly sessions: number; readonly streams: number; readonly running: number } {
    const { sessions = 0, streams = 0, running = 0 } = this.server.stats();
    return { sessions, streams, running };
  }

  send(method: string, body: unknown, from: Sender = {}): ArrayExchange {
    const headers = {
      accept: BOTH,
      ...(method === "POST" ? { "content-type": "application/json" } : undefined),
      ...(from.session === undefined ? undefined : { "mcp-session-id": from.session }),
      ...from.headers,
    };
    const exchange = createArrayExchange({ method, headers, body, principal: from.principal, remote: from.remote });
    this.server.handle(exchange);
    return exchange;
  }

  post(body: unknown, from?: Sender): ArrayExchange {
    return this.send("POST", body, from);
  }

  initialize(version = "2025-11-25", from: Sender = {}, capabilities: object = {}): ArrayExchange {
    const params = { protocolVersion: version, capabilities, clientInfo: { name: "c", version: "1" } };
    return this.post({ jsonrpc: "2.0", id: "init", method: "initialize", params }, from);
  }

  /** Shakes hands and returns the session's client. */
  async open(version = "2025-11-25", capabilities: object = {}, from: Sender = {}): Promise<LegacyClient> {
    const exchange = this.initialize(version, from, capabilities);
    await exchange.done;
    assert.equal(exchange.status, 200, exchange.body());
    const session = exchange.headers["mcp-session-id"];
    assert.ok(session !== undefined, "the handshake names a session");
    const client = new LegacyClient(this, { ...from, session });
    await status(client.notify("notifications/initialized"), 202);
    return client;
  }
}

/** A client of one session. */
export class LegacyClient {
  readonly id: string;
  readonly #endpoint: LegacyEndpoint;
  readonly #from: Sender;

  constructor(endpoint: LegacyEndpoint, from: Sender) {
    this.#endpoint = endpoint;
    this.#from = from;
    this.id = from.session ?? "";
  }

  post(body: unknown, headers?: Record<string, string | undefined>): ArrayExchange {
    return this.#endpoint.post(body, { ...this.#from, headers: { ...this.#from.headers, ...headers } });
  }

  request(id: string | number, method: string, params?: object, headers?: Record<string, string>): ArrayExchange {
    return this.post({ jsonrpc: "2.0", id, method, params }, headers);
  }

  call(id: string | number, name: string, args: object = {}, headers?: Record<string, string>): ArrayExchange {
    const params = { name, arguments: args, _meta: { progressToken: id } };
    return this.request(id, "tools/call", params, headers);
  }

  notify(method: string, params?: object): ArrayExchange {
    return this.post({ jsonrpc: "2.0", method, params });
  }

  cancel(requestId: unknown, reason?: string): ArrayExchange {
    return this.notify("notifications/cancelled", { requestId, ...(reason === undefined ? undefined : { reason }) });
  }

  get(lastEventId?: string, headers?: Record<string, string>): ArrayExchange {
    const resume = lastEventId === undefined ? undefined : { "last-event-id": lastEventId };
    return this.#endpoint.send("GET", undefined, { ...this.#from, headers: { ...resume, ...headers } });
  }

  delete(headers?: Record<string, string>): ArrayExchange {
    return this.#endpoint.send("DELETE", undefined, { ...this.#from, headers: { ...headers } });
  }
}

/** The blocks of an event stream so far. */
export function blocks(exchange: ArrayExchange): SseBlock[] {
  const texts = exchange.body().split("\n\n").slice(0, -1);
  return texts.map((text) => {
    const block: Record<string, string> = {};
    for (const line of text.split("\n")) {
      const colon = line.indexOf(":");
      block[colon === 0 ? "comment" : line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
    }
    return block;
  });
}

/** The messages that an answer carries so far, streamed or not. */
export function messages(exchange: ArrayExchange): Message[] {
  if (exchange.headers["content-type"] === "application/json") {
    const body = JSON.parse(exchange.body()) as Message | Message[];
    return Array.isArray(body) ? body : [body];
  }
  return blocks(exchange).flatMap(({ data }) =>
    data === undefined || data === "" ? [] : [JSON.parse(data) as Message],
  );
}

/** The only message of a complete answer. */
export async function answer(exchange: ArrayExchange): Promise<Message> {
  await exchange.done;
  const [message, ...rest] = messages(exchange);
  assert.ok(message !== undefined && rest.length === 0, `one message: ${exchange.body()}`);
  return message;
}

export function textOf(message: Message | undefined): unknown {
  const content = message?.result?.content as { readonly text?: string }[] | undefined;
  return content?.[0]?.text;
}

export async function status(exchange: ArrayExchange, expected: number): Promise<ArrayExchange> {
  await exchange.done;
  assert.equal(exchange.status, expected, exchange.body());
  return exchange;
}

export async function isDone(exchange: ArrayExchange): Promise<boolean> {
  return Promise.race([exchange.done.then(() => true), settle().then(() => false)]);
}

/** Lets everything run that is ready to run. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
}

/** Waits, turn by turn, until something has come about. */
export async function until(condition: () => boolean, what = "the condition"): Promise<void> {
  for (let turn = 0; turn < 10_000; turn++) {
    if (condition()) return;
    await setImmediate();
  }
  assert.fail(`${what} did not come about`);
}
