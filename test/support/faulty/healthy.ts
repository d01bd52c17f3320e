// This server uses nothing of the SDK, so that what one of them gets wrong is not hidden by the other.

import { setTimeout } from "node:timers/promises";

export const MODERN = "2026-07-28";
export const LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
const META = "io.modelcontextprotocol/";

export type Json = { readonly [member: string]: unknown };

export interface Request {
  readonly id: string | number;
  readonly method: string;
  readonly params: Json;
}

/** Connection of a request, as far as its handler uses it. */
export interface Wire {
  /** Sends a notification that belongs to the request. */
  notify(method: string, params: Json): void;
  /** Aborts when the request is cancelled. */
  readonly signal: AbortSignal;
}

/** Request that a handler serves. */
export interface Call extends Request, Wire {
  readonly isModern: boolean;
}

export type Handler = (call: Call) => Json | Promise<Json>;

/** Error response of a handler. */
export class Refused extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly data?: Json,
  ) {
    super(message);
  }
}

export interface Tool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: Json;
}

const HINTS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

/** Creates a tool with which nothing is wrong, apart from the members of `more`. */
export function toolOf(name: string, more: Partial<Tool> = {}): Tool {
  return {
    name,
    description: `Greets a ship by the name ${name}`,
    inputSchema: {
      type: "object",
      properties: { ship: { type: "string", description: "Name of the ship" } },
      required: ["ship"],
    },
    annotations: HINTS,
    ...more,
  };
}

/** The tool that takes a while. It reports each step, and ends when it is cancelled. */
const CLIMB: Tool = {
  name: "climb",
  description: "Climbs the mast, and reports each step",
  inputSchema: {
    type: "object",
    properties: { steps: { type: "integer", description: "Number of steps", minimum: 0, maximum: 100 } },
    required: ["steps"],
  },
  outputSchema: {
    type: "object",
    properties: { steps: { type: "integer", description: "Number of steps that were climbed" } },
    required: ["steps"],
  },
  annotations: HINTS,
};

/** Milliseconds of a step, so that a call is seen while it runs. Nothing depends on their number. */
const STEP_MS = 20;

/**
 * A server of both eras with which nothing is wrong. A fault changes one of its members. How messages arrive is the
 * business of `serveStdio` and `serveHttp`.
 */
export class HealthyServer {
  info: Json = { name: "healthy", version: "1.0.0" };
  versions: readonly string[] = [MODERN, ...LEGACY];
  capabilities: Json = { tools: {}, prompts: {}, resources: {} };
  tools: Tool[] = [toolOf("hail"), CLIMB];
  prompts: Json[] = [
    {
      name: "log",
      description: "Writes an entry of the log",
      arguments: [{ name: "day", description: "Day of the entry", required: true }],
    },
  ];
  resources: Json[] = [
    { uri: "berth://1", name: "berth", description: "The first berth of the harbour", mimeType: "text/plain" },
  ];
  readonly handlers: Record<string, Handler> = {
    "server/discover": () => ({ supportedVersions: this.versions, capabilities: this.capabilities }),
    initialize: ({ params }) => ({
      protocolVersion: LEGACY.find((version) => version === params.protocolVersion) ?? LEGACY[0],
      capabilities: this.capabilities,
      serverInfo: this.info,
    }),
    ping: () => ({}),
    "tools/list": ({ params }) => ({ tools: page(this.tools, params) }),
    "prompts/list": ({ params }) => ({ prompts: page(this.prompts, params) }),
    "resources/list": ({ params }) => ({ resources: page(this.resources, params) }),
    "resources/templates/list": ({ params }) => ({ resourceTemplates: page([], params) }),
    "tools/call": (call) => this.#callTool(call),
    "prompts/get": ({ params }) => {
      const { name, arguments: { day } = {} } = params as { name?: string; arguments?: Json };
      if (!this.prompts.some((prompt) => prompt.name === name)) throw new Refused(-32602, `Unknown prompt: ${name}`);
      if (typeof day !== "string") throw new Refused(-32602, "Missing argument: day");
      return { messages: [{ role: "user", content: { type: "text", text: `The log of ${day}` } }] };
    },
    "resources/read": ({ params: { uri }, isModern }) => {
      if (!this.resources.some((resource) => resource.uri === uri))
        throw new Refused(isModern ? -32602 : -32002, "Resource not found", { uri });
      return { contents: [{ uri, mimeType: "text/plain", text: "free" }] };
    },
    "subscriptions/listen": (call) => this.listen(call),
  };
  refuseVersion = (requested: unknown): Refused =>
    new Refused(-32022, `Unsupported protocol version: ${requested}`, { supported: this.versions, requested });
  /** True if the response to a cancelled request is sent. */
  answersCancelled = false;
  /** Advances the clock of the test, if it is in this process. */
  pass: (ms: number) => void = () => {};
  /** What the tool `climb` does between its first message and its result. */
  climb = async (call: Call, steps: number, report: (step: number) => void): Promise<Json> => {
    for (let step = 1; step <= steps && (!call.signal.aborted || this.answersCancelled); step++) {
      report(step);
      await setTimeout(STEP_MS);
      this.pass(STEP_MS);
    }
    return { content: [{ type: "text", text: `climbed ${steps}` }], structuredContent: { steps } };
  };

