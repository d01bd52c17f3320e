import type { Clock } from "../../call/clock.js";
import type { RequestId } from "../../protocol/jsonrpc/message.js";
import type { Conversation, RecordedCall, Step } from "../../recording/conversation.js";
import { differencesOf } from "../../recording/differences.js";
import { type AnyMessage, paramsOf, subscriptionOf, withOwner } from "../../recording/messages.js";
import type { Matcher } from "./matcher.js";

/** Where the messages of a player go: a channel, or a response. */
export interface Outlet {
  send(message: AnyMessage, eventId: string | undefined): void;
}

/** Request of the live client that is being served. */
export interface LiveCall {
  readonly call: RecordedCall;
  readonly id: RequestId | null | undefined;
  readonly token: unknown;
  /** Resolves when the client has cancelled the request or has left. */
  readonly cancelled: Promise<void>;
  readonly cancel: () => void;
}

/** How the steps of a request ended. */
export type Ending = "done" | "cancelled" | "lost" | "never";

/** Answer for a question that the live client was asked. */
type OnAnswer = (answer: AnyMessage) => void;

/** Resolves once something has happened. */
class Signal {
  resolve!: () => void;
  readonly reached = new Promise<void>((resolve) => {
    this.resolve = resolve;
  });
}

interface State {
  readonly started: Signal;
  readonly ended: Signal;
}

export interface PlayerOptions {
  readonly clock: Clock;
  /** True to wait between steps as the recorded server did. */
  readonly isTimed: boolean;
  /** True to compare the answers to questions with the recorded ones. */
  readonly checksAnswers: boolean;
}

/** Sends recorded steps to a live client, and waits for it where the recorded server did. */
export class Player {
  readonly #conversation: Conversation;
  readonly #matcher: Matcher;
  readonly #options: PlayerOptions;
  readonly #states = new Map<RecordedCall, State>();
  readonly #live = new Map<RecordedCall, LiveCall>();
  readonly #questions = new Map<number, OnAnswer>();
  readonly #closed = new Signal();
  readonly #timers = new Set<unknown>();
  #lastQuestion = 0;
  #isClosed = false;

  constructor(conversation: Conversation, matcher: Matcher, options: PlayerOptions) {
    this.#conversation = conversation;
    this.#matcher = matcher;
    this.#options = options;
  }

  /** Begins to serve a request. */
  begin(call: RecordedCall, request: AnyMessage): LiveCall {
    const left = new Signal();
    const { _meta } = paramsOf(request) as { _meta?: { readonly progressToken?: unknown } };
    const live = { call, id: request.id, token: _meta?.progressToken, cancelled: left.reached, cancel: left.resolve };
    this.#live.set(call, live);
    this.#stateOf(call).started.resolve();
    return live;
  }

  /** Sends the steps of a request in their order. */
  async play(live: LiveCall, outlet: Outlet, steps: readonly Step[] = live.call.steps): Promise<Ending> {
    const { call } = live;
    const isOpen = subscriptionOf(call.steps[0]?.message ?? {}) !== undefined;
    const ending = await this.#steps(steps, outlet, { t: call.t, live, waits: isOpen });
    this.#stateOf(call).ended.resolve();
    return ending;
  }

  /** Sends what belongs to no request, or what another stream carried, each when the live client is as far as the recorded one was. */
  push(steps: readonly Step[], outlet: Outlet, cancelled: Promise<void>, t: number): Promise<Ending> {
    return this.#steps(steps, outlet, { t, cancelled, waits: true });
  }

