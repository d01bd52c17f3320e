import { AbortSwitch } from "../../../call/abort-switch.js";
import type { CallLifetime } from "../../../call/lifetime.js";
import type { HeaderRecord } from "../../../http/client/send.js";
import { encodeHeaderValue } from "../../../http/headers.js";
import { paramHeadersOf } from "../../../http/param-headers.js";
import { ProtocolError, toError } from "../../../protocol/errors.js";
import { isObject } from "../../../protocol/json.js";
import { formatNotification, formatRequest } from "../../../protocol/jsonrpc/format.js";
import type { Params, RpcNotification, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import type { Parsed } from "../../../protocol/jsonrpc/parse.js";
import { quoted } from "../../../protocol/text.js";
import { type HttpCall, streamLost } from "../../http-call.js";
import { drop, HttpTransport, nextMicrotask } from "../../http-transport.js";
import type { ClientTransport, HttpTarget, TransportRequest } from "../../transport.js";
import { VERSION_KEY } from "../envelope.js";
import { modernMethods } from "../methods.js";

/**
 * Client transport over HTTP. Each call is a self-contained POST, and nothing is kept between calls. Aborting the POST
 * cancels the call.
 */
export class ModernHttpTransport extends HttpTransport implements ClientTransport {
  /** Version of messages that do not name one. */
  version: string;

  constructor(target: HttpTarget, version: string) {
    super(target);
    this.version = version;
  }

  protected start(request: TransportRequest, lifetime: CallLifetime): Promise<RpcResponse> {
    return this.place(request, request.id, lifetime, abortPost, (call) => {
      const headers = this.#headers(call.method, call.params);
      const body = formatRequest(call.id, call.method, call.params);
      return () => this.#run(call, headers, body);
    });
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    if (this.closed) return;
    // `notifications/cancelled` is never posted. Aborting the POST cancels the call.
    if (method === "notifications/cancelled") this.cancel(params);
    else return this.#notify(method, params);
  }

  respond(): void {
    this.wire.report(
      new ProtocolError("A response was not sent: this protocol version has no requests from the server"),
    );
  }

  respondError(): void {
    this.respond();
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.end();
    this.wire.guard(() => this.receiver.onClose(undefined));
  }

  /** Sends a call and reads its response. Never rejects. */
  async #run(call: HttpCall, headers: HeaderRecord, body: string): Promise<void> {
    await nextMicrotask;
    if (!call.begin()) return;
    try {
      const response = await this.wire.send("POST", headers, body, call.abortSwitch, call.lifetime);
      const trace = await this.wire.readReply(call, response, (parsed) => this.#take(call, parsed));
      if (trace !== undefined && !call.over) call.fail(streamLost(call, trace));
    } catch (error) {
      call.fail(call.broken(error));
    }
  }

  async #notify(method: string, params: Params | undefined): Promise<void> {
    try {
      const body = formatNotification(method, params);
      await this.wire.deliver(method, this.#headers(method, params), body, new AbortSwitch());
    } catch (error) {
      this.wire.report(toError(error));
    }
  }

  #headers(method: string, params: Params | undefined): HeaderRecord {
    return requestHeaders(this.wire.headers.post, method, params, this.version, this.target);
  }

  #take(call: HttpCall, parsed: Parsed): void {
    if (parsed.kind === "notification") this.#takeNotification(call, parsed.message);
    else if (parsed.kind === "response" && call.owns(parsed.message)) call.answer(parsed.message);
    else this.#takeWrong(call, parsed);
  }

  #takeWrong(call: HttpCall, parsed: Exclude<Parsed, { kind: "notification" }>): void {
    const problem = new ProtocolError(`${call.method}: the server sent ${nameWrong(call, parsed)}`);
    const broken = parsed.kind === "invalid" && parsed.failure.answer && parsed.failure.id === call.id;
    if (broken) call.fail(problem);
    else this.wire.report(problem);
  }

  #takeNotification(call: HttpCall, notification: RpcNotification): void {
    const { method, params } = notification;
    if (method === "notifications/progress" && params !== undefined && call.wants(params.progressToken)) {
      this.wire.guard(() => call.progress(params));
    } else {
      this.wire.guard(() => this.receiver.onNotification(notification, call.id));
    }
  }
}

function abortPost(call: HttpCall): void {
  drop(call.abortSwitch);
}

function nameWrong({ id }: HttpCall, parsed: Exclude<Parsed, { kind: "notification" }>): string {
  switch (parsed.kind) {
    case "request":
      return `a request, which this protocol version does not allow: ${quoted(parsed.message.method)}`;
    case "response":
      return `a response with the id ${quoted(String(parsed.message.id))}, expected ${id}`;
    case "batch":
      return "a batch of messages, which this protocol version does not allow";
    case "invalid":
      return `a malformed message: ${parsed.failure.message}`;
  }
}

/**
 * Returns the headers of a POST. They repeat parts of the body for intermediaries. `version` applies if the body names
 * none.
 * @throws if an argument cannot be encoded in a header
 */
function requestHeaders(
  base: Readonly<HeaderRecord>,
  method: string,
  params: Params | undefined,
  version: string,
  target: Pick<HttpTarget, "nameFrom" | "paramHeaders">,
): HeaderRecord {
  const meta = params?._meta;
  const named = isObject(meta) ? meta[VERSION_KEY] : undefined;
  // `Object.assign` instead of a spread: before Node 22, adding to a spread object takes half a microsecond.
  const headers: HeaderRecord = Object.assign({}, base);
  headers["mcp-protocol-version"] = typeof named === "string" ? named : version;
  headers["mcp-method"] = encodeHeaderValue(method);
  const from = modernMethods.get(method)?.nameFrom ?? target.nameFrom?.(method);
  const name = from === undefined ? undefined : params?.[from];
  if (typeof name === "string") headers["mcp-name"] = encodeHeaderValue(name);
  const listed = method === "tools/call" && typeof name === "string" ? target.paramHeaders(name) : undefined;
  if (listed !== undefined) {
    for (const [header, value] of paramHeadersOf(listed, params?.arguments)) headers[header.toLowerCase()] = value;
  }
  return headers;
}
