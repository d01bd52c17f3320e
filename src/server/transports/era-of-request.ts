import { type OfferedEra, pickEra } from "../../era/server-era.js";
import type { RpcMessage } from "../../protocol/jsonrpc/message.js";
import { classify, type Parsed, parseFrame } from "../../protocol/jsonrpc/parse.js";

/** The era that a request would be served in. Reads a copy of its body, unless the body is given. */
export async function eraOfRequest(eras: readonly OfferedEra[], request: Request, body?: unknown): Promise<OfferedEra> {
  const header = (name: string) => request.headers.get(name) ?? undefined;
  if (request.method !== "POST") return eras[eras.length - 1] as OfferedEra;
  const parsed = body === undefined ? parseFrame(await request.clone().text()) : classify(body);
  return pickEra(eras, messageOf(parsed), header);
}

/** What is no message names no era. */
const NO_MESSAGE: RpcMessage = { jsonrpc: "2.0", method: "" };

export function messageOf(body: Parsed): RpcMessage {
  return "message" in body ? body.message : NO_MESSAGE;
}
