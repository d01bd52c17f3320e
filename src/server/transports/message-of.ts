import type { RpcMessage } from "../../protocol/jsonrpc/message.js";
import type { Parsed } from "../../protocol/jsonrpc/parse-call.js";

/** What is no message names no era. */
const NO_MESSAGE: RpcMessage = { jsonrpc: "2.0", method: "" };

export function messageOf(body: Parsed): RpcMessage {
  return "message" in body ? body.message : NO_MESSAGE;
}
