import type { CallKind, CallRecord, Message, SessionRecord } from "./history.js";
import type { Flight, Head, SseEvent } from "./http.js";
import { SESSION_CACHE_MS, SESSION_IDLE_MS } from "./node.js";
import type { Outgoing, World } from "./world.js";

/** Time for which an event can be resumed after at least, less the time that it may take to arrive. */
const KEEP_MS = SESSION_IDLE_MS - 5_000;

/** Session of a client. Each of its requests goes to any node. */
export class ClientSession {
  readonly #world: World;
  readonly record: SessionRecord;
  readonly calls: Promise<void>[] = [];
  /** Questions that wait for an answer of this client, by id, for others to guess. */
  readonly questions: (string | number)[] = [];
  /** Last request about each resource. */
  readonly #watching = new Map<string, Promise<void>>();
  #lastRequest = 1;
  #stream: Flight | undefined;

  constructor(world: World, record: SessionRecord) {
    this.#world = world;
    this.record = record;
  }

  get isOpen(): boolean {
    return this.record.endedAt === undefined;
  }

  /** Calls a tool, and follows the call until it settles. */
  call(kind: CallKind, steps: number, stepMs: number): CallRecord {
    const { history } = this.#world;
    const requestId = this.#lastRequest++;
    const call = history.call(this.record, kind, requestId, `secret ${history.calls.length}`, steps);
    history.count(`calls ${kind}`);
    const following = this.#begin(call, stepMs).then(() => {
      call.isRead = true;
    });
    this.calls.push(following);
    return call;
  }

  /** Cancels a call by way of another node. */
  async cancel(call: CallRecord): Promise<void> {
    const message = { method: "notifications/cancelled", params: { requestId: call.requestId, reason: "enough" } };
    if (call.settled !== undefined) return;
    call.cancelledAt = this.#world.now();
    await this.#insist("POST", message);
    this.#world.history.settle(call, "cancelled");
  }

  /** Subscribes to a resource, or unsubscribes, after the former requests about it. */
  watch(uri: string, isOn = true): void {
    const before = this.#watching.get(uri) ?? Promise.resolve();
    const next = before.then(() => this.#watch(uri, isOn));
    this.#watching.set(uri, next);
  }

  async #watch(uri: string, isOn: boolean): Promise<void> {
    const { record } = this;
    if (!isOn) record.watched.delete(uri);
    const method = isOn ? "resources/subscribe" : "resources/unsubscribe";
    let id = 0;
    let isDone = false;
    const onEvent = ({ data }: SseEvent) => {
      const message = parse(data);
      if (message?.id === id && message.result !== undefined) isDone = true;
    };
    const send = { method: "POST", principal: record.principal, session: record.id, onEvent } as const;
    // Each attempt is a new request, since the former one may still run.
    const create = () => {
      id = this.#lastRequest++;
      return { ...send, message: { id, method, params: { uri } } };
    };
    while (this.isOpen && !this.#world.isOver && !isDone) {
      const sent = await this.#world.insist(create, () => this.isOpen);
      if (sent === undefined || this.#refused(sent.head, `${method} ${uri}`)) return;
      await sent.flight.over;
    }
    if (isOn && isDone) record.watched.set(uri, this.#world.now() + SESSION_CACHE_MS);
  }

  /** Keeps the standalone stream open, and resumes it when it breaks. */
  async listen(): Promise<void> {
    const { record } = this;
    let lastId: string | undefined;
    const onEvent = (event: SseEvent) => {
      if (event.id !== undefined) lastId = event.id;
      if (this.#isNew(event)) this.#hear(parse(event.data));
    };
    while (this.isOpen && !record.isLeft && !this.#world.isOver) {
      const lastEventId = this.#world.isResumable ? lastId : undefined;
      const out = { method: "GET", principal: record.principal, session: record.id, lastEventId, onEvent } as const;
      const opened = await this.#world.insist(out, () => this.isOpen && !record.isLeft);
      if (opened === undefined) return;
      if (record.isLeft) return opened.flight.break(1);
      if (opened.head.status === 409) {
        await this.#world.sleep(300);
        continue;
      }
      if (this.#refused(opened.head, "GET")) return;
      this.#world.history.count(lastEventId === undefined ? "streams opened" : "streams resumed");
      if (lastEventId === undefined) record.listensSince = this.#world.now();
      this.#stream = opened.flight;
      this.#mayReconnect(opened.flight);
      await opened.flight.over;
      if (!this.#world.isResumable || lastId === undefined) record.listensSince = Number.POSITIVE_INFINITY;
      await this.#world.sleep(this.#world.dice.between(1, 200));
    }
  }

  /** Lets the client close a stream by chance and connect elsewhere. The node may learn it after the other one. */
  #mayReconnect(stream: Flight): void {
    const { dice, scheduler } = this.#world;
    if (!dice.chance(30)) return;
    const learnedMs = dice.between(0.2, 1_500);
    scheduler.schedule(() => this.#world.isClosing || stream.break(learnedMs), dice.between(100, 5_000));
  }

  /** Ends the session. */
  async delete(): Promise<void> {
    const { record } = this;
    record.isEnding = true;
    const out = { method: "DELETE", principal: record.principal, session: record.id } as const;
    const answer = await this.#world.insist(out, () => this.isOpen);
    if (answer === undefined) return;
    const { status } = answer.head;
    if (status !== 200 && status !== 204 && status !== 404)
      this.#world.history.violate("definite refusals", `DELETE of ${record.id} gets ${status}`);
    this.#end();
  }

  /** Stops using the session, without telling the server. */
  leave(): void {
    this.record.isLeft = true;
    this.record.listensSince = Number.POSITIVE_INFINITY;
    this.#stream?.break(1);
    for (const call of this.#world.history.calls) {
      if (call.session !== this.record || call.settled !== undefined) continue;
      this.#world.history.settle(call, "left");
      call.isRead = true;
    }
  }

  #end(): void {
    this.record.endedAt ??= this.#world.now();
    this.#world.history.note(`session ${this.record.id} has ended for its client`);
  }

  async #begin(call: CallRecord, stepMs: number): Promise<void> {
    const { history } = this.#world;
    const { requestId, kind } = call;
    const params = { name: kind, arguments: { call: call.number, stepMs }, _meta: { progressToken: requestId } };
    const message = { id: requestId, method: "tools/call", params };
    const state: { lastId?: string; at: number } = { at: 0 };
    const onEvent = (event: SseEvent) => {
      if (event.id !== undefined) Object.assign(state, { lastId: event.id, at: this.#world.now() });
      if (this.#isNew(event)) this.#receive(call, parse(event.data));
    };
    const out = { principal: this.record.principal, session: this.record.id, onEvent } as const;
    let flight = await this.#world.send({ ...out, method: "POST", message });
    if (flight === undefined) return history.settle(call, "unsent");
    let head = await flight.head;
    for (;;) {
      if (head !== undefined && head.status !== 200) return this.#settleRefused(call, head);
      const how = await flight.over;
      if (call.settled !== undefined) return;
      if (!this.isOpen) return history.settle(call, "session ended");
      if (call.cancelledAt !== undefined && how === "ended") return history.settle(call, "cancelled");
      if (state.lastId === undefined || !this.#world.isResumable) return this.#settleLost(call, how, flight);
      await this.#world.sleep(this.#world.dice.between(1, 300));
      const resumed = await this.#resume(call, { ...out, method: "GET", lastEventId: state.lastId }, state.at);
      if (resumed === undefined) return;
      ({ flight, head } = resumed);
    }
  }

  async #resume(call: CallRecord, out: Outgoing, lastAt: number) {
    const { history } = this.#world;
    history.count("calls resumed");
    const resumed = await this.#world.insist(out, () => this.isOpen && call.settled === undefined);
    if (resumed === undefined) {
      if (!this.isOpen) history.settle(call, "session ended");
      return undefined;
    }
    if (resumed.head.status === 404) this.#refused(resumed.head, `resumption of call ${call.number}`);
    else if (resumed.head.status === 204 && call.cancelledAt !== undefined) {
      history.settle(call, "cancelled");
      return undefined;
    } else if (resumed.head.status !== 200) {
      const isKept = this.#world.now() - lastAt < KEEP_MS && !this.#world.mayHaveEnded(this.record);
      if (resumed.head.status !== 204 || isKept)
        history.violate(
          "kept",
          `resumption of call ${call.number} after ${out.lastEventId} gets ${resumed.head.status}`,
        );
      history.settle(call, "resumption refused");
      return undefined;
    }
    return resumed;
  }

  #settleRefused(call: CallRecord, head: Head): void {
    const { history } = this.#world;
    if (head.status === 503) {
      if (!this.#world.wasTroubled(call.beganAt) && !this.#world.mayHaveEnded(this.record))
        history.violate("serves", `call ${call.number} gets 503 without a cause`);
      return history.settle(call, "refused 503");
    }
    if (head.status === 204 && call.cancelledAt !== undefined) return history.settle(call, "cancelled");
    this.#refused(head, `call ${call.number}`);
    history.settle(call, `refused ${head.status}`);
  }

  /** Settles a call whose stream has ended without an answer and cannot be resumed. */
  #settleLost(call: CallRecord, how: "ended" | "broken", flight: Flight): void {
    const { history } = this.#world;
    if (call.cancelledAt !== undefined) return history.settle(call, "cancelled");
    const isExpected = this.#world.mayHaveEnded(this.record) || this.#world.wasTroubled(call.beganAt);
    if (how === "ended" && flight.response !== undefined && !isExpected)
      history.violate("settles", `the stream of call ${call.number} ends without an answer`);
    history.settle(call, "cut");
  }

  /** True if a response refuses the request. A session may be refused only after it has ended. */
  #refused({ status }: Head, what: string): boolean {
    if (status < 300) return false;
    const mayHaveEnded = this.#world.mayHaveEnded(this.record);
    // The log of a session that has ended is gone, so that its events are unknown.
    if (status === 404 || (status === 400 && mayHaveEnded)) {
      if (!mayHaveEnded)
        this.#world.history.violate("live session", `${what} gets 404, though ${this.record.id} has not ended`);
      this.#end();
    } else this.#world.history.violate("definite refusals", `${what} gets ${status}`);
    return true;
  }

  /** True if an event has a message that is new. An event must not come twice. */
  #isNew({ id, data }: SseEvent): boolean {
    if (data === "") return false;
    if (id === undefined) return true;
    const { events } = this.record;
    if (events.has(id)) {
      this.#world.history.violate("at most once", `event ${id} of ${this.record.id} comes twice: ${data}`);
      return false;
    }
    events.add(id);
    return true;
  }

  /** Takes a message on the stream of a call. */
  #receive(call: CallRecord, message: Message | undefined): void {
    const { history } = this.#world;
    if (message === undefined) return history.violate("messages", "an event is not JSON");
    if (message.method === "elicitation/create") return this.#onQuestion(call, message);
    // The server takes a question back.
    if (message.method === "notifications/cancelled") return;
    if (message.method === "notifications/message") {
      const { call: number, step } = (message.params?.data ?? {}) as { readonly call: number; readonly step: number };
      if (number !== call.number) history.violate("own stream", `call ${call.number} gets a notice of call ${number}`);
      this.#number(call, call.notices, step, "notice");
    } else if (message.method === "notifications/progress") {
      if (message.params?.progressToken !== call.requestId)
        history.violate("own stream", `call ${call.number} gets progress of ${message.params?.progressToken}`);
      this.#number(call, call.progress, Number(message.params?.progress), "progress");
    } else if (message.id === call.requestId) this.#onAnswer(call, message);
    else history.violate("own stream", `call ${call.number} gets ${JSON.stringify(message)}`);
  }

  #number(call: CallRecord, numbers: number[], number: number, what: string): void {
    const last = numbers.at(-1) ?? 0;
    if (number !== last + 1)
      this.#world.history.violate("in order", `call ${call.number} gets ${what} ${number} after ${last}`);
    numbers.push(number);
  }

  #onAnswer(call: CallRecord, message: Message): void {
    const { history } = this.#world;
    call.answers.push(message);
    if (call.answers.length > 1)
      return history.violate("settles once", `call ${call.number} gets ${JSON.stringify(call.answers)}`);
    const text = (message.result?.content as { readonly text?: string }[] | undefined)?.[0]?.text;
    if (message.error !== undefined || message.result?.isError === true) {
      const why = message.error?.message ?? text;
      const isExpected = call.cancelledAt !== undefined || this.#world.mayHaveEnded(this.record);
      if (!isExpected && !this.#world.wasTroubled(call.beganAt, call.run?.node))
        history.violate("answers", `call ${call.number} fails without a cause: ${why}`);
      history.count(message.error === undefined ? "results with an error" : `errors ${why}`);
      return history.settle(call, "error");
    }
    const rest = text?.startsWith(call.secret) ? text.slice(call.secret.length + 1) : undefined;
    if (rest === undefined || (call.kind === "ask" ? !call.given.has(rest) : rest !== ""))
      history.violate("own answer", `call ${call.number} (${call.secret}) gets ${text}`);
    if (call.kind === "work" && (call.notices.length !== call.steps || call.progress.length !== call.steps))
      history.violate(
        "none missing",
        `call ${call.number} ends after ${call.notices.length} notices and ${call.progress.length} of ${call.steps}`,
      );
    history.settle(call, "answered");
  }

  #onQuestion(call: CallRecord, { id }: Message): void {
    if (id === undefined) return this.#world.history.violate("messages", "a question has no id");
    this.questions.push(id);
    const { dice } = this.#world;
    const give = (value: string) => this.#answer(call, id, value);
    give(`yes ${call.number}`);
    // A rival answer goes to another node at about the same time. One of the two counts.
    if (dice.chance(25)) give(`rival ${call.number}`);
  }

  async #answer(call: CallRecord, id: string | number, value: string): Promise<void> {
    const { dice, history } = this.#world;
    await this.#world.sleep(dice.chance(80) ? dice.between(1, 300) : dice.between(1, 4_000));
    call.given.add(value);
    history.count("questions answered");
    await this.#insist(
      "POST",
      { id, result: { action: "accept", content: { value } } },
      () => call.settled === undefined,
    );
  }

  /** Sends a message without an answer, until a node has taken it. */
  async #insist(method: "POST", message: object, isWanted = () => true): Promise<void> {
    const { principal, id } = this.record;
    const wanted = () => isWanted() && this.isOpen && !this.record.isLeft;
    const sent = await this.#world.insist({ method, principal, session: id, message }, wanted);
    if (sent !== undefined) this.#refused(sent.head, JSON.stringify(message));
  }

  /** Takes a message on the standalone stream. */
  #hear(message: Message | undefined): void {
    const { history } = this.#world;
    if (message?.method === "notifications/resources/updated") {
      this.record.updates.set(String(message.params?.uri), this.#world.now());
    } else if (message?.method === "notifications/message") {
      const { from, number } = (message.params?.data ?? {}) as { readonly from: string; readonly number: number };
      const numbers = this.record.broadcasts.get(from) ?? [];
      if (numbers.includes(number))
        history.violate("at most once", `${this.record.id} gets broadcast ${number} of ${from} twice`);
      const last = numbers.at(-1) ?? 0;
      // A node that is cut off passes a message on when it is back, and another one may be faster.
      if (number < last && !this.#world.wasTroubled(this.record.openedAt))
        history.violate("in order", `${this.record.id} gets broadcast ${number} of ${from} after ${last}`);
      this.record.broadcasts.set(from, [...numbers, number]);
    } else if (message?.method?.endsWith("list_changed") !== true)
      history.violate("own stream", `the standalone stream gets ${JSON.stringify(message)}`);
  }
}

function parse(data: string): Message | undefined {
  try {
    return JSON.parse(data) as Message;
  } catch {
    return undefined;
  }
}
