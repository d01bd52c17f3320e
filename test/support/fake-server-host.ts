import { Busy } from "#src/era/busy.js";
import type { Call, HandlerResult, Outcome, ReportContext, ServerRuntime } from "#src/era/server-era.js";
import { SERVER_LIMITS, type ServerLimits } from "#src/era/server-limits.js";
import { UrlElicitations } from "#src/era/url-elicitations.js";
import type { ParamHeader } from "#src/http/param-headers.js";
import { RequestBodies } from "#src/http/request-bodies.js";
import { RpcError } from "#src/protocol/errors.js";
import { invalidParams, methodNotFound, Refusal } from "#src/protocol/jsonrpc/errors.js";
import type { RpcNotification } from "#src/protocol/jsonrpc/message.js";
import { Admission } from "#src/server/admission.js";
import { Registry } from "#src/server/definitions/registry.js";
import { MemoryChangeBus } from "#src/store/change-bus.js";
import { FakeClock } from "./fake-clock.js";

export type FakeHandler = (call: Call) => HandlerResult | Promise<HandlerResult>;

/** A server without features: handlers by method, dispatched by the rules of an era, with everything recorded. */
export class FakeServerHost implements ServerRuntime {
  readonly info = { name: "fake", version: "1.0.0" };
  readonly audience = this.info.name;
  readonly options = {};
  limits: ServerLimits = {
    ...SERVER_LIMITS,
    askTimeoutMs: 1000,
    maxRounds: 4,
    maxSubscriptions: 100,
    maxWaitingChanges: 100,
  };
  readonly capabilities = { tools: { listChanged: true }, resources: { subscribe: true } };
  readonly clock = new FakeClock();
  readonly bodies = new RequestBodies();
  readonly admission = new Admission(this);
  readonly urlElicitations = new UrlElicitations();
  readonly watched = new Map<string, number>();
  readonly subscriptions = { open: 0, anonymous: 0, byOwner: new Map<unknown, number>() };
  readonly draining = false;
  readonly busy = (status: 429 | 503, limit: string, message: string) => new Busy(status, limit, message);
  versions: readonly string[] = ["2026-07-28", "2025-11-25"];
  readonly handlers = new Map<string, FakeHandler>();
  readonly mirrored = new Map<string, readonly ParamHeader[]>();
  readonly calls: Call[] = [];
  readonly received: RpcNotification[] = [];
  readonly reports: { readonly error: unknown; readonly context: ReportContext }[] = [];
  readonly #closing = new Set<(isOver: boolean) => void>();

  readonly changes = new MemoryChangeBus();

  readonly registry = new Registry({}, this, {
    validator: undefined,
    maskErrors: false,
    clock: this.clock,
    admission: this.admission,
    report: () => {},
    warn: () => {},
    onParamHeaders: () => {},
  });

  readonly seal = () => ({
    seal: async (state: unknown) => JSON.stringify(state),
    open: async (sealed: string) => ({ state: JSON.parse(sealed) as unknown }),
    tryOpen: async (text: string) => ({ state: JSON.parse(text) as unknown }),
  });

  on(method: string, handler: FakeHandler): this {
    this.handlers.set(method, handler);
    return this;
  }

  async run(call: Call): Promise<Outcome> {
    this.calls.push(call);
    try {
      const handler = this.#route(call);
      const result = await call.era.runHandler(call, this, async () => handler(call));
      call.close();
      return call.end.aborted ? { kind: "dropped" } : { kind: "result", result: call.era.encode(call, result, this) };
    } catch (error) {
      call.close();
      if (call.end.aborted) return { kind: "dropped" };
      const rpc = error instanceof RpcError ? error : new RpcError(-32603, "Internal error");
      return { kind: "error", error: call.era.encodeError(rpc, call), refused: error instanceof Refusal };
    }
  }

  knows(method: string): boolean {
    return this.handlers.has(method);
  }

  cacheHints(): { readonly ttlMs: number; readonly cacheScope: "private" } {
    return { ttlMs: 0, cacheScope: "private" };
  }

  readonly mirrorsArguments = true;

  paramHeaders(tool: string): readonly ParamHeader[] | undefined {
    return this.mirrored.get(tool);
  }

  outputSchema(): undefined {
    return undefined;
  }

  receiver(): (notification: RpcNotification) => void {
    return (notification) => this.received.push(notification);
  }

  report(error: unknown, context: ReportContext): void {
    this.reports.push({ error, context });
  }

  debug(): void {}

  warn(): void {}

  warnOfRisk(): void {}

  onLog(): () => void {
    return () => {};
  }

  onClosing(listener: (isOver: boolean) => void): () => void {
    this.#closing.add(listener);
    return () => this.#closing.delete(listener);
  }

  beginClosing(): void {
    for (const listener of [...this.#closing]) listener(false);
  }

  hasResource(): boolean {
    return true;
  }

  ifSeen(_call: Call, _uri: string, tell: () => void): void {
    tell();
  }

  #route(call: Call): FakeHandler {
    const builtin = call.era.builtins.get(call.method);
    const handler = builtin === undefined ? this.handlers.get(call.method) : (served: Call) => builtin(served, this);
    if (handler === undefined) throw methodNotFound(call.method);
    const problem = call.era.methods.get(call.method)?.params(call.params);
    if (problem !== undefined) throw invalidParams(call.method, problem);
    return handler;
  }
}
