import { McpError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";

/** Why a handler's signal fired when the other side gave up: the message is the reason it gave. */
export class CancelledByPeer extends McpError {
  override readonly name = "CancelledByPeer";
  constructor(reason: string) {
    super("cancelled", reason);
  }
}

/** The reason in a cancellation. */
export function cancelledBy(params: Params | undefined): CancelledByPeer {
  return new CancelledByPeer(typeof params?.reason === "string" ? params.reason : "cancelled by the other side");
}
