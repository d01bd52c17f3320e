import { setTimeout as sleep } from "node:timers/promises";
import { connect, retry } from "bowline/client";
import { tokenOf } from "../node/caller.mjs";
import { settledByCancel, settledByError, settledByResult } from "./record.mjs";
import { Watching } from "./watching.mjs";

/** Time after which a call counts as hanging. Everything settles far earlier. */
const TIMEOUT_MS = 20_000;
const WORKERS = 2;
/** Number of calls after which a client begins a new session. */
const CALLS_OF_SESSION = 120;
/** Shares of the kinds of calls, in percent. The rest are echoes. */
const SHARES = { ask: 9, work: 18, change: 4, theft: 1, cancel: 3 };
/** Steps of a call that is cancelled. It takes seconds if it is not. */
const CANCELLED = { steps: 60, stepMs: 150 };
const RECOVERY = {
  reconnect: { firstDelayMs: 100, maxFruitless: 20 },
  interceptors: [retry({ attempts: 6, delayMs: 100 })],
};
const NO_RECOVERY = { reconnect: { maxFruitless: 0 } };

/** Client that makes calls until the load is over. */
export class LoadClient {
  session = "-";
  #world;
  #random;
  #client;
  #left = 0;
  #attempts = 0;
  #watching;
  #opening;
  #own = new Map();

  /** `world` has the record, the pace, the URL for each kind of client, and the list of all clients. */
  constructor(world, { name, era, recovers, random }) {
    this.name = name;
    this.era = era;
    this.recovers = recovers;
    this.#world = world;
    this.#random = random;
    this.#watching = new Watching(this, world.record);
  }

  async run() {
    await Promise.all(Array.from({ length: WORKERS }, () => this.#work()));
  }

  /** Waits until the last changes have arrived, and ends the session. */
  async close() {
    if (this.#client !== undefined) await this.#end(this.#client);
  }

  async #end(client) {
    await this.#watching.stop();
    const session = this.#world.record.sessions.get(this.session);
    if (session !== undefined) session.closedAt = Date.now();
    await client.close();
  }

  /** Changes a resource that this client watches, for the last time. */
  async finish() {
    if (this.#client !== undefined) await this.#change(this.#client);
  }

  async #work() {
    while (await this.#world.pace.turn()) {
      const client = await this.#connected();
      if (client === undefined) return;
      await this.#act(client);
    }
  }

  async #act(client) {
    const kind = this.#random.below(100);
    const { ask, work, change, theft, cancel } = SHARES;
    if (kind < ask) await this.#ask(client);
    else if (kind < ask + work) await this.#steps(client);
    else if (kind < ask + work + change) await this.#change(client);
    else if (kind < ask + work + change + theft) await this.#steal();
    else if (kind < ask + work + change + theft + cancel) await this.#call(client, "cancel", CANCELLED);
    else await this.#call(client, "echo", {});
  }

  #ask(client) {
    return this.#call(client, "ask", { token: `t${this.#random.below(2 ** 31)}` });
  }

