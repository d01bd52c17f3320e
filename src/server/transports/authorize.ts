import { refuseFailed } from "../../era/refuse.js";
import type { ServerRuntime } from "../../era/server-era.js";
import { DecoratedExchange } from "../../http/decorated-exchange.js";
import type { GateAdmission, GateRefusal, HttpExchange, Operation } from "../../http/exchange.js";
import { assertAdmission, assertRefusal, type GateVerdict, type HttpGate } from "../../http/gate.js";
import { ProtocolError } from "../../protocol/errors.js";
import type { RpcRequest } from "../../protocol/jsonrpc/message.js";
import { type Parsed, parseFrame } from "../../protocol/jsonrpc/parse.js";
import { oneLine } from "../../protocol/text.js";
import type { Admission } from "../admission.js";
import { type AccessOptions, scopesOf } from "../definitions/access.js";
import type { Registry } from "../definitions/registry.js";
import { matchUri } from "../definitions/uri-match.js";

type Params = { readonly [key: string]: unknown };

/** Server runtime of an endpoint. */
export interface EndpointRuntime extends ServerRuntime {
  /** Definitions with their access rules. */
  readonly registry: Registry;
  readonly admission: Admission;
}

/** Authenticates and authorizes requests by the gate. */
export class RequestAuthorizer {
  readonly #runtime: EndpointRuntime;
  readonly #gate: HttpGate;
  /** Exchanges on which the gate has not decided yet. */
  readonly #undecided = new Set<HttpExchange>();
  #warned = false;

  constructor(runtime: EndpointRuntime, gate: HttpGate) {
    this.#runtime = runtime;
    this.#gate = gate;
    for (const warning of gate.warnings ?? []) runtime.warnOfRisk(warning);
  }

  /** Serves a public document of the gate. Returns false for any other request. */
  route(exchange: HttpExchange): boolean {
    return this.#gate.route?.(exchange) === true;
  }

  /** Passes the exchange on with the caller's identity, or refuses it. */
  authorize(exchange: HttpExchange, onAdmitted: (exchange: HttpExchange) => void): void {
    const gate = this.#gate;
    this.#undecided.add(exchange);
    (async () => this.#pass(exchange, await gate(exchange), onAdmitted))().catch((error: unknown) => {
      this.#undecided.delete(exchange);
      refuseFailed(exchange, this.#runtime, error);
    });
  }

  /** Returns the undecided exchanges. Later decisions on them are ignored. */
  stop(): readonly HttpExchange[] {
    const waiting = [...this.#undecided];
    this.#undecided.clear();
    return waiting;
  }

  /** True if the caller may perform the operations of a body. Otherwise refuses the exchange. */
  admits(exchange: HttpExchange, body: Parsed): boolean {
    const refusal = exchange.judge?.(this.#operationsOf(body));
    if (refusal === undefined) return true;
    assertRefusal("http.gate().judge()", refusal);
    this.#refuse(exchange, refusal);
    return false;
  }

  #pass(exchange: HttpExchange, verdict: GateVerdict, onAdmitted: (exchange: HttpExchange) => void): void {
    // The server may have been closed meanwhile.
    if (!this.#undecided.delete(exchange)) return;
    if (!isRefusal(verdict)) {
      assertAdmission(verdict);
      this.#warnOfUnnamed(verdict);
      const { lifeMs } = verdict;
      const endsAt = lifeMs === undefined ? undefined : this.#runtime.clock.now() + lifeMs;
      return onAdmitted(new DecoratedExchange(exchange, verdict, endsAt));
    }
    assertRefusal("http.gate()", verdict);
    if (verdict.amend === undefined || exchange.method !== "POST") return this.#refuse(exchange, verdict);
    const { amend } = verdict;
    exchange
      .text(this.#runtime.limits.maxBodyBytes, this.#runtime.bodies)
      .then(
        (text) => this.#amended(verdict, amend, text),
        () => verdict,
      )
      .then((refusal) => this.#refuse(exchange, refusal))
      .catch((error: unknown) => refuseFailed(exchange, this.#runtime, error));
  }

  /** Returns the amended refusal, or the refusal as it is, with the reason why it cannot be amended. */
  #amended(refusal: GateRefusal, amend: NonNullable<GateRefusal["amend"]>, text: string): GateRefusal {
    try {
      const amended = amend(this.#operationsOf(parseFrame(text)));
      assertRefusal("http.gate().amend()", amended);
      return amended;
    } catch (error) {
      return { ...refusal, error };
    }
  }

  /**
   * Warns once if the gate authenticates a caller without a principal, since its sessions and sealed state are not
   * protected from other callers.
   */
  #warnOfUnnamed(verdict: GateAdmission): void {
    if (verdict.auth === undefined || verdict.principal !== undefined || this.#warned) return;
    this.#warned = true;
    this.#runtime.warnOfRisk("the gate names no principal: nothing has an owner");
  }

  #refuse(exchange: HttpExchange, { status, headers = {}, body, error, reason }: GateRefusal): void {
    exchange.reply(status, headers, body);
    const where = { where: "http" };
    if (error !== undefined) return this.#runtime.report(error, where);
    const told = reason === undefined ? "" : `: ${oneLine(reason)}`;
    const message = `${exchange.method} refused with ${status} by the gate${told}`;
    // Clients send their first request without a token, to learn where to get one.
    if (status === 401 && exchange.header("authorization") === undefined) this.#runtime.debug(message, where);
    else this.#runtime.report(new ProtocolError(message), where, "warn");
  }

  #operationsOf(body: Parsed): readonly Operation[] {
    return messagesOf(body).map((message) => {
      const { method = "", params } = (message ?? {}) as Partial<RpcRequest>;
      return { method, params, scopes: requiredScopes(this.#runtime.registry, method, params ?? {}) };
    });
  }
}

/** True if a verdict is meant as a refusal. */
function isRefusal(verdict: GateVerdict): verdict is GateRefusal {
  return typeof verdict === "object" && verdict !== null && "status" in verdict;
}

function messagesOf(body: Parsed): readonly unknown[] {
  return body.kind === "batch" ? body.items : "message" in body ? [body.message] : [];
}

/** Returns the scopes that the definitions named by a request require. */
function requiredScopes(registry: Registry, method: unknown, params: Params): readonly string[] {
  const { notifications } = params as { readonly notifications?: { readonly resourceSubscriptions?: unknown } };
  const uris = notifications?.resourceSubscriptions;
  const names = [params, ...(Array.isArray(uris) ? uris.map((uri: unknown) => ({ uri })) : [])];
  return names.flatMap((one) => scopesOf(named(registry, method, one)?.options ?? {}, one.uri as string));
}

/** Returns the definition that a request names, regardless of the caller. */
function named(
  { tools, prompts, resources, templates }: Registry,
  method: unknown,
  { name, uri }: Params,
): { readonly options: AccessOptions } | undefined {
  if (method === "tools/call") return tools.get(name as string);
  if (method === "prompts/get") return prompts.get(name as string);
  if (typeof uri !== "string") return undefined;
  const matches = ({ template }: { readonly template: Parameters<typeof matchUri>[0] | undefined }) =>
    template !== undefined && matchUri(template, uri) !== undefined;
  return resources.get(uri) ?? templates.values().find(matches);
}
