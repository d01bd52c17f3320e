import type { HttpExchange } from "../../http/exchange.js";
import { isSuspension, RpcError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import type { Channel } from "../../protocol/jsonrpc/channel.js";
import type { Implementation, LoggingLevel } from "../../protocol/types/index.js";
import { type Conversation, conversationOf, type RecordedCall, type Step } from "../../recording/conversation.js";
import { type AnyMessage, paramsOf } from "../../recording/messages.js";
import type { RecordingFile } from "../../recording/reader.js";
import { questionsIn, type Rounds, resultOf, roundsOf } from "../../recording/rounds.js";
import type { Context } from "../../server/context.js";
import type { ServerOptions } from "../../server/options.js";
import type { Server } from "../../server/server.js";
import { describeMiss, Matcher } from "./matcher.js";
import type { ReplayServer, ReplayServerOptions } from "./server.js";

/** Creates a server, as the class of an entry does. */
export type CreateServer = (info: Implementation, options: ServerOptions) => Server;

/** Part of a call that its handler does again. */
type Act =
  | { readonly kind: "notify"; readonly message: AnyMessage }
  | { readonly kind: "ask"; readonly questions: readonly Question[] }
  | { readonly kind: "wait" };

interface Question {
  readonly method: string;
  readonly params: unknown;
}

/** Requests that a server answers by itself. */
const SESSION =
  /^(?:initialize|server\/discover|ping|logging\/setLevel|subscriptions\/.*|resources\/(?:un)?subscribe)$/;

/** Requests whose handlers ask questions. One that came beside another request, on a wire of one stream, was none of it. */
const ASKING = /^(?:tools\/call|prompts\/get|resources\/read)$/;

/** Methods that a server of such a capability has, whether or not they were recorded. */
const METHODS: { readonly [capability: string]: readonly string[] } = {
  tools: ["tools/list", "tools/call"],
  prompts: ["prompts/list", "prompts/get"],
  resources: ["resources/list", "resources/templates/list", "resources/read"],
  completions: ["completion/complete"],
};

const INTERNAL_ERROR = -32_603;
const SERVER_INFO = "io.modelcontextprotocol/serverInfo";

/** What a server adds to each result, in the versions that have it. */
const OF_THE_VERSION: ReadonlySet<string> = new Set(["resultType", "ttlMs", "cacheScope", SERVER_INFO]);

/**
 * Server whose handlers do what was recorded: they report the progress, ask the questions and return the results. Since it
 * repeats calls in place of frames, it serves clients of every protocol version.
 */
export class AnyEraReplay implements ReplayServer {
  readonly #matcher: Matcher;
  readonly #server: Server;
  readonly #rounds = new Map<RecordedCall, Rounds>();
  /** Calls that wait for answers. Their handlers run again with the answers. */
  readonly #suspended = new Map<string, Rounds>();

  constructor(file: RecordingFile, { order, values = {} }: ReplayServerOptions, create: CreateServer) {
    const conversation = conversationOf(file.events);
    for (const rounds of roundsOf(conversation.calls)) this.#rounds.set(rounds.first, rounds);
    const isCall = ({ request }: RecordedCall) => !SESSION.test(request.method ?? "");
    const calls = [...this.#rounds.keys()].filter(isCall);
    const isStrict = order === "strict";
    this.#matcher = new Matcher({ ...conversation, calls }, file.header, { values, isStrict, checksAnswers: false });
    const { info, capabilities, instructions } = identityOf(conversation);
    const { tools, prompts, resources, experimental, extensions, logging } = capabilities;
    this.#server = create(info, {
      capabilities: {
        tools,
        prompts,
        resources,
        experimental,
        extensions,
        ...(logging !== undefined && { logging: true }),
      },
      ...(instructions !== undefined && { instructions }),
      logger: {},
    } as ServerOptions);
    const announced = Object.keys(METHODS).filter((name) => capabilities[name] !== undefined);
    const methods = [
      ...announced.flatMap((name) => METHODS[name] ?? []),
      ...calls.map(({ request }) => request.method ?? ""),
    ];
    for (const method of new Set(methods))
      this.#server.method(method, {}, (params, ctx) => this.#serve(method, params, ctx));
  }

  accept(channel: Channel): Promise<{ readonly closed: Promise<void>; close(): Promise<void> }> {
    return this.#server.accept(channel);
  }

  handle(exchange: HttpExchange): void {
    this.#server.handle(exchange);
  }

  readonly fetch = (request: Request): Promise<Response> => this.#server.fetch(request);

  assertDone(): void {
    this.#matcher.assertDone();
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(method: string, params: object, ctx: Context): Promise<unknown> {
    const key = ctx.idempotencyKey;
    const rounds = this.#suspended.get(key) ?? this.#find({ method, params: { ...params } });
    this.#suspended.delete(key);
    try {
      for (const act of actsOf(rounds)) if (act.kind !== "ask" || ASKING.test(method)) await perform(act, ctx);
    } catch (error) {
      if (isSuspension(error)) this.#suspended.set(key, rounds);
      throw error;
    }
    return resultIn(rounds);
  }

  #find(request: AnyMessage): Rounds {
    const { requestState: _, ...params } = paramsOf(request);
    const found = this.#matcher.find({ ...request, params });
    if ("steps" in found) return this.#rounds.get(found) as Rounds;
    this.#matcher.add(found);
    throw new RpcError(INTERNAL_ERROR, `Replay: ${describeMiss(found)}`, {
      line: found.line,
      differences: found.differences,
    });
  }
}

