import { setTimeout as sleep } from "node:timers/promises";
import { OFFICIAL } from "../history/errors.mjs";
import { tokenOf } from "../node/caller.mjs";
import { settledByCancel, settledByError, settledByResult } from "./record.mjs";

/**
 * Time after which a call counts as lost. The client has a minute by default, and gives no sooner sign of a call whose
 * stream broke before its first event.
 */
const TIMEOUT_MS = 8_000;
const CALLS_OF_SESSION = 80;
/** Shares of the kinds of calls, in percent. The rest are echoes. */
const SHARES = { ask: 10, work: 20, cancel: 10 };
/** Text of the error by which the client tells that it no longer resumes a stream. */
const GAVE_UP = /Maximum reconnection attempts/;

/** Versions of the official SDK. Each opens a client with its default options. */
const SDKS = {
  async v1({ info, url, options, answer, hear }) {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const types = await import("@modelcontextprotocol/sdk/types.js");
    const client = new Client(info, { capabilities: { elicitation: {} } });
    client.setRequestHandler(types.ElicitRequestSchema, ({ params }) => answer(params));
    client.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => hear(params));
    const transport = new StreamableHTTPClientTransport(new URL(url), options);
    const callTool = (params, settings) => client.callTool(params, undefined, settings);
    return { client, transport, callTool };
  },
  async v2({ info, url, options, answer, hear }) {
    const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
    const settings = { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "legacy" } };
    const client = new Client(info, settings);
    client.setRequestHandler("elicitation/create", ({ params }) => answer(params));
    client.setNotificationHandler("notifications/message", ({ params }) => hear(params));
    const transport = new StreamableHTTPClientTransport(new URL(url), options);
    return { client, transport, callTool: (params, settings) => client.callTool(params, settings) };
  },
};

/** Client of the official SDK, with its default options, that makes calls in sessions until the load is over. */
export class OfficialClient {
  era = "legacy";
  /** Its requests are sent to another node if one is away, and it resumes its streams. */
  recovers = true;
  isOfficial = true;
  session = "-";
  #world;
  #random;
  #sdk;
  #attempts = 0;
  #own = new Map();
  #connection;

  constructor(world, { name, sdk, random }) {
    this.name = name;
    this.#world = world;
    this.#sdk = sdk;
    this.#random = random;
  }

  async run() {
    while (await this.#world.pace.turn()) {
      if (this.#connection === undefined || this.#connection.isOver || this.#connection.left-- <= 0) {
        await this.close();
        if (!(await this.#open())) return;
      }
      await this.#act(this.#connection);
    }
  }

  /** Watches no resources, so that there are no last changes. */
  async finish() {}

  async close() {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) await this.#end(connection);
  }

  async #end(connection) {
    const { client, transport, session } = connection;
    connection.isOver = true;
    const { sessions, leaves } = this.#world.record;
    const leave = { client: this.name, at: Date.now(), until: undefined };
    leaves.push(leave);
    sessions.get(session).closedAt ??= Date.now();
    // A node that is away does not end the session. It ends when it is idle.
    await transport.terminateSession().catch(() => {});
    await client.close();
    leave.until = Date.now();
    this.session = "-";
  }

  async #open() {
    while (!this.#world.pace.isOver) {
      const connection = await this.#connect().catch(() => undefined);
      if (connection !== undefined) return true;
      await sleep(50 + this.#random.below(200));
    }
    return false;
  }

