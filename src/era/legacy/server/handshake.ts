import type { HttpExchange, HttpHeaders } from "../../../http/exchange.js";
import { RpcError } from "../../../protocol/errors.js";
import type { RpcRequest } from "../../../protocol/jsonrpc/message.js";
import { refuseFailed } from "../../refuse.js";
import type { Call } from "../../server-era.js";
import { toFrame } from "./calls.js";
import type { HttpSession } from "./http-session.js";
import { type HttpRefusal, refuse, shuttingDown } from "./refusals.js";
import type { ReplyKind } from "./reply.js";

/** Takes the session in and names it in headers, or says why not. */
export type Admit = () => Promise<{ readonly headers: HttpHeaders } | { readonly refusal: HttpRefusal }>;

/**
 * Serves the request that opens a session. Its answer waits for the outcome, because only a handshake that succeeds makes
 * a session. Resolves with whether the client was told so.
 */
export async function serveHandshake(
  session: HttpSession,
  exchange: HttpExchange,
  request: RpcRequest,
  kind: ReplyKind,
  admit: Admit,
): Promise<boolean> {
  const { host, era, protocol } = session;
  const refused = (refusal: HttpRefusal): false => {
    if (!exchange.answered) refuse(exchange, host, refusal, request.id);
    return false;
  };
  try {
    const call: Call = protocol.decode(request, session.originOf(exchange));
    const outcome = await host.run(call);
    if (session.ended !== undefined) return refused(session.ended);
    if (outcome.kind === "dropped") return refused(shuttingDown);
    const admission = outcome.kind === "result" ? await admit() : { headers: {} };
    if ("refusal" in admission) return refused(admission.refusal);
    const reply = session.createReply(exchange, kind, 1, false);
    await reply.open(admission.headers);
    const delivered = reply.answer(toFrame(call, outcome));
    call.afterAnswer?.();
    return delivered && outcome.kind === "result";
  } catch (error) {
    if (error instanceof RpcError) return refused({ status: 400, error: era.encodeError(error, undefined) });
    refuseFailed(exchange, host, error, request.id);
    return false;
  }
}