  /** Replaces a handler. `next` is the one that was there. */
  wrap(method: string, handler: (call: Call, next: Handler) => Json | Promise<Json>): void {
    const next = this.handlers[method];
    if (next === undefined) throw new Error(`There is no handler of ${method}`);
    this.handlers[method] = (call) => handler(call, next);
  }

  /** Serves a request. Resolves with its response, or with undefined if none may be sent. */
  async serve(request: Request, wire: Wire): Promise<Json | undefined> {
    const version = (request.params._meta as Json | undefined)?.[`${META}protocolVersion`];
    const call: Call = { ...request, ...wire, notify: wire.notify, isModern: version !== undefined };
    const { id, method } = request;
    try {
      if (call.isModern && !this.versions.includes(String(version))) throw this.refuseVersion(version);
      const handler = isOfEra(method, call.isModern) ? this.handlers[method] : undefined;
      if (handler === undefined) throw new Refused(-32601, `Method not found: ${method}`);
      const result = await handler(call);
      if (call.signal.aborted && !this.answersCancelled) return undefined;
      return { jsonrpc: "2.0", id, result: call.isModern ? this.stamp(method, result) : result };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const { code, message, data } = error;
      return { jsonrpc: "2.0", id, error: { code, message, ...(data !== undefined && { data }) } };
    }
  }

  /** Adds the members that each result of a modern version has. */
  stamp(method: string, result: Json): Json {
    const isCacheable = /^(server\/discover|.*\/list|resources\/read)$/.test(method);
    return {
      resultType: "complete",
      ...(isCacheable && { ttlMs: 0, cacheScope: "private" }),
      ...result,
      _meta: { [`${META}serverInfo`]: this.info, ...(result._meta as Json | undefined) },
    };
  }

  /** Holds a subscription open until its client leaves. The server has no changes to tell, so it honours nothing. */
  listen({ id, notify, signal }: Call): Promise<Json> {
    const _meta = { [`${META}subscriptionId`]: id };
    notify("notifications/subscriptions/acknowledged", { notifications: {}, _meta });
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve({ _meta }), { once: true }));
  }

  #callTool(call: Call): Json | Promise<Json> {
    const { name, arguments: args = {}, _meta } = call.params as { name?: string; arguments?: Json; _meta?: Json };
    if (!this.tools.some((tool) => tool.name === name)) throw new Refused(-32602, `Unknown tool: ${name}`);
    if (name !== "climb") {
      if (typeof args.ship !== "string") return toolError("ship must be a string");
      return { content: [{ type: "text", text: `Ahoy, ${args.ship}` }] };
    }
    const { steps } = args;
    if (typeof steps !== "number" || !Number.isInteger(steps)) return toolError("steps must be an integer");
    const progressToken = _meta?.progressToken;
    return this.climb(call, steps, (progress) => {
      if (progressToken !== undefined) call.notify("notifications/progress", { progressToken, progress, total: steps });
    });
  }
}

function toolError(text: string): Json {
  return { content: [{ type: "text", text }], isError: true };
}

/** Returns all items. No list of a healthy server is longer than a page, so that it has issued no cursor. */
function page<T>(items: T, { cursor }: Json): T {
  if (cursor !== undefined) throw new Refused(-32602, "Invalid cursor");
  return items;
}

/** The handshake and ping belong to legacy versions, discovery and subscriptions by a stream to modern ones. */
function isOfEra(method: string, isModern: boolean): boolean {
  return !(isModern ? ["initialize", "ping"] : ["server/discover", "subscriptions/listen"]).includes(method);
}