  async #connect() {
    const attempt = `${++this.#attempts}`;
    const { record, urlOf, onError, wire } = this.#world;
    const connection = { isOver: false, left: CALLS_OF_SESSION, session: undefined };
    const fetch = wire.observed((url, init) => this.#fetch(connection, url, init));
    const opened = await SDKS[this.#sdk]({
      info: { name: this.name, version: attempt },
      url: urlOf(this),
      options: { fetch, requestInit: { headers: { authorization: tokenOf(this.name, attempt) } } },
      answer: ({ message }) => this.#answer(Number(message)),
      hear: ({ data }) => this.#hear(connection, data),
    });
    Object.assign(connection, opened);
    connection.client.onerror = (error) => {
      onError(`${OFFICIAL}${error.message}`);
      if (GAVE_UP.test(error.message)) this.#giveUp(connection);
    };
    try {
      await connection.client.connect(connection.transport, { timeout: TIMEOUT_MS });
    } catch (error) {
      await connection.client.close().catch(() => {});
      throw error;
    }
    const { sessionId } = connection.transport;
    connection.session = sessionId;
    this.session = sessionId;
    record.sessions.set(sessionId, { client: this.name, recovers: true, at: Date.now() });
    this.#connection = connection;
    return connection;
  }

  /** The client does not try again to open its first stream for messages outside calls. */
  async #fetch(connection, url, init) {
    const isFirst = init?.method === "GET" && !new Headers(init.headers).has("last-event-id");
    try {
      const response = await fetch(url, init);
      if (isFirst && !response.ok) this.#giveUp(connection);
      return response;
    } catch (error) {
      if (isFirst) this.#giveUp(connection);
      throw error;
    }
  }

  /** A client that no longer listens needs a new session. Its open calls would wait for their limit. */
  #giveUp(connection) {
    if (connection.isOver) return;
    connection.isOver = true;
    const { record } = this.#world;
    const session = connection.session ?? connection.transport.sessionId;
    record.deaf.push({ client: this.name, session, at: Date.now() });
    const known = record.sessions.get(session);
    if (known !== undefined) known.closedAt ??= Date.now();
  }

  async #act(connection) {
    const kind = this.#random.below(100);
    const { ask, work, cancel } = SHARES;
    const stepMs = 20 + this.#random.below(150);
    if (kind < ask) await this.#call(connection, "ask", { token: `t${this.#random.below(2 ** 31)}` });
    else if (kind < ask + work) await this.#call(connection, "work", { steps: 2 + this.#random.below(4), stepMs });
    else if (kind < ask + work + cancel) await this.#call(connection, "cancel", { steps: 60, stepMs });
    else await this.#call(connection, "echo", {});
  }

  async #call(connection, kind, details) {
    const secret = `s${this.#random.below(2 ** 31)}`;
    const call = this.#world.record.call(this, kind, { secret, isOfficial: true, ...details });
    const { number, steps, stepMs } = call;
    this.#own.set(number, call);
    const cancel = new AbortController();
    const ms = 30 + this.#random.below(700);
    const timer = kind === "cancel" ? setTimeout(() => cancel.abort(), ms) : undefined;
    try {
      const name = kind === "cancel" ? "work" : kind;
      const params = { name, arguments: { call: number, secret, steps, stepMs } };
      const { content, isError } = await connection.callTool(params, { signal: cancel.signal, timeout: TIMEOUT_MS });
      call.settlements.push(settledByResult({ text: content[0].text, isError }));
    } catch (error) {
      call.settlements.push(cancel.signal.aborted ? settledByCancel() : settledByError(error));
      await this.#afterError(connection, error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The client does not open another session if the server no longer knows its own. */
  async #afterError(connection, { code }) {
    await sleep(20);
    if (code !== 404 || connection.isOver) return;
    connection.isOver = true;
    this.#world.record.lostSessions.push({ session: connection.session, client: this.name, at: Date.now() });
  }

  #answer(number) {
    const call = this.#own.get(number);
    if (call?.token === undefined) this.#world.record.strayQuestions.push({ client: this.name, number });
    return { action: "accept", content: { value: call?.token ?? "stray" } };
  }

  #hear(connection, { call, step, from, number }) {
    const { record } = this.#world;
    if (from === undefined) return record.calls[call].notices.push({ client: this.name, step });
    const session = connection.session ?? connection.transport.sessionId;
    record.messages.push({ client: this.name, session, from, number, at: Date.now() });
  }
}