  /** Some calls last long enough to be running when a fault comes. */
  #steps(client) {
    const steps = 2 + this.#random.below(5);
    const stepMs = this.#random.chance(0.6) ? 5 + this.#random.below(20) : 80 + this.#random.below(120);
    return this.#call(client, "work", { steps, stepMs });
  }

  async #change(client) {
    const uri = this.#watching.next();
    if (uri !== undefined) await this.#call(client, "change", { uri });
    else await this.#call(client, "echo", {});
  }

  async #call(client, kind, details) {
    const secret = `s${this.#random.below(2 ** 31)}`;
    const call = this.#world.record.call(this, kind, { secret, ...details });
    const { number, steps, stepMs, uri } = call;
    this.#own.set(number, call);
    const cancel = new AbortController();
    const options = { signal: cancel.signal, ...(this.era === "modern" && { logLevel: "info" }) };
    const timer = kind === "cancel" ? setTimeout(() => cancel.abort(), 30 + this.#random.below(700)) : undefined;
    const tool = kind === "cancel" ? "work" : kind;
    try {
      const result = await client.callTool(tool, { call: number, secret, steps, stepMs, uri }, options);
      call.settlements.push(settledByResult(result));
      // A failed call may show the session of a handshake that was not completed.
      this.#noteSession(client);
    } catch (error) {
      call.settlements.push(cancel.signal.aborted ? settledByCancel() : settledByError(error));
      // A call that fails at once is followed by many others otherwise.
      await sleep(20);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a request with the session of another client, which must be refused. */
  async #steal() {
    const { record, clients, urlOf } = this.#world;
    const victim = this.#random.pick(clients);
    if (victim === this || victim.session === "-") return;
    record.thefts.tried++;
    const headers = {
      authorization: tokenOf(this.name, this.#attempts),
      "mcp-session-id": victim.session,
      "mcp-protocol-version": "2025-11-25",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    try {
      const response = await fetch(urlOf(this), {
        method: "POST",
        headers,
        body,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (response.ok) record.thefts.served++;
      await response.body?.cancel();
    } catch {
      // The node is away.
    }
  }

  /** Returns the client, after it has connected. All workers share it. */
  #connected() {
    if (this.#client !== undefined && this.#left-- > 0) return this.#client;
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open() {
    const old = this.#client;
    this.#client = undefined;
    if (old !== undefined) await this.#leave(old);
    while (!this.#world.pace.isOver) {
      try {
        const client = await connect(this.#world.urlOf(this), this.#options());
        this.#left = CALLS_OF_SESSION;
        this.#client = client;
        this.#noteSession(client);
        this.#watching.start(client);
        return client;
      } catch {
        await sleep(50 + this.#random.below(200));
      }
    }
    return undefined;
  }

  /** Other workers may have calls in progress. They end before the session does. */
  async #leave(client) {
    while (client.pending > 0) await sleep(20);
    const leave = { client: this.name, at: Date.now(), until: undefined };
    this.#world.record.leaves.push(leave);
    await this.#end(client);
    leave.until = Date.now();
    this.session = "-";
  }

  #options() {
    const attempt = `${++this.#attempts}`;
    return {
      era: this.era,
      info: { name: this.name, version: attempt },
      headers: { authorization: tokenOf(this.name, attempt) },
      timeoutMs: TIMEOUT_MS,
      cache: false,
      warnDeprecated: false,
      onElicit: ({ message }) => this.#answer(Number(message)),
      onNotification: (notification) => this.#hear(notification),
      onError: this.#world.onError,
      ...(this.recovers ? RECOVERY : NO_RECOVERY),
    };
  }

  #answer(number) {
    const call = this.#own.get(number);
    if (call?.token === undefined) this.#world.record.strayQuestions.push({ client: this.name, number });
    return { action: "accept", content: { value: call?.token ?? "stray" } };
  }

  #hear({ method, params }) {
    if (method !== "notifications/message") return;
    const { call, step, from, number } = params.data;
    if (from === undefined) return this.#world.record.calls[call].notices.push({ client: this.name, step });
    // A client whose session was lost gets messages of the next one before a call of it succeeds.
    const session = this.#world.wire.sessionOf(this.name);
    this.#world.record.messages.push({ client: this.name, session, from, number, at: Date.now() });
  }

  /** Records the session that the client has now. It has another one after the server has lost the last. */
  #noteSession(client) {
    if (this.era !== "legacy" || client !== this.#client) return;
    const { id } = client.session ?? {};
    if (id === undefined || id === this.session) return;
    const { record } = this.#world;
    if (this.session !== "-") record.lostSessions.push({ session: this.session, client: this.name, at: Date.now() });
    this.session = id;
    record.sessions.set(id, { client: this.name, recovers: this.recovers, at: Date.now() });
  }
}
