import type { HeaderReader, OfferedEra } from "../../era/server-era.js";
import type { RpcMessage } from "../../protocol/jsonrpc/message.js";
import { classify, type Parsed, parseFrame } from "../../protocol/jsonrpc/parse.js";

/** Picks the era of a message. The last era serves messages that no other era claims. */
export function pickEra<Era extends OfferedEra>(eras: readonly Era[], message: RpcMessage, header?: HeaderReader): Era {
  const last = eras.length - 1;
  for (let index = 0; index < last; index++) if (eras[index]!.claims(message, header)) return eras[index]!;
  return eras[last]!;
}

/** Picks the era of an HTTP body. The last era serves a body that is not a single message. */
export function pickEraOfBody<Era extends OfferedEra>(eras: readonly Era[], body: Parsed, header: HeaderReader): Era {
  return pickEra(eras, "message" in body ? body.message : NO_MESSAGE, header);
}

const NO_MESSAGE: RpcMessage = { jsonrpc: "2.0", method: "" };

/** Picks the era that a request would be served in. Reads a copy of its body, unless the body is given. */
export async function eraOfRequest(eras: readonly OfferedEra[], request: Request, body?: unknown): Promise<OfferedEra> {
  const header = (name: string) => request.headers.get(name) ?? undefined;
  if (request.method !== "POST") return eras[eras.length - 1] as OfferedEra;
  const parsed = body === undefined ? parseFrame(await request.clone().text()) : classify(body);
  return pickEraOfBody(eras, parsed, header);
}
