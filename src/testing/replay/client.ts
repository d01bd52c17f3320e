import { type Clock, systemClock } from "../../call/clock.js";
import { DefinitionError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import type { Channel } from "../../protocol/jsonrpc/channel.js";
import type { Known } from "../../protocol/known-options.js";
import { type Conversation, conversationOf, type RecordedCall, type Step } from "../../recording/conversation.js";
import { type Difference, describeDifferences, differencesOf } from "../../recording/differences.js";
import { type AnyMessage, isRequest, isResponse, paramsOf, subscriptionOf } from "../../recording/messages.js";
import type { RecordingFile } from "../../recording/reader.js";
import { Redactor } from "../../recording/redactor.js";
import { resultOf } from "../../recording/rounds.js";
import {
  HttpLink,
  type Link,
  type LiveFetch,
  type LocalServer,
  openChannelLink,
  type Receiver,
} from "./client-links.js";
import { ISSUED, IssuedValues } from "./issued.js";
import { nameOf, ReplayError } from "./matcher.js";
import { withResults } from "./update.js";

/** Options of `replayClient`. */
export interface ReplayClientOptions {
  /** JSON pointers into responses that may differ, such as `/result/structuredContent/time`. `*` stands for any segment. */
  readonly ignore?: readonly string[] | undefined;
  /**
   * `"value"` compares results exactly, `"shape"` by the types of their members.
   * @default "value"
   */
  readonly compare?: "value" | "shape" | undefined;
  /**
   * True to compare the notifications of each request too.
   * @default true
   */
  readonly notifications?: boolean | undefined;
  /** Values that the recording has as `<env:NAME>`, by name. */
  readonly values?: { readonly [name: string]: string | undefined } | undefined;
  /** HTTP headers to send with each request, such as those of authorization, which a recording does not have. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Replacement for the runtime's `fetch`, for a URL. */
  readonly fetch?: ((url: URL, init: RequestInit) => Promise<Response>) | undefined;
  /**
   * Time to wait for each message that was recorded.
   * @default 10_000
   */
  readonly timeoutMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

export const REPLAY_CLIENT_OPTIONS: Known<ReplayClientOptions> = {
  ignore: [{ array: "string" }],
  compare: [{ string: ["value", "shape"] }],
  notifications: "boolean",
  values: "object",
  headers: "object",
  fetch: "function",
  timeoutMs: "ms",
  clock: "object",
};

/** Live server of `replayClient`: a URL, a server in this process, or a channel. */
export type ReplayTarget = string | URL | ReplayLocalTarget | { readonly channel: Channel };

/** Server in this process. One with `fetch` gets the requests of a recording of HTTP by it. */
export interface ReplayLocalTarget {
  accept(channel: Channel): Promise<{ close(): Promise<void> }>;
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
}

/** Request that was sent again. */
export interface ReplayedCall {
  /** Line of the recorded request. */
  readonly line: number;
  readonly method: string;
  /** Name or URI of what was called. */
  readonly name: string;
  /** Differences of the live response to the recorded one. `path` begins with `/result`, `/error` or `/notifications`. */
  readonly differences: readonly Difference[];
}

/** What a replay as a client found. */
export interface ReplayReport {
  /** Requests that were sent, in their order. */
  readonly calls: readonly ReplayedCall[];
  /** True if nothing differs. */
  readonly same: boolean;
  /** The recording with the live results in place of the recorded ones. */
  readonly text: string;
  /** Problems that `text` has, too: answers that did not come, and other notifications than those that were recorded. */
  readonly unsettled: readonly string[];
  /** Throws a `ReplayError` if anything differs. */
  assertSame(): void;
}

/** What the live server has sent for a request. */
interface LiveState {
  result: AnyMessage | undefined;
  readonly notes: AnyMessage[];
  isOver: boolean;
}

const TIMEOUT_MS = 10_000;
/** Address of a server that is reached without a network. */
const LOCAL_URL = "http://localhost/mcp";

/** Sends what a recorded client sent to a live server. */
export class ClientReplay {
  readonly #file: RecordingFile;
  readonly #conversation: Conversation;
  readonly #options: ReplayClientOptions;
  readonly #issued: IssuedValues;
  readonly #states = new Map<RecordedCall, LiveState>();
  readonly #questions: AnyMessage[] = [];
  readonly #watchers = new Set<() => void>();
  readonly #timeouts: string[] = [];

  constructor(file: RecordingFile, options: ReplayClientOptions) {
    this.#file = file;
    this.#options = options;
    this.#conversation = conversationOf(file.events);
    this.#issued = new IssuedValues(options.values ?? {});
    for (const call of this.#conversation.calls)
      this.#states.set(call, { result: undefined, notes: [], isOver: false });
  }

  async run(target: ReplayTarget): Promise<ReplayReport> {
    const http = this.#httpOf(target);
    if (http === undefined) await this.#overChannel(target as LocalServer);
    else await this.#overHttp(http);
    return this.#report();
  }

  /** Returns the link for a recording of HTTP, if the target takes requests. */
  #httpOf(target: ReplayTarget): HttpLink | undefined {
    const isUrl = typeof target === "string" || target instanceof URL;
    const isRecordedHttp = this.#conversation.exchanges.length > 0;
    if (isUrl && !isRecordedHttp && this.#conversation.calls.length > 0)
      throw new DefinitionError(
        "replayClient: a recording of a channel has no HTTP headers; give a server in this process or { channel }",
      );
    const fetch = isUrl ? (this.#options.fetch ?? globalThis.fetch) : localFetch(target);
    if (!isRecordedHttp || fetch === undefined) return undefined;
    const url = new URL(isUrl ? target : LOCAL_URL);
    return new HttpLink(url, fetch, this.#options.headers ?? {}, this.#issued, this.#receiver);
  }

  readonly #receiver: Receiver = {
    message: (message) => {
      this.#receive(message);
      this.#changed();
    },
    ended: (exchange) => {
      for (const [call, state] of this.#states)
        if (exchange === undefined || call.exchange === exchange) state.isOver = true;
      this.#changed();
    },
  };

  async #overChannel(target: LocalServer | { readonly channel: Channel }): Promise<void> {
    const link: Link = await openChannelLink(target, this.#receiver);
    const actions: { readonly line: number; readonly run: () => Promise<void> }[] = [];
    const { calls, sent, pushes } = this.#conversation;
    const send = async (message: AnyMessage) => link.send(this.#issued.replace(message) as AnyMessage);
    for (const call of calls) actions.push({ line: call.line, run: () => send(call.request) });
    for (const { line, message } of sent) actions.push({ line, run: () => send(message) });
    for (const step of [...calls.flatMap(({ steps }) => steps), ...pushes])
      if (step.kind === "answer")
        actions.push({
          line: step.line,
          run: async () => {
            const question = await this.#questionFor(step);
            if (question !== undefined) await send({ ...step.answer, id: question.id ?? null });
          },
        });
    await this.#inOrder(actions);
    await link.close();
  }

  async #overHttp(link: HttpLink): Promise<void> {
    const { exchanges, calls } = this.#conversation;
    const answers = new Map(
      [...calls.flatMap(({ steps }) => steps), ...this.#conversation.pushes]
        .filter(({ kind }) => kind === "answer")
        .map((step) => [step.answer, step]),
    );
    const actions = exchanges.flatMap((exchange) => {
      const { line, end } = exchange;
      const send = async () => {
        const messages: AnyMessage[] = [];
        for (const message of exchange.sent) {
          const step = answers.get(message);
          const question = step === undefined ? undefined : await this.#questionFor(step);
          const live = question === undefined ? message : { ...message, id: question.id ?? null };
          messages.push(this.#issued.replace(live) as AnyMessage);
        }
        const body = messages.length > 1 ? messages : messages[0];
        const sending = link.send(exchange, body === undefined ? undefined : JSON.stringify(body));
        // A client waits for the head of everything but its requests and its streams.
        if (exchange.method === "POST" && !exchange.sent.some(isRequest)) await sending;
      };
      const abort = async () => link.abort(exchange);
      return [{ line, run: send }, ...(end?.by === "client" ? [{ line: end.line, run: abort }] : [])];
    });
    await this.#inOrder(actions);
    link.close();
  }

  /** Runs the actions, each as soon as the server has sent what it had sent before in the recording. */
  async #inOrder(actions: { readonly line: number; readonly run: () => Promise<void> }[]): Promise<void> {
    for (const { line, run } of actions.sort((a, b) => a.line - b.line)) {
      await this.#caughtUp(line);
      await run();
    }
    await this.#caughtUp(Number.POSITIVE_INFINITY);
  }

  async #caughtUp(line: number): Promise<void> {
    for (const call of this.#conversation.calls) {
      const state = this.#states.get(call) as LiveState;
      const steps = call.steps.filter((step) => step.line < line);
      const isAnswered = steps.some(({ kind }) => kind === "result");
      const notes = isAnswered ? 0 : steps.filter(({ kind }) => kind === "notify").length;
      const hasCaughtUp = () =>
        state.isOver || state.result !== undefined || (!isAnswered && state.notes.length >= notes);
      await this.#until(hasCaughtUp, `the response to ${nameOf(call.request)} (line ${call.line})`);
    }
  }

  /** Returns the live question that corresponds to a recorded one. */
  async #questionFor({ message, line }: Step): Promise<AnyMessage | undefined> {
    const find = () => this.#questions.findIndex(({ method }) => method === message.method);
    await this.#until(() => find() !== -1, `the question ${message.method} (answered in line ${line})`);
    const at = find();
    return at === -1 ? undefined : this.#questions.splice(at, 1)[0];
  }

  #receive(message: AnyMessage): void {
    if (isRequest(message)) {
      this.#questions.push(message);
      return;
    }
    const [call, state] = this.#ownerOf(message) ?? [];
    if (call === undefined || state === undefined) return;
    if (!isResponse(message)) {
      state.notes.push(message);
      return;
    }
    state.result = message;
    this.#issued.learn(resultOf(call)?.message, message);
  }

  /** Returns the request that a message of the live server belongs to. Ids and tokens are those of the recording. */
  #ownerOf(message: AnyMessage): readonly [RecordedCall, LiveState] | undefined {
    const token = paramsOf(message).progressToken;
    const id = isResponse(message) ? message.id : subscriptionOf(message);
    const fits = ({ request }: RecordedCall) =>
      id !== undefined ? request.id === id : token !== undefined && metaToken(request) === token;
    return [...this.#states].find(([call, { result }]) => result === undefined && fits(call));
  }

  #report(): ReplayReport {
    const { calls } = this.#conversation;
    const { profile, redact, keep } = this.#file.header.redaction;
    const { values } = this.#options;
    const redactor = profile === "off" ? undefined : new Redactor({ values, redact, keep });
    const results = new Map<number, AnyMessage>();
    const replayed = calls.map((call): ReplayedCall => {
      const { result, notes } = this.#states.get(call) as LiveState;
      const recorded = resultOf(call);
      const live = redactor === undefined ? result : (redactor.message(result) as AnyMessage | undefined);
      const told = redactor === undefined ? notes : (redactor.message(notes) as readonly AnyMessage[]);
      if (recorded !== undefined && live !== undefined) results.set(recorded.line, live);
      const { method = "", params } = call.request;
      const { name, uri } = isObject(params) ? params : {};
      const about = String(name ?? uri ?? "");
      return { line: call.line, method, name: about, differences: this.#differences(call, recorded, live, told) };
    });
    const differing = replayed.filter(({ differences }) => differences.length > 0);
    const problems = [...this.#timeouts, ...differing.map((call) => describeCall(call))];
    const answered = new Set(calls.filter((call) => results.has(resultOf(call)?.line ?? 0)).map(({ line }) => line));
    const unsettled = differing.flatMap((call) => {
      const left = answered.has(call.line) ? call.differences.filter(isOfNotifications) : call.differences;
      return left.length === 0 ? [] : [describeCall({ ...call, differences: left })];
    });
    const file = this.#file;
    return {
      calls: replayed,
      same: problems.length === 0,
      get text() {
        return withResults(file, results);
      },
      unsettled: [...this.#timeouts, ...unsettled],
      assertSame() {
        if (problems.length > 0) throw new ReplayError(problems);
      },
    };
  }

  #differences(
    call: RecordedCall,
    recorded: Step | undefined,
    live: AnyMessage | undefined,
    notes: readonly AnyMessage[],
  ): readonly Difference[] {
    // What was lost or cancelled has no result to compare with.
    if (recorded === undefined) return [];
    const { compare, ignore, notifications = true } = this.#options;
    const told = call.steps.filter(({ kind }) => kind === "notify").map(({ message }) => message);
    const view = (message: AnyMessage | undefined, all: readonly AnyMessage[]) => ({
      result: message?.result,
      error: message?.error,
      ...(notifications && { notifications: all.map(withoutOwner) }),
    });
    const found = differencesOf(view(recorded.message, told), view(live, notes), { by: compare, ignore });
    return found.filter(({ path, recorded: was, live: is }) => {
      const isIssued = ISSUED.has(path.slice(path.lastIndexOf("/") + 1));
      return !(isIssued && typeof was === "string" && typeof is === "string");
    });
  }

  #changed(): void {
    for (const look of [...this.#watchers]) look();
  }

  /** Resolves when something is so. Notes what did not happen in time. */
  #until(isSo: () => boolean, what: string): Promise<void> {
    if (isSo()) return Promise.resolve();
    const { clock = systemClock, timeoutMs = TIMEOUT_MS } = this.#options;
    return new Promise((resolve) => {
      const end = () => {
        clock.cancel(timer);
        this.#watchers.delete(look);
        resolve();
      };
      const look = () => {
        if (isSo()) end();
      };
      const timer = clock.schedule(() => {
        this.#timeouts.push(`${what} did not come within ${timeoutMs} ms`);
        end();
      }, timeoutMs);
      this.#watchers.add(look);
    });
  }
}

function describeCall({ line, method, name, differences }: ReplayedCall): string {
  return `${method} ${name} (line ${line}): ${describeDifferences(differences)}`;
}

function isOfNotifications({ path }: Difference): boolean {
  return path === "/notifications" || path.startsWith("/notifications/");
}

function localFetch(target: Exclude<ReplayTarget, string | URL>): LiveFetch | undefined {
  const fetch = "fetch" in target ? target.fetch : undefined;
  return fetch && ((url, init) => fetch(new Request(url, init)));
}

function metaToken(request: AnyMessage): unknown {
  const { _meta } = paramsOf(request);
  return isObject(_meta) ? _meta.progressToken : undefined;
}

/** Returns a notification without what names its request. */
function withoutOwner({ method, params = {} }: AnyMessage): object {
  const { progressToken: _, _meta: __, ...rest } = params;
  return { method, params: rest };
}