  /** Takes an answer of the live client. */
  answer(message: AnyMessage): void {
    const { id } = message;
    const onAnswer = typeof id === "number" ? this.#questions.get(id) : undefined;
    if (typeof id === "number") this.#questions.delete(id);
    onAnswer?.(message);
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) this.#options.clock.cancel(timer);
    this.#timers.clear();
    this.#closed.resolve();
  }

  async #steps(
    steps: readonly Step[],
    outlet: Outlet,
    about: {
      readonly t: number;
      readonly live?: LiveCall;
      readonly cancelled?: Promise<void>;
      readonly waits: boolean;
    },
  ): Promise<Ending> {
    const { live, waits } = about;
    let left = false;
    const cancelled = live?.cancelled ?? about.cancelled ?? this.#closed.reached;
    void cancelled.then(() => {
      left = true;
    });
    const until = (wanted: Promise<unknown>) => Promise.race([wanted, cancelled, this.#closed.reached]);
    const answers = new Map<AnyMessage, Promise<AnyMessage>>();
    let before = about.t;
    let ending: Ending = "never";
    for (const step of steps) {
      if (waits) await until(this.#isTurnOf(step));
      if (this.#options.isTimed) await until(this.#pause(step.t - before));
      before = step.t;
      if (left || this.#isClosed) return "cancelled";
      switch (step.kind) {
        case "notify":
        case "result":
          this.#send(step, outlet);
          if (step.kind === "result" && step.call === live?.call) ending = "done";
          break;
        case "ask":
          answers.set(step.message, this.#ask(step.message, outlet));
          break;
        case "answer":
          await until(this.#compare(step, answers.get(step.message)));
          break;
        case "cancel":
          if (ending === "done") break;
          await Promise.race([cancelled, this.#closed.reached]);
          return "cancelled";
        case "lost":
          // The rest came by another stream.
          if (ending !== "done") ending = "lost";
      }
    }
    return ending;
  }

  #send({ message, call, eventId }: Step, outlet: Outlet): void {
    const owner = call === undefined ? undefined : this.#live.get(call);
    if (message.method === undefined) outlet.send({ ...message, id: owner?.id ?? message.id ?? null }, eventId);
    // A client that did not ask for progress gets none.
    else if (paramsOf(message).progressToken !== undefined && owner !== undefined && owner.token === undefined) return;
    else outlet.send(withOwner(message, owner?.token, owner?.id), eventId);
  }

  #ask(message: AnyMessage, outlet: Outlet): Promise<AnyMessage> {
    const id = ++this.#lastQuestion;
    const answered = new Promise<AnyMessage>((resolve) => this.#questions.set(id, resolve));
    outlet.send({ ...message, id }, undefined);
    return answered;
  }

  async #compare({ answer, message, line }: Step, answered: Promise<AnyMessage> | undefined): Promise<void> {
    const live = await answered;
    if (live === undefined || !this.#options.checksAnswers) return;
    const redacted = this.#matcher.redact({ result: live.result, error: live.error });
    const differences = differencesOf({ result: answer?.result, error: answer?.error }, redacted);
    if (differences.length > 0) this.#matcher.add({ request: message, line, differences });
  }

  /** Resolves when all requests and results that were recorded before a step have happened. */
  async #isTurnOf(step: Step): Promise<void> {
    const { calls } = this.#conversation;
    const begun = calls.findLast((call) => call.line < step.line && this.#matters(call));
    if (begun !== undefined) await this.#stateOf(begun).started.reached;
    for (const call of calls) {
      const result = call.steps.find(({ kind }) => kind === "result");
      if (result !== undefined && result.line < step.line && call !== step.call)
        await this.#stateOf(call).ended.reached;
    }
  }

  /** True for requests that a client sends on purpose. */
  #matters({ request }: RecordedCall): boolean {
    return request.method !== "ping";
  }

  #pause(us: number): Promise<void> {
    const { clock } = this.#options;
    if (us <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = clock.schedule(() => {
        this.#timers.delete(timer);
        resolve();
      }, us / 1000);
      this.#timers.add(timer);
    });
  }

  #stateOf(call: RecordedCall): State {
    const state = this.#states.get(call) ?? { started: new Signal(), ended: new Signal() };
    this.#states.set(call, state);
    return state;
  }
}
