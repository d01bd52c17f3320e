import { type OfferedEra, pickEra } from "../../era/server-era.js";
import { classify, parseFrame } from "../../protocol/jsonrpc/parse.js";
import { messageOf } from "./message-of.js";

/** The era that a request would be served in. Reads a copy of its body, unless the body is given. */
export async function eraOfRequest(eras: readonly OfferedEra[], request: Request, body?: unknown): Promise<OfferedEra> {
  const header = (name: string) => request.headers.get(name) ?? undefined;
  if (request.method !== "POST") return eras[eras.length - 1] as OfferedEra;
  const parsed = body === undefined ? parseFrame(await request.clone().text()) : classify(body);
  return pickEra(eras, messageOf(parsed), header);
}