/** Returns the result of a call. Throws its error. */
function resultIn({ calls }: Rounds): unknown {
  const message = resultOf(calls.at(-1) as RecordedCall)?.message;
  if (message?.error !== undefined) throw new RpcError(message.error.code, message.error.message, message.error.data);
  if (message === undefined) throw new RpcError(INTERNAL_ERROR, "Replay: the recorded answer was lost");
  const result = without(message.result ?? {}, OF_THE_VERSION);
  if (!isObject(result._meta)) return result;
  const meta = without(result._meta, OF_THE_VERSION);
  return { ...without(result, new Set(["_meta"])), ...(Object.keys(meta).length > 0 && { _meta: meta }) };
}

function without(object: object, names: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.has(name)));
}

/**
 * Returns what the handler of a call does, in its order. In a call of several requests the handler ran from its beginning
 * each time, so the last one has all notifications, and each question stands where its run ended.
 */
function actsOf({ calls }: Rounds): readonly Act[] {
  const last = calls.at(-1) as RecordedCall;
  const acts = last.steps.flatMap(actOf);
  for (const call of calls.slice(0, -1).reverse()) {
    const questions = questionsIn(resultOf(call));
    const at = call.steps.filter(({ kind }) => kind === "notify").length;
    acts.splice(Math.min(at, acts.length), 0, { kind: "ask", questions });
  }
  return acts;
}

function actOf({ kind, message }: Step): readonly Act[] {
  if (kind === "notify") return [{ kind, message }];
  if (kind === "ask") return [{ kind, questions: [{ method: message.method ?? "", params: message.params }] }];
  return kind === "cancel" ? [{ kind: "wait" }] : [];
}

async function perform(act: Act, ctx: Context): Promise<void> {
  if (act.kind === "notify") return notify(act.message, ctx);
  if (act.kind === "ask") return void (await Promise.all(act.questions.map((question) => ask(question, ctx))));
  if (ctx.signal.aborted) throw ctx.signal.reason;
  await new Promise((_resolve, reject) => {
    ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason), { once: true });
  });
}

async function notify(message: AnyMessage, ctx: Context): Promise<void> {
  const params = paramsOf(message) as { readonly [name: string]: never };
  const { method = "" } = message;
  if (method === "notifications/progress") await ctx.progress(params.progress as never, params.total, params.message);
  else if (method === "notifications/message")
    await ctx.log(params.level as unknown as LoggingLevel, params.data, params.logger);
  else await ctx.notify(method, params);
}

function ask({ method, params }: Question, ctx: Context): Promise<unknown> {
  const asked = (isObject(params) ? params : {}) as { readonly [name: string]: never };
  switch (method) {
    case "elicitation/create":
      return (asked.mode as unknown) === "url"
        ? ctx.elicitUrl(asked.message as never, asked.url as never)
        : ctx.elicit(asked.message as never, asked.requestedSchema as never);
    case "sampling/createMessage":
      return ctx.sample(asked as never);
    case "roots/list":
      return ctx.listRoots();
    default:
      return ctx.request(method, asked);
  }
}

/** Returns who the recorded server was, as far as it said so. */
function identityOf({ calls }: Conversation): {
  readonly info: Implementation;
  readonly capabilities: { readonly [name: string]: unknown };
  readonly instructions: string | undefined;
} {
  const results = calls
    .filter(({ request }) => request.method === "initialize" || request.method === "server/discover")
    .map((call) => resultOf(call)?.message.result)
    .filter((result) => result !== undefined);
  const { serverInfo, capabilities, instructions, _meta } = results.at(-1) ?? {};
  const info = serverInfo ?? (isObject(_meta) ? _meta[SERVER_INFO] : undefined);
  const known = isObject(info) && typeof info.name === "string" && typeof info.version === "string";
  return {
    info: known ? (info as unknown as Implementation) : { name: "replay", version: "0" },
    capabilities: isObject(capabilities) ? capabilities : { tools: {}, prompts: {}, resources: {} },
    instructions: typeof instructions === "string" ? instructions : undefined,
  };
}
